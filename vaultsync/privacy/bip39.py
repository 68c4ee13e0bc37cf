"""Seed phrases of wallets: 12 to 24 words of a list, the last of which contains a checksum.

The list, `privacy/bip39_english.txt`, is that of github.com/bitcoin/bips
(bip-0039/english.txt): Copyright (c) 2013 Marek Palatinus and Pavol Rusnak, MIT license.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import cache

from vaultsync.privacy.providers import data_text

PHRASE_SIZES = (24, 21, 18, 15, 12)
MAX_RUN_WORDS = 60
"""A longer run of words is a word list, not a phrase."""
_WORD = re.compile(r"[A-Za-z]+")
_BETWEEN = re.compile(r"[\s\d,.;:)|*\"'`-]{1,12}")
"""Separators of two words: blanks, a comma, a number with a dot, a bullet."""
_MAX_REPEATS = 2
"""Words of a phrase that may be repeated; samples and code have more."""
_BITS = 11
"""Per word."""


@cache
def numbers() -> dict[str, int]:
    """The number of each word of the list."""
    return {word: number for number, word in enumerate(data_text("bip39_english.txt").split())}


def seed_phrases(text: str) -> Iterator[tuple[int, int]]:
    """The spans of seed phrases in a text."""
    places: list[tuple[int, int]] = []
    row: list[int] = []
    known = numbers()
    for match in _WORD.finditer(text):
        number = known.get(match[0].lower())
        if row and (number is None or not _BETWEEN.fullmatch(text, places[-1][1], match.start())):
            yield from _phrases_in(row, places)
            places, row = [], []
        if number is not None:
            places.append(match.span())
            row.append(number)
    yield from _phrases_in(row, places)


def _phrases_in(row: Sequence[int], places: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The longest phrases in a run of words of the list."""
    if not PHRASE_SIZES[-1] <= len(row) <= MAX_RUN_WORDS:
        return
    for size in PHRASE_SIZES:
        found = [
            at
            for at in range(len(row) - size + 1)
            if len(set(row[at : at + size])) >= size - _MAX_REPEATS
            and _has_checksum(row[at : at + size])
        ]
        for at in found:
            yield places[at][0], places[at + size - 1][1]
        if found:
            return


def _has_checksum(row: Sequence[int]) -> bool:
    """Whether the last bits are the checksum: the first bits of the hash of the others."""
    whole = 0
    for number in row:
        whole = whole << _BITS | number
    bits = len(row) // 3
    secret = (whole >> bits).to_bytes(4 * bits)
    return hashlib.sha256(secret).digest()[0] >> 8 - bits == whole & (1 << bits) - 1
