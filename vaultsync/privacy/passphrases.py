"""Passphrases of several words, which only their name tells from prose."""

from __future__ import annotations

import tomllib
from functools import cache

from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.privacy.providers import data_text

MIN_WORDS = 4


@cache
def _words(kind: str) -> frozenset[str]:
    """Words of prose in some languages, from the table of this name."""
    return frozenset(tomllib.loads(data_text("prose_words.toml"))[kind])


_WORD = lazy_pattern(r"[^\W\d_]{1,15}")
_ENDINGS_OF_PROSE = ("ed", "ly", "ing", "é", "ée", "és", "ado", "ida", "ada", "ido")


def phrase_span(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The words up to the first one of prose, if these are enough for a passphrase."""
    count, stop = 0, start
    for word in _WORD.finditer(text, start, end):
        low = word[0].lower()
        if low in _words("prose") or (
            count == 0 and (low in _words("opening") or low.endswith(_ENDINGS_OF_PROSE))
        ):
            break
        count, stop = count + 1, word.end()
    return (start, stop) if count >= MIN_WORDS else None


def wallet_span(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The words up to the first one that no wallet has, if these are enough for a wallet."""
    from vaultsync.privacy.bip39 import PHRASE_SIZES, numbers  # noqa: PLC0415 - few need it

    count, stop = 0, start
    for word in _WORD.finditer(text, start, end):
        if word[0].lower() not in numbers():
            break
        count, stop = count + 1, word.end()
    return (start, stop) if count >= PHRASE_SIZES[-1] else None


_JOINED = lazy_pattern(r"[^\W\d_]{3,12}([-._])[^\W\d_]{3,12}(?:\1[^\W\d_]{3,12}){2,20}")


def are_joined_words(value: str) -> bool:
    """Whether a value is a passphrase with the same sign between all words."""
    if not _JOINED.fullmatch(value) or not (value.islower() or value.istitle()):
        return False
    return phrase_span(value, 0, len(value)) == (0, len(value))
