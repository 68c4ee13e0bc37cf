"""Which texts say nearly the same: shingles of words, compared by Jaccard's measure.

Two texts are near-duplicates when of all pairs of neighbouring words that either has,
at least `ALIKE` are in both (Broder, *On the resemblance and containment of documents*,
1997), and when they name the same numbers: a fact that says 38 does not repeat one that
says 42.
What is compared is exact, not sampled, so that the answer is the same in every run;
texts of other lengths or other words are told apart before any pairs are made.
"""

from __future__ import annotations

import re
from functools import cached_property
from itertools import pairwise

DUPLICATE_SIMILARITY = 0.8
_SOME = 0.7
"""Near-duplicates are alike in length, and in their words as they are written, at least
so much; most texts are not."""
_LETTERS_A_WORD = 14
"""Texts with more letters to a blank are of a script without blanks."""
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_WORD = re.compile(r"\w+")


class NearDuplicates:
    """Texts seen so far; each new one is held against all of them."""

    def __init__(self) -> None:
        self._seen: list[_Text] = []
        self._numbers: dict[str, int] = {}
        """Of each word that was seen, its bit."""

    def find(self, text: str) -> int | None:
        """The first text seen that this one nearly repeats; else it counts as seen.

        Texts are named by the order in which they were taken in, from 0.
        """
        new = _Text(text, self._numbers)
        for number, other in enumerate(self._seen):
            if new.repeats(other):
                return number
        self._seen.append(new)
        return None


class _Text:
    """A text, as far as it has to be looked into."""

    def __init__(self, text: str, numbers: dict[str, int]) -> None:
        self._text = text
        words = text.split()
        self._blankless = len(text) > _LETTERS_A_WORD * len(words)
        distinct = set(text if self._blankless else words)
        self._many = len(distinct)
        # A set of words as a number: most texts are told apart by one operation.
        bits = bytearray((len(numbers) + self._many) // 8 + 1)
        for word in distinct:
            number = numbers.setdefault(word, len(numbers))
            bits[number >> 3] |= 1 << (number & 7)
        self._words = int.from_bytes(bits, "little")

    def repeats(self, other: _Text) -> bool:
        if self._text == other._text:
            return True
        short, long = sorted((len(self._text), len(other._text)))
        return (
            short >= _SOME * long
            and self._shares_words(other)
            and self._numbers == other._numbers
            and _share(self._pairs, other._pairs) >= DUPLICATE_SIMILARITY
        )

    def _shares_words(self, other: _Text) -> bool:
        both = (self._words & other._words).bit_count()
        return both >= _SOME * (self._many + other._many - both)

    @cached_property
    def _numbers(self) -> frozenset[str]:
        return frozenset(_NUMBER.findall(self._text))

    @cached_property
    def _pairs(self) -> frozenset[tuple[str, ...]]:
        words = _WORD.findall(self._text.casefold())
        if self._blankless:
            words = list("".join(words))
        return frozenset(pairwise(words)) or frozenset([(*words,)])


def _share(one: frozenset[object], other: frozenset[object]) -> float:
    """Jaccard's measure; two empty sets are alike."""
    both = len(one & other)
    either = len(one) + len(other) - both
    return both / either if either else 1.0
