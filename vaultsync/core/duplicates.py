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

ALIKE = 0.8
_SOME = 0.7
"""Near-duplicates are alike in length, and in their words as they are written, at least
so much; most texts are not."""
_COMMON, _ENOUGH, _FEW = 8, 10, 0.5
"""Letters of words that any text may have; where texts have so many longer ones, near-
duplicates share at least half of those. They are few, so they are compared first."""
_LETTERS_A_WORD = 14
"""Texts with more letters to a blank are of a script without blanks."""
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_WORD = re.compile(r"\w+")


class Duplicates:
    """Texts seen so far; each new one is held against all of them."""

    def __init__(self) -> None:
        self._seen: list[_Text] = []

    def find(self, text: str) -> int | None:
        """The first text seen that this one nearly repeats; else it counts as seen.

        Texts are named by the order in which they were taken in, from 0.
        """
        new = _Text(text)
        for number, other in enumerate(self._seen):
            if new.repeats(other):
                return number
        self._seen.append(new)
        return None


class _Text:
    """A text, as far as it has to be looked into."""

    def __init__(self, text: str) -> None:
        self._text = text
        words = text.split()
        blankless = len(text) > _LETTERS_A_WORD * len(words)
        self._words = frozenset(text if blankless else words)
        self._rare = frozenset(word for word in self._words if len(word) > _COMMON)
        self._blankless = blankless

    def repeats(self, other: _Text) -> bool:
        if self._text == other._text:
            return True
        short, long = sorted((len(self._text), len(other._text)))
        return (
            short >= _SOME * long
            and self._could_repeat(other)
            and _share(self._words, other._words) >= _SOME
            and self._numbers == other._numbers
            and _share(self._pairs, other._pairs) >= ALIKE
        )

    def _could_repeat(self, other: _Text) -> bool:
        """Judged by a few words, and only where there are enough of them."""
        few = min(len(self._rare), len(other._rare)) < _ENOUGH
        return few or _share(self._rare, other._rare) >= _FEW

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
