from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.markdown.test_encoded_data import data
from vaultsync.backends.tantivy.analysis import Analyzers, stemming_analyzer
from vaultsync.model.fact import Fact
from vaultsync.recall.explanation import (
    SNIPPET_LENGTH,
    QueryTerms,
    explain_hit,
    fact_text,
    has_phrases,
    hit_snippet,
    snippet,
)

LONG = "Some words that say nothing. " * 40
STEMS_OF = Analyzers().stemmer("", ["russian"])


MATCHES = [
    ("The Berths are full", ["berth", "full"], {0: "Berths", 1: "full"}),
    ("unberthed berthings", ["berth"], {0: "berthings"}),
    ("the cartography of it", ["car"], {}),  # much longer: another word
    ("We were happy", ["happi"], {0: "happy"}),  # a stem that lost its y
    ("42 of 420", ["42"], {0: "42"}),
    ("420", ["42"], {}),
    ("港の水位を測る", ["水位"], {0: "水位"}),  # a script without blanks
    ("Die Größe der Straße", ["gross", "strasse"], {0: "Größe", 1: "Straße"}),
    ("a naïve ﬁnance", ["naiv", "financ"], {0: "naïve", 1: "ﬁnance"}),
    ("in Köln, vergrößert", ["ol", "gross"], {}),
    ("которая скоты", ["кот"], {}),
    ("с котами", ["кот"], {0: "котами"}),
    ("मेरी किताबें", ["किताब"], {0: "किताबें"}),
    ("in İzmir", ["izmir"], {0: "İzmir"}),
    ("İ berths", ["berth"], {0: "berths"}),  # in lower case it is longer
    ("anything", [], {}),
    ("anything", ["", ""], {}),
]


@pytest.mark.parametrize(("text", "stems", "words"), MATCHES)
def test_a_stem_matches_words_it_begins(text: str, stems: list[str], words: dict[int, str]) -> None:
    assert QueryTerms(stems, STEMS_OF).matched_words(text) == words


STEMMED = [
    ("How to work offline, with an offer", "off", {}),
    ("offline, then off", "off", {0: "off"}),
    ("Backlinks come back", "back", {0: "back"}),
    ("backing it up", "back", {0: "backing"}),
    ("happiness", "happy", {0: "happiness"}),
    ("viele Verträgen", "vertrag", {}),
    ("its ratings, and hiking", "rating", {0: "ratings"}),
    ("It was hiking.", "hike", {0: "hiking"}),
    ("They are being fed.", "bee", {}),
]


@pytest.mark.parametrize(("text", "word", "words"), STEMMED)
def test_a_stem_matches_only_words_with_it(text: str, word: str, words: dict[int, str]) -> None:
    stems = stemming_analyzer("english").analyze(word)
    assert QueryTerms(stems, STEMS_OF).matched_words(text) == words


def test_a_stem_of_any_language_of_the_facts_matches() -> None:
    stems_of = Analyzers().stemmer("", ["english", "german"])
    assert QueryTerms(["vertrag"], stems_of).matched_words("des Vertragen") == {0: "Vertragen"}
    assert QueryTerms(["vertrag"], STEMS_OF).matched_words("Vertragen") == {}


SNIPPETS = [
    ("Green tea.", ["tea"], "Green tea."),
    ("", ["tea"], ""),
    (
        "## Why\n\n- **Bold** and [[People/Bente|Bente]] with ![[A picture]]",
        ["why", "bold"],
        "Why Bold and Bente with A picture",
    ),
    ("seen \U000e0041\U000e0042tea 葛\U000e0100", ["tea"], "seen tea 葛\U000e0100"),
    ("a" * 1000, ["nowhere"], "a" * SNIPPET_LENGTH + "…"),
    ("b" * 1000 + "水位", ["水位"], "…水位"),
]


@pytest.mark.parametrize(("text", "stems", "expected"), SNIPPETS)
def test_a_snippet_is_one_line_without_markup(text: str, stems: list[str], expected: str) -> None:
    assert snippet(text, QueryTerms(stems, STEMS_OF)) == expected


def test_a_text_that_fits_is_shown_whole() -> None:
    text = f"The office is closed. {'It is open again soon. ' * 6}The berth is held."
    assert len(text) <= SNIPPET_LENGTH
    assert snippet(text, QueryTerms(["berth"], STEMS_OF)) == text


def test_a_snippet_is_where_most_of_the_terms_are() -> None:
    text = f"A berth. {LONG}A berth is held for twenty minutes.\nThen it is free. {LONG}A berth."
    found = snippet(text, QueryTerms(["berth", "held", "minut"], STEMS_OF))
    assert found.startswith("…A berth is held for twenty minutes. Then it is free.")
    assert found.endswith("…")
    assert len(found) <= SNIPPET_LENGTH + 2
    assert snippet(f"First. {LONG}", QueryTerms(["nowhere"], STEMS_OF)).startswith(
        "First. Some words"
    )


def test_a_snippet_begins_at_a_word_where_there_is_no_sentence_and_cuts_no_link() -> None:
    found = snippet("word " * 100 + "berth", QueryTerms(["berth"], STEMS_OF))
    assert found.startswith("…word word")
    assert found.endswith("berth")
    text = "word " * 38 + "[[A very long name of a note|short]] and on " + "word " * 9
    assert "[[" not in snippet(text, QueryTerms(["word"], STEMS_OF))


def test_a_snippet_is_without_encoded_data() -> None:
    text = f"The chart of May: ![](data:image/png;base64,{data(600)}) rises in spring."

    told = snippet(text, QueryTerms(["chart"], STEMS_OF))

    assert told == "The chart of May: ![](data:image/png;base64,…) rises in spring."


@given(
    text=st.text(st.sampled_from("ab c.\n#*[]水"), max_size=800),
    terms=st.lists(st.text(st.sampled_from("abc水"), max_size=3), max_size=4),
    length=st.integers(1, 300),
)
def test_a_snippet_is_one_line_and_not_too_long(text: str, terms: list[str], length: int) -> None:
    found = snippet(text, QueryTerms(terms, STEMS_OF), length=length)
    assert "\n" not in found
    assert len(found) <= length + 2


STATED: dict[str, tuple[dict[str, Any], str]] = {
    "birthday": ({"birthday": "1951-12-18", "mood": 3}, "birthday: 1951-12-18 · Port."),
    "mood": ({"birthday": "1951-12-18", "mood": 3}, "mood: 3 · Port."),
    "oslo": ({"from": ["[[Oslo]]", "Bergen"]}, "from: Oslo, Bergen · Port."),
    "port": ({"place": "Port"}, "Port."),  # the content says it, too
    "wide": ({"cssclasses": "wide", "x-plugin": "wide", "empty": None}, "Port."),
    "home": ({"at": {"city": "Home"}}, "at: Home · Port."),
    "port number": (
        {"a_number": 1, "port_b": 2, "port_number": 3},
        "port_number: 3 · a_number: 1 · port_b: 2 · Port.",
    ),
    "flag": ({"flag": True}, "flag: true · Port."),
    "main": ({"lineage": "7", "branch": "main"}, "Port."),
}


@pytest.mark.parametrize("word", STATED)
def test_a_snippet_begins_with_the_properties_that_the_question_names(word: str) -> None:
    properties, shown = STATED[word]
    fact = Fact("a", content="Port.", properties=properties)
    terms = QueryTerms(word.split(), STEMS_OF)
    assert hit_snippet(fact, fact.content, terms) == shown


def test_all_texts_of_a_fact_can_be_found() -> None:
    fact = Fact(
        "a",
        type="decision",
        title="Tea",
        context="In May",
        content="Green.",
        aliases=("Cha",),
        tags=("drinks",),
        entities=("Bente",),
        own={"decisionRationale": "taste", "decisionConsequences": ["a cup"]},
        created_at="2026-05-01T10:00:00Z",
        agent_id="indy",
    )
    text = fact_text(fact)
    for word in ("Tea", "In May", "Green.", "Cha", "drinks", "Bente", "taste", "indy"):
        assert word in text
    assert "2026-05-01" in text
    assert fact_text(Fact("a", content="Green.")).split() == ["Green."]


REASONS = [
    ({"matched_words": ("berth",), "term_count": 1}, "Has “berth”."),
    ({"matched_words": ("berth", "held"), "term_count": 2}, "Has “berth” and “held”."),
    (
        {"matched_words": ("berth", "held"), "term_count": 4, "cosine": 0.614},
        "Has “berth” and “held” (2 of 4 words) and is similar in meaning (0.61).",
    ),
    (
        {"cosine": 0.5, "matches_hints": True, "access_count": 12, "importance": 0.9},
        "Is similar in meaning (0.50), has the type or time asked for,"  # noqa: ISC004 - one
        " was used 12 times and is important.",
    ),
    ({"cosine": 0.04}, "Is not similar in meaning (0.04)."),
    ({"cosine": -0.001}, "Is not similar in meaning (0.00)."),
    ({}, "Matches by its context."),
    ({"cosine": 0.3, "remarks": ["was red"]}, "Is similar in meaning (0.30) and was red."),
    ({"matched_words": "aabcdefg", "term_count": 8}, "Has “a”, “b”, “c”, “d” and “e”."),
]


@pytest.mark.parametrize(("reasons", "sentence"), REASONS)
def test_why_is_one_readable_sentence(reasons: dict[str, Any], sentence: str) -> None:
    assert explain_hit(**reasons) == sentence


def test_phrases_are_found_across_line_ends_and_case() -> None:
    assert has_phrases(["green  tea", "a cup"], "Green\ntea in A CUP")
    assert not has_phrases(["green tea", "a pot"], "Green\ntea in A CUP")
    assert has_phrases([], "")


QUOTED: list[tuple[list[str], str, list[str], int]] = [
    (["東京", "京タ", "タワ", "ワー", "ーの"], "東京タワーへ。高さのタワ", ["東京タワー"], 1),
    (["東京", "京タ", "タワ", "ワー"], "京都のタワー", ["タワー"], 1),
    (["为什", "什么", "向量", "量数", "数据"], "我们选择了向量数据库。", ["向量数据"], 2),
    (["京都", "都の", "の旅", "旅館", "館は", "はい"], "旅館が京都にはいる", ["旅館", "京都"], 2),
    (["東京", "京都"], "京都と東京", ["京都", "東京"], 2),
    (["はい", "いく", "くら"], "はい、いくら", ["いくら"], 1),
    (["港", "と", "潮"], "港の潮", ["港", "潮"], 3),
    (["lancedb", "を選", "選ぶ"], "LanceDB を選ぶ理由", ["LanceDB", "を選ぶ"], 2),
    (["green", "berth"], "Berths are green", ["green", "Berths"], 2),
    ([], "Berths", [], 0),
]


@pytest.mark.parametrize(("stems", "text", "words", "asked"), QUOTED)
def test_words_of_every_script_are_quoted_whole(
    stems: list[str], text: str, words: list[str], asked: int
) -> None:
    terms = QueryTerms(stems, STEMS_OF)
    assert terms.quoted_words(text, terms.matched_words(text)) == (words, asked)
