"""Whether a word is English, by the vocabulary of the default model: 22,000 common words."""

from __future__ import annotations

from functools import cache
from pkgutil import get_data


def is_english_word(word: str) -> bool:
    """Whether a word is common in English, and so no misspelling of another one."""
    return f"\n{word.lower()}\n".encode() in vocabulary()


@cache
def vocabulary() -> bytes:
    """The words and pieces of words that the model knows, in its order, one per line."""
    return get_data("vaultsync.backends.embedders", "bert_uncased.txt") or b""
