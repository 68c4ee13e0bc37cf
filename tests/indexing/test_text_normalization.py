from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultsync.indexing.text_normalization import (
    headings,
    one_form,
    words_of,
    words_to_ask,
    words_to_find,
    words_to_index,
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Cafe\u0301", "Café"),
        ("ＯＢＳＩＤＩＡＮ", "OBSIDIAN"),
        ("ﬁle", "file"),
        ("ﾃﾞｰﾀ", "データ"),
        ("co\u00adop", "coop"),
        ("می\u200cخواهم", "میخواهم"),
        ("שָׁלוֹם", "שלום"),
        ("كِتَابٌ", "كتاب"),
        ("a\ud800b", "ab"),
    ],
)
def test_what_looks_alike_is_alike(one: str, other: str) -> None:
    assert one_form(one) == one_form(other)


@pytest.mark.parametrize(
    "word", ["हिन्दी", "ভাষা", "தமிழ்", "ಕನ್ನಡ", "עברית", "العربية", "été", "ስላም"]
)
def test_a_word_of_any_script_is_one_word(word: str) -> None:
    assert len(words_of(words_to_index(f"{word} {word}"))) == 2


def test_text_without_blanks_becomes_pairs_and_single_letters() -> None:
    assert words_of(words_to_index("LanceDB は東京都。")) == [
        *("LanceDB", "は東", "東京", "京都"),
        *("は", "東", "京", "都"),
    ]


def test_what_is_looked_for_becomes_pairs_in_order() -> None:
    assert words_of(words_to_find("東京都 2026 猫")) == ["東京", "京都", "2026", "猫"]


def test_each_chinese_letter_of_a_question_may_be_a_word() -> None:
    assert words_of(words_to_ask("書はどこ")) == ["書は", "はど", "どこ", "書"]
    assert words_to_ask("where?") == "where?"


@pytest.mark.parametrize(
    "text", ["ฐานข้อมูล", "데이터", "ဒေတာ", "ទិន្នន័យ", "ຂໍ້ມູນ", "ㄅㄆㄇ", "ﾃﾞｰﾀ"]
)
def test_no_mark_splits_a_pair(text: str) -> None:
    assert {len(each) for each in words_of(words_to_find(text))} == {2}


@given(st.text("東京都ニにข้อ a", max_size=12), st.text("東京都ニにข้อ a", max_size=12))
def test_whatever_is_part_of_a_text_is_found_in_it(left: str, right: str) -> None:
    part = "東に"
    assert {*words_of(words_to_find(part))} <= {
        *words_of(words_to_index(f"{left}{part}{right}"))
    }


@given(st.text(st.characters(codec=None)))
def test_every_text_has_words(text: str) -> None:
    for made in (words_to_index(text), words_to_find(text), words_to_ask(text)):
        made.encode()


@pytest.mark.timeout(5)
@pytest.mark.parametrize(
    "line", ["# " + " " * 99_999 + "x", "`" * 99_999, "```\n````\n" * 9_999]
)
def test_a_hostile_text_takes_no_more_time(line: str) -> None:
    assert len(headings(f"# {line}\n{line}\n# ")) <= 2


def test_headings_are_found_but_not_in_code() -> None:
    content = (
        "# One\n\ntext # no\n\n```sh\n# no\n```\n\n### Two ##\n\n~~~\n# no\n~~~\n#tag\n"
    )

    assert headings(content) == ["One", "Two"]
    assert headings("no") == []
    assert headings("#no\n# Yes") == ["Yes"]
    assert headings("# \n## #\n#  Two words # \n") == ["Two words"]
    assert headings("## End\n```\n# no") == ["End"]
