from __future__ import annotations

import re
from itertools import combinations
from unittest import mock
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench import corpus
from tests.strategies import words
from vaultsync.context_packs import near_duplicates
from vaultsync.context_packs.near_duplicates import NearDuplicates
from vaultsync.proposals.near_duplicate_pairs import near_duplicate_pairs

LONG = " ".join(f"word{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")


def repeats(one: str, other: str) -> bool:
    texts = NearDuplicates()
    assert texts.find(one) is None
    return texts.find(other) == 0


def test_a_text_repeats_itself() -> None:
    assert repeats("Slack water lasts 22 minutes.", "Slack water lasts 22 minutes.")
    assert repeats("", "")


TIDES = "潮の表示は夏時間に変わるとき一時間ずれていましたので港の人はまず番号を聞きます"


@pytest.mark.parametrize(
    ("one", "others"),
    [
        (LONG, [LONG.replace("wordm", "else"), LONG.replace("worda", "Worda"), f"**{LONG}**."]),
        (LONG, [LONG.replace("wordm ", ""), f"{LONG} and more"]),
        (f"{LONG} 42 guest berths", [f"{LONG} 42 guest berths, all told"]),
        (TIDES, [f"{TIDES}。"]),
    ],
)
def test_a_small_change_is_a_near_duplicate(one: str, others: list[str]) -> None:
    assert all(repeats(one, other) for other in others)


@pytest.mark.parametrize(
    ("one", "others"),
    [
        (LONG, ["", LONG[: len(LONG) // 2], " ".join(reversed(LONG.split()))]),
        (LONG, [LONG.replace("worda", "4"), re.sub("word[met]", "else", LONG)]),
        (f"{LONG} 42 guest berths", [f"{LONG} 38 guest berths"]),
        (TIDES, [TIDES[20:] + TIDES[:20][::-1]]),
    ],
)
def test_another_text_or_number_says_something_else(one: str, others: list[str]) -> None:
    assert not any(repeats(one, other) for other in others)


@pytest.mark.parametrize(("one", "other"), [("Yes", "yes"), ("a b", "A b")])
def test_texts_of_a_word_or_two_repeat_only_what_is_spelled_alike(one: str, other: str) -> None:
    assert repeats(one, one)
    assert not repeats(one, other)


@given(st.lists(st.lists(words, max_size=8).map(" ".join), max_size=6))
def test_who_was_seen_first_is_named(texts: list[str]) -> None:
    seen, kept = NearDuplicates(), list[str]()
    for text in texts:
        found = seen.find(text)
        if found is None:
            kept.append(text)
        else:
            assert found < len(kept)
    assert [NearDuplicates().find(text) for text in kept] == [None] * len(kept)
    assert len(set(kept)) == len(kept)


def test_the_words_of_few_pairs_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where all texts are made of the same eighty words."""
    texts, seen = [corpus.prose(number) for number in range(150)], NearDuplicates()
    jaccard = Mock(side_effect=near_duplicates._jaccard)
    monkeypatch.setattr(near_duplicates, "_jaccard", jaccard)
    assert not [*near_duplicate_pairs(texts)]
    assert not [x for x in map(seen.find, texts) if x is not None]
    assert jaccard.call_count < len(texts)


@given(st.lists(st.lists(words, max_size=5).map(" ".join), max_size=6))
def test_words_that_share_a_bit_hide_no_pair(texts: list[str]) -> None:
    found = [*near_duplicate_pairs(texts)]
    with mock.patch.object(near_duplicates, "_BITS", 2):
        assert [*near_duplicate_pairs(texts)] == found
    pairs = combinations(enumerate(texts), 2)
    assert {(x, y) for (x, one), (y, other) in pairs if one == other != ""} <= {*found}
