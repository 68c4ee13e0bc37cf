"""The lines under `golden/observations` are what their page says, and half stays unseen."""

from __future__ import annotations

import inspect
import json
import re
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from tests.eval.observations import (
    FOLDER,
    TIERS,
    Compression,
    Observation,
    compressions,
    holds,
    observations,
)

HERE = Path(__file__).parents[2]
LANGUAGES = {"en", "de", "fr", "es"}
SETTINGS = {"team chat", "ci log", "meeting", "coding session"}
CLASSES = {"entity", "number", "verb"}
KEYS = {
    "observations.jsonl": {"id", "text", "context", "tier", "language", "setting", "why"},
    "compressions.jsonl": {"id", "text", "must_contain", "language", "setting"},
}
HALVES = (False, True)
OBSERVED = {half: observations(held_out=half) for half in HALVES}
SHORTENED = {half: compressions(held_out=half) for half in HALVES}
ALL = [*OBSERVED[False], *OBSERVED[True]]
TEXTS = [*SHORTENED[False], *SHORTENED[True]]


def told(each: Observation | Compression) -> str:
    return " ".join(each.text.casefold().split())


def length(text: str) -> int:
    return len(text.split())


def share_held_out(kept: Counter[str], all_of_them: Counter[str]) -> dict[str, float]:
    return {each: kept[each] / times for each, times in all_of_them.items()}


# --- the lines -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "count"), [("observations.jsonl", 300), ("compressions.jsonl", 100)]
)
def test_a_file_holds_so_many_lines_with_known_keys_in_order(name: str, count: int) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.split("\n")[:-1]]
    assert text.endswith("\n")
    assert len(lines) == count
    assert {key for line in lines for key in line} == KEYS[name]
    assert [line["id"] for line in lines] == sorted({line["id"] for line in lines})


def test_an_id_says_the_file_and_a_number() -> None:
    assert [each.id for each in ALL if not re.fullmatch(r"obs-\d{3}", each.id)] == []
    assert [each.id for each in TEXTS if not re.fullmatch(r"cmp-\d{3}", each.id)] == []


def test_nothing_is_noted_twice() -> None:
    said = Counter([*map(told, ALL), *map(told, TEXTS)])
    assert [text for text, times in said.items() if times > 1] == []


def test_there_are_as_many_of_each_tier_as_the_page_says() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \|", page, re.MULTILINE)
    assert {tier: int(count) for tier, count in rows} == Counter(each.tier for each in ALL)
    assert tuple(tier for tier, _ in rows) == TIERS


def test_agents_note_in_four_settings_and_languages() -> None:
    for lines in (ALL, TEXTS):
        assert {each.language for each in lines} == LANGUAGES
        assert {each.setting for each in lines} == SETTINGS
    english = sum(each.language == "en" for each in ALL) / len(ALL)
    assert 0.55 <= english <= 0.65
    pairs = Counter((each.tier, each.language, each.setting) for each in ALL)
    assert len(pairs) == len(TIERS) * len(LANGUAGES) * len(SETTINGS)


def test_every_observation_says_something_and_why_in_few_words() -> None:
    assert [each.id for each in ALL if not each.text.strip() or each.context == ""] == []
    assert [each.id for each in ALL if not re.fullmatch(r"[^\n]{4,60}(?<!\.)", each.why)] == []
    assert [each.id for each in ALL if length(each.text) > 200] == []


def test_a_long_text_tells_nothing_of_its_tier() -> None:
    assert {each.tier for each in ALL if length(each.text) >= 60} == {*TIERS}


# --- the texts to shorten ------------------------------------------------------------------


@pytest.mark.parametrize("each", TEXTS, ids=lambda each: each.id)
def test_a_text_is_long_and_has_what_a_short_one_keeps(each: Compression) -> None:
    assert 40 <= length(each.text) <= 250
    assert {"entity", "verb"} <= each.must_contain.keys() <= CLASSES
    assert each.missing(each.text) == []
    words = [word for some in each.must_contain.values() for word in some]
    assert all(word == word.strip() != "" for word in words)
    assert len({*words}) == len(words)


@pytest.mark.parametrize(
    ("text", "word", "there"),
    [
        ("The Scanner works.", "scanner", True),
        ("Two scanners work.", "scanner", False),
        ("41.2 GB", "41.2", True),
        ("412 GB", "41.2", False),
        ("Élise arrive", "élise", True),
    ],
)
def test_a_word_counts_where_it_stands_whole(text: str, word: str, there: bool) -> None:
    assert holds(text, word) == there


def test_a_sentence_misses_the_classes_of_which_it_has_no_word() -> None:
    given = Compression(
        "cmp-000", "", {"entity": ["fern", "ferns"], "number": ["2"]}, "en", "ci log"
    )
    assert given.missing("Both ferns grew.") == ["number"]


# --- the halves ----------------------------------------------------------------------------


def test_the_half_of_a_line_comes_of_its_id_alone() -> None:
    for halves in (OBSERVED, SHORTENED):
        for half, lines in halves.items():
            assert {sha256(each.id.encode()).digest()[0] % 2 == 0 for each in lines} == {half}


@pytest.mark.parametrize(
    "of",
    [
        lambda each: each.tier,
        lambda each: each.language,
        lambda each: each.setting,
        lambda each: "all",
    ],
    ids=["tier", "language", "setting", "all"],
)
def test_half_of_every_sort_of_observation_is_held_out(of: Callable[[Observation], str]) -> None:
    shares = share_held_out(Counter(map(of, OBSERVED[True])), Counter(map(of, ALL)))
    assert {each: share for each, share in shares.items() if not 0.4 <= share <= 0.6} == {}


@pytest.mark.parametrize(
    "of", [lambda each: each.language, lambda each: each.setting], ids=["language", "setting"]
)
def test_about_half_of_every_sort_of_text_is_held_out(of: Callable[[Compression], str]) -> None:
    shares = share_held_out(Counter(map(of, SHORTENED[True])), Counter(map(of, TEXTS)))
    assert {each: share for each, share in shares.items() if not 0.4 <= share <= 0.6} == {}


@pytest.mark.parametrize("read", [observations, compressions])
def test_who_does_not_ask_for_a_half_gets_the_one_for_development(
    read: Callable[..., list[Observation] | list[Compression]],
) -> None:
    assert inspect.signature(read).parameters["held_out"].default is False
    assert read() == read(held_out=False)
