from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vaultsync.indexing.folded_text import fold_text, has_no_blanks
from vaultsync.indexing.text_normalization import (
    index_words,
    normalize_text_form,
    phrase_words,
    query_words,
    split_words,
)
from vaultsync.markdown.blocks import note_headings


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Cafe\u0301", "Café"),
        ("ＯＢＳＩＤＩＡＮ", "OBSIDIAN"),
        ("ﬁle", "file"),
        ("İstanbul", "Istanbul"),
        ("ﾃﾞｰﾀ", "データ"),
        ("co\u00adop", "coop"),
        ("می\u200cخواهم", "میخواهم"),
        ("שָׁלוֹם", "שלום"),
        ("كِتَابٌ", "كتاب"),
        ("a\ud800b", "ab"),
    ],
)
def test_what_looks_alike_is_alike(one: str, other: str) -> None:
    assert normalize_text_form(one) == normalize_text_form(other)


@pytest.mark.parametrize("word", ["हिन्दी", "ভাষা", "தமிழ்", "ಕನ್ನಡ", "עברית", "العربية", "été", "ስላም"])
def test_a_word_of_any_script_is_one_word(word: str) -> None:
    assert len(split_words(index_words(f"{word} {word}"))) == 2


def test_text_without_blanks_becomes_pairs_and_single_letters_as_one_looks_for_it() -> None:
    assert split_words(index_words("LanceDB は東京都。")) == [
        *("LanceDB", "は東", "東京", "京都"),
        *("は", "東", "京", "都"),
    ]
    assert split_words(phrase_words("東京都 2026 猫")) == ["東京", "京都", "2026", "猫"]
    assert split_words(query_words("書はどこ")) == ["書は", "はど", "どこ", "書"]
    assert query_words("where?") == "where?"


@pytest.mark.parametrize("text", ["ฐานข้อมูล", "데이터", "ဒေတာ", "ទិន្នន័យ", "ຂໍ້ມູນ", "ㄅㄆㄇ", "ﾃﾞｰﾀ"])
def test_no_mark_splits_a_pair(text: str) -> None:
    assert {len(each) for each in split_words(phrase_words(text))} == {2}


@given(st.text("東京都ニにข้อ a", max_size=12), st.text("東京都ニにข้อ a", max_size=12))
def test_whatever_is_part_of_a_text_is_found_in_it(left: str, right: str) -> None:
    part = "東に"
    assert {*split_words(phrase_words(part))} <= {*split_words(index_words(f"{left}{part}{right}"))}


@given(st.text(st.characters(codec=None)))
def test_every_text_has_words(text: str) -> None:
    for words in (index_words(text), phrase_words(text), query_words(text)):
        words.encode()


@pytest.mark.parametrize(
    "code",
    ["```\n```js\n# no\n```", "  ```\n# no\n  ```", "~~~\n``` \n# no\n~~~", "~~~\n# no\n ~~~"],
)
def test_what_code_ends_with_is_what_commonmark_says(code: str) -> None:
    assert note_headings(f"# One\n\n{code}\n\n# Two\n") == ["One", "Two"]


def test_headings_are_found_but_not_in_code() -> None:
    content = "# One\n\ntext # no\n\n```sh\n# no\n```\n\n### Two ##\n\n~~~\n# no\n~~~\n#tag\n"
    assert note_headings(content) == ["One", "Two"]
    assert note_headings("no") == []
    assert note_headings("#no\n# Yes") == ["Yes"]
    assert note_headings("# \n## #\n#  Two words # \n## C#\n") == ["Two words", "C#"]
    assert note_headings("## End\n```\n# no") == ["End"]


@pytest.mark.parametrize(
    ("text", "folded", "word"),
    [
        ("The BERTH", "the berth", "BERTH"),
        ("“The” berth…", "“the” berth…", "berth"),
        ("Größe", "grosse", "Größe"),
        ("in der Straße dort", "in der strasse dort", "Straße"),
        ("a naïve one", "a naive one", "naïve"),
        ("un nai\u0308ve", "un naive", "nai\u0308ve"),
        ("Ｆｕｌｌ ﬁx", "full fix", "ﬁx"),
        ("co\u00adop", "coop", "co\u00adop"),
        ("İzmir", "izmir", "İzmir"),
        ("и\u0306од или", "йод или", "или"),
        ("\u1112\u1161\u11ab x\u0301ß", "한 xss", "x\u0301ß"),
        ("Øl … Ærø", "ol … aero", "Ærø"),
    ],
)
def test_a_text_is_folded_and_its_words_keep_their_place(text: str, folded: str, word: str) -> None:
    made = fold_text(text)
    assert made.text == folded
    at, spelled = text.index(word), fold_text(word).text
    start = folded.index(spelled)
    assert (made.original(start), made.original(start + len(spelled))) == (at, at + len(word))


@example("½a")
@example("þ\u034e")
@given(st.text("aß\u0301\u0308Éﬁ…½и\u0306йµ\u00ad東ﾃﾞ ", max_size=12))
def test_positions_in_a_folded_text_lead_back_in_order(text: str) -> None:
    made = fold_text(text)
    positions = list(map(made.original, range(len(made.text) + 1)))
    assert positions == sorted(positions)
    assert positions[-1] == len(text)
    assert fold_text(made.text).text == made.text


def test_a_script_without_blanks_is_told_by_its_letters() -> None:
    assert [x for x in ("кот", "öl", "berth", "水位", "を選", "데이") if has_no_blanks(x)] == [
        *("水位", "を選", "데이")
    ]
