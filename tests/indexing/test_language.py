from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultsync.indexing.language import FUNCTION_WORDS, STEMMER_LANGUAGES, language_of

_FILE = Path(__file__).parents[1] / "backends" / "languages.toml"
SAMPLES = tomllib.loads(_FILE.read_text("utf-8"))


@pytest.mark.parametrize("language", SAMPLES)
def test_a_language_is_detected_in_a_few_sentences(language: str) -> None:
    text = " ".join(SAMPLES[language]["notes"])
    assert language_of(text) == (language if language in STEMMER_LANGUAGES else None)


@pytest.mark.parametrize("language", sorted(FUNCTION_WORDS.keys() & SAMPLES.keys()))
def test_a_language_is_detected_in_a_question(language: str) -> None:
    detected = [language_of(each, least=1) for each in SAMPLES[language]["questions"]]
    assert set(detected) == {language}


@pytest.mark.parametrize(
    ("text", "language"),
    [
        *((name, None) for name in ("", "LanceDB", "Café Österreich", "Die Hard", "潮の表示")),
        ("an am", None),  # of two languages alike
        ("The angle is α, and Мир is on the table.", "english"),
        ("Değişiklik toplantısı", "turkish"),  # by its letters
    ],
)
def test_names_and_a_tie_have_no_language(text: str, language: str | None) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    ("text", "likely", "language"),
    [
        ("was kostet die Haftpflicht", {"english", "german"}, "german"),
        ("was kostet die Haftpflicht", {"english"}, None),
        ("clases de piano", {"english", "spanish"}, "spanish"),
        ("clases de piano", {"french", "spanish"}, None),
        ("where is the key", {"german"}, "english"),  # no tie
        ("Termin beim Arzt", set(), "german"),
    ],
)
def test_a_tie_is_decided_by_the_languages_of_the_memory(
    text: str, likely: set[str], language: str | None
) -> None:
    assert language_of(text, least=1, likely=likely) == language


@given(st.text(), st.integers(1, 3))
def test_every_text_has_a_known_language_or_none(text: str, least: int) -> None:
    assert language_of(text, least=least) in (None, *STEMMER_LANGUAGES)
