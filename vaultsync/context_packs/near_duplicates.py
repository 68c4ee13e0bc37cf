"""Find near-duplicate texts by the Jaccard similarity of their word bigrams.

Two texts are near-duplicates when their resemblance (Broder, *On the resemblance and containment
of documents*, 1997) is at least `DUPLICATE_SIMILARITY`, and when they contain the same numbers:
a fact that says 38 does not repeat one that says 42. Shingles are compared in full, not sampled.
Texts of very different length or vocabulary are ruled out before any bigrams are made.
"""

from __future__ import annotations

import re
from functools import cached_property
from itertools import pairwise

DUPLICATE_SIMILARITY = 0.8
_MIN_RATIO = 0.7
"""Minimum ratio of the lengths, and minimum Jaccard similarity of the words, of two texts that
may be near-duplicates; most pairs have less."""
_MAX_WORD_LENGTH = 14
"""Mean characters per word above which a text is of a script without blanks."""
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_WORD = re.compile(r"\w+")


class NearDuplicates:
    """The texts seen so far; each new one is compared with all of them."""

    def __init__(self) -> None:
        self._seen: list[_Text] = []
        self._numbers: dict[str, int] = {}
        """Word -> the number of its bit."""

    def find(self, text: str) -> int | None:
        """The number, from 0, of the first text that this one nearly repeats.

        None when there is none; the text then gets the next number.
        """
        new = _Text(text, self._numbers)
        for number, other in enumerate(self._seen):
            if new.repeats(other):
                return number
        self._seen.append(new)
        return None


class _Text:
    """A text; what is compared is computed when it is needed."""

    def __init__(self, text: str, numbers: dict[str, int]) -> None:
        self._text = text
        words = text.split()
        self._without_blanks = len(text) > _MAX_WORD_LENGTH * len(words)
        distinct = set(text if self._without_blanks else words)
        self._word_count = len(distinct)
        # A set of words as a bit mask: one operation tells most texts apart.
        bits = bytearray((len(numbers) + self._word_count) // 8 + 1)
        for word in distinct:
            number = numbers.setdefault(word, len(numbers))
            bits[number >> 3] |= 1 << (number & 7)
        self._words = int.from_bytes(bits, "little")

    def repeats(self, other: _Text) -> bool:
        if self._text == other._text:
            return True
        short, long = sorted((len(self._text), len(other._text)))
        both = (self._words & other._words).bit_count()
        return (
            short >= _MIN_RATIO * long
            and both >= _MIN_RATIO * (self._word_count + other._word_count - both)
            and self._numbers == other._numbers
            and _jaccard(self._bigrams, other._bigrams) >= DUPLICATE_SIMILARITY
        )

    @cached_property
    def _numbers(self) -> frozenset[str]:
        return frozenset(_NUMBER.findall(self._text))

    @cached_property
    def _bigrams(self) -> frozenset[tuple[str, ...]]:
        words = _WORD.findall(self._text.casefold())
        if self._without_blanks:
            words = list("".join(words))
        return frozenset(pairwise(words)) or frozenset([(*words,)])


def _jaccard(one: frozenset[object], other: frozenset[object]) -> float:
    """Jaccard similarity, 0 to 1; of two empty sets it is 1."""
    both = len(one & other)
    either = len(one) + len(other) - both
    return both / either if either else 1.0
