"""German compounds and their parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from vaultsync.indexing.compounds import (
    MAX_COMPOUNDS,
    Vocabulary,
    compounds_with,
    part_of,
    parts_of,
)

TERMS = [
    *("steuererklar", "arztrechn", "hafengebuhr", "projektplan", "mathematikbuch", "impfpass"),
    *("automatisch", "haushalt", "steuerlich", "verstand", "unterstand", "mittelstand"),
    *("planung", "projekt", "tide", "messung", "vorstand", "wahl", "impf", "arzt", "sitzung"),
    "protokoll",
]


def facts_with(words: Iterable[str]) -> Mapping[str, int]:
    return {word: TERMS.count(word) for word in words}


COMPOUNDS: dict[tuple[str, str], list[str]] = {
    ("steuer", "steuer"): ["steuererklar"],
    ("erklarung", "erklar"): ["steuererklar"],
    ("planung", "plan"): ["projektplan"],
    ("gebuhren", "gebuhr"): ["hafengebuhr"],
    ("arzt", "arzt"): [],  # no fact has the rest
    ("pass", "pass"): ["impfpass"],
    ("buch", "buch"): [],
    ("haus", "haus"): [],
    ("auto", "auto"): [],
    ("stand", "stand"): ["mittelstand"],
    ("see", "see"): [],
}


@pytest.mark.parametrize("word", COMPOUNDS)
def test_a_word_has_compounds_that_begin_or_end_with_it(word: tuple[str, str]) -> None:
    assert compounds_with(*word, Vocabulary(TERMS), facts_with) == COMPOUNDS[word]


def test_another_word_of_the_question_may_be_the_other_part_of_a_short_one() -> None:
    found = compounds_with("buch", "buch", Vocabulary(TERMS), facts_with, beside={"mathematik"})
    assert found == ["mathematikbuch"]


def test_a_word_has_few_compounds_those_of_most_facts_first() -> None:
    terms = [f"steuer{chr(97 + number) * 4}" for number in range(20)]

    def some(words: Iterable[str]) -> Mapping[str, int]:
        return {each: ord(each[-1]) for each in words}

    found = compounds_with("steuer", "steu", Vocabulary(terms), some)
    assert found == terms[::-1][:MAX_COMPOUNDS]


PARTS: dict[str, tuple[str, ...]] = {
    "projektplanung": ("projekt", "planung"),
    "tidemessung": ("tide", "messung"),
    "vorstandswahl": ("vorstand", "wahl"),
    "sitzungsprotokoll": ("sitzung", "protokoll"),
    "projektleitung": (),
    "projektwahlung": ("projekt", "wahl"),
    "planung": (),
    "": (),
}


@pytest.mark.parametrize("word", PARTS)
def test_a_compound_has_two_parts_that_facts_have(word: str) -> None:
    assert parts_of(word, facts_with) == PARTS[word]


ALONE: dict[str, tuple[str, ...]] = {
    "projekttonne": ("projekt",),
    "projektstonne": ("projekt",),
    "gartenprotokoll": ("protokoll",),
    "projektprotokoll": ("protokoll",),
    "weihwahl": (),
    "arzttonne": (),
    "": (),
}


@pytest.mark.parametrize("word", ALONE)
def test_a_long_part_is_found_without_the_other(word: str) -> None:
    assert part_of(word, facts_with) == ALONE[word]
