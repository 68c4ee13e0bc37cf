"""A question in another language -> its words in English."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultsync.indexing.language import FUNCTION_WORDS
from vaultsync.recall.glosses import GLOSSED, MAX_WORD, _bare, _dictionary, glosses


def in_english(text: str) -> str:
    return " ".join(each.best for each in glosses(text))


@pytest.mark.parametrize(
    ("question", "english"),
    [
        ("Wann wird die Heizung im Winter eingeschaltet?", "heating winter enable"),
        ("Wer hat die Arbeitswoche gekürzt?", "work week short"),
        ("Quelles réservations ont été annulées ?", "Quelles book cancel"),
        ("¿Por qué cambiamos la contraseña?", "change password"),
        ("新しいパスワードは Anna に送る", "new password Anna send"),
    ],
)
def test_a_question_is_said_in_english_word_by_word(question: str, english: str) -> None:
    assert in_english(question) == english


@pytest.mark.parametrize("question", ["Why did we change the password?", "LanceDB", "数据库", ""])
def test_what_is_in_no_language_of_the_dictionary_is_left_alone(question: str) -> None:
    assert glosses(question) == []


@given(word=st.sampled_from(sorted(_dictionary()["german"])))
def test_each_word_of_the_dictionary_is_looked_up_unless_it_is_too_long(word: str) -> None:
    assert in_english(f"und {word} ist") == _dictionary()["german"][word][0]
    assert in_english(f"und {word:x<{MAX_WORD + 1}} ist").startswith(word)


def test_the_dictionary_has_no_word_that_would_never_be_looked_up() -> None:
    for language in GLOSSED[:-1]:
        words = _dictionary()[language]
        assert all(each.isalnum() and each == _bare(each) and len(each) > 1 for each in words)
        assert not FUNCTION_WORDS[language] & words.keys()
