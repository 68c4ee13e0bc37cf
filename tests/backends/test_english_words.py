from __future__ import annotations

import pytest

from vaultsync.backends.embedders.english_words import is_english_word


@pytest.mark.parametrize("word", ["driving", "Present", "dough"])
def test_a_common_word_is_english(word: str) -> None:
    assert is_english_word(word)


@pytest.mark.parametrize("word", ["recvery", "subscribrs", "offenen", ""])
def test_a_misspelled_or_foreign_word_is_not(word: str) -> None:
    assert not is_english_word(word)
