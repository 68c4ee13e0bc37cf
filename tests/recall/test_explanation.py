from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultsync.model.fact import Fact
from vaultsync.recall.explanation import (
    SNIPPET_LENGTH,
    HitReasons,
    QueryTerms,
    explain_hit,
    fact_text,
    has_phrases,
    snippet,
)

LONG = "Some words that say nothing. " * 40


def held(text: str, *terms: str) -> dict[int, str]:
    return QueryTerms(terms).matched_words(text)


def test_a_stem_begins_a_word() -> None:
    assert held("The Berths are full", "berth", "full") == {0: "Berths", 1: "full"}
    assert held("unberthed berthings", "berth") == {0: "berthings"}


def test_a_stem_is_no_part_of_a_much_longer_word() -> None:
    assert held("the cartography of it", "car") == {}


def test_a_stem_that_lost_its_y_is_found() -> None:
    assert held("We were happy", "happi") == {0: "happy"}


def test_a_number_is_whole() -> None:
    assert held("42 of 420", "42") == {0: "42"}
    assert held("420", "42") == {}


def test_scripts_without_blanks_are_found_inside() -> None:
    assert held("港の水位を測る", "水位") == {0: "水位"}


def test_a_question_without_terms_finds_nothing() -> None:
    assert held("anything") == {}
    assert held("anything", "", "") == {}


def test_a_passage_is_where_most_of_the_words_are() -> None:
    text = f"{LONG}A berth is held for twenty minutes.\nThen it is free. {LONG}"
    found = snippet(text, QueryTerms(["berth", "held", "minut"]))
    assert found.startswith("…A berth is held for twenty minutes. Then it is free.")
    assert found.endswith("…")
    assert len(found) <= SNIPPET_LENGTH + 2


def test_a_passage_of_a_short_text_is_the_text() -> None:
    assert snippet("Green tea.", QueryTerms(["tea"])) == "Green tea."
    assert snippet("", QueryTerms(["tea"])) == ""


def test_a_passage_without_a_match_is_the_start() -> None:
    assert snippet(f"First. {LONG}", QueryTerms(["nowhere"])).startswith("First. Some words")


def test_a_passage_reads_without_marks() -> None:
    text = "## Why\n\n- **Bold** and [[People/Bente|Bente]] with ![[A picture]]"
    assert snippet(text, QueryTerms(["why", "bold"])) == "Why Bold and Bente with A picture"


def test_a_link_is_never_cut() -> None:
    text = "word " * 38 + "[[A very long name of a note|short]] and on " + "word " * 9
    assert "[[" not in snippet(text, QueryTerms(["word"]))


def test_a_passage_begins_at_a_word_where_there_is_no_sentence() -> None:
    found = snippet("word " * 100 + "berth", QueryTerms(["berth"]))
    assert found.startswith("…word word")
    assert found.endswith("berth")


def test_a_passage_of_one_endless_word_is_cut() -> None:
    found = snippet("a" * 1000, QueryTerms(["nowhere"]))
    assert found == "a" * SNIPPET_LENGTH + "…"
    assert snippet("b" * 1000 + "水位", QueryTerms(["水位"])) == "…水位"


@given(
    text=st.text(st.sampled_from("ab c.\n#*[]水"), max_size=800),
    terms=st.lists(st.text(st.sampled_from("abc水"), max_size=3), max_size=4),
    length=st.integers(1, 300),
)
def test_a_passage_is_one_line_and_not_too_long(text: str, terms: list[str], length: int) -> None:
    found = snippet(text, QueryTerms(terms), length=length)
    assert "\n" not in found
    assert len(found) <= length + 2


def test_all_that_a_fact_says_counts() -> None:
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
    said = fact_text(fact)
    for word in ("Tea", "In May", "Green.", "Cha", "drinks", "Bente", "taste", "indy"):
        assert word in said
    assert "2026-05-01" in said
    assert fact_text(Fact("a", content="Green.")).split() == ["Green."]


REASONS = [
    (HitReasons(matched_words=("berth",), term_count=1), "Has “berth”."),
    (HitReasons(matched_words=("berth", "held"), term_count=2), "Has “berth” and “held”."),
    (
        HitReasons(matched_words=("berth", "held"), term_count=4, cosine=0.614),
        "Has “berth” and “held” (2 of 4 words) and is similar in meaning (0.61).",
    ),
    (
        HitReasons(cosine=0.5, matches_hints=True, access_count=12, importance=0.9),
        "Is similar in meaning (0.50), is of the type or time asked for,"  # noqa: ISC004 - one
        " was recalled 12 times and is important.",
    ),
    (HitReasons(cosine=0.04), "Is not similar in meaning (0.04)."),
    (HitReasons(cosine=-0.001), "Is not similar in meaning (0.00)."),
    (HitReasons(), "Matches by its context."),
    (
        HitReasons(matched_words=tuple("abcdefg"), term_count=7),
        "Has “a”, “b”, “c”, “d” and “e”.",
    ),
]


@pytest.mark.parametrize(("reasons", "sentence"), REASONS)
def test_why_is_one_readable_sentence(reasons: HitReasons, sentence: str) -> None:
    assert explain_hit(reasons) == sentence


def test_of_two_passages_the_one_with_more_of_the_words_is_taken() -> None:
    text = f"A berth. {LONG}A berth is held. {LONG}A berth."
    assert "A berth is held." in snippet(text, QueryTerms(["berth", "held"]))


def test_phrases_are_found_across_line_ends_and_case() -> None:
    assert has_phrases(["green  tea", "a cup"], "Green\ntea in A CUP")
    assert not has_phrases(["green tea", "a pot"], "Green\ntea in A CUP")
    assert has_phrases([], "")
