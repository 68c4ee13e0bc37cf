"""Whether a word is English, by the vocabulary of the default model: 22,000 common words."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pkgutil import get_data


def is_english_word(word: str) -> bool:
    """Whether a word is common in English, and so no misspelling of another one."""
    data = word.lower().encode()
    return data in _words_beginning_with(data[:1])


@lru_cache(maxsize=64)
def _words_beginning_with(letter: bytes) -> frozenset[bytes]:
    """Those with one first byte: a set of all takes 7 ms, and a search in the text 0.08 ms."""
    return frozenset(re.findall(rb"\n(%b[^\n]*)(?=\n)" % re.escape(letter), vocabulary()))


@cache
def vocabulary() -> bytes:
    """The words and pieces of words that the model knows, in its order, one per line."""
    return get_data("vaultsync.backends.embedders", "bert_uncased.txt") or b""
