"""Find near-duplicate texts by the Jaccard similarity of their word bigrams.

Two texts are near-duplicates when their resemblance (Broder, *On the resemblance and containment
of documents*, 1997) is at least `DUPLICATE_SIMILARITY`, and when they contain the same numbers:
a fact that says 38 does not repeat one that says 42. Shingles are compared in full, not sampled.
Texts of very different length or vocabulary are ruled out before any bigrams are made.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import pairwise

from vaultsync.model.lazy_pattern import lazy_pattern

DUPLICATE_SIMILARITY = 0.8
MIN_RATIO = 0.7
"""Minimum ratio of the lengths, and minimum Jaccard similarity of the words, of two texts that
may be near-duplicates; most pairs have less."""
_BITS = 2048
"""Bits by which the words of two texts are compared before the words themselves are (Sandes,
Teodoro & Melo, *Bitmap filter: speeding up exact set similarity joins with bitwise operations*,
2017). A word sets one; words that share a bit only let a pair through."""
_MAX_WORD_LENGTH = 14
"""Mean characters per word above which a text is of a script without blanks."""
_NUMBER = lazy_pattern(r"\d+(?:[.,:]\d+)*")
_WORD = lazy_pattern(r"\w+")


class NearDuplicates:
    """The texts seen so far; each new one is compared with all of them."""

    def __init__(self) -> None:
        self._seen: list[ComparedText] = []

    def find(self, text: str) -> int | None:
        """The number, from 0, of the first text that this one nearly repeats.

        None when there is none; the text then gets the next number.
        """
        new = ComparedText(text)
        for number, other in enumerate(self._seen):
            if new.repeats(other):
                return number
        self._seen.append(new)
        return None


class ComparedText:
    """A text to compare; its numbers and bigrams are computed when they are needed."""

    def __init__(self, text: str) -> None:
        self._text = text
        words = text.split()
        self._without_blanks = bool(words) and len(text) > _MAX_WORD_LENGTH * len(words)
        self.words = set(text if self._without_blanks else words)
        """Its words; its characters, in a script without blanks."""
        self._bitmap = 0
        for number in {hash(word) % _BITS for word in self.words}:
            self._bitmap |= 1 << number

    def repeats(self, other: ComparedText) -> bool:
        """Whether two texts are near-duplicates."""
        if self._text == other._text:
            return True
        here, there = len(self._text), len(other._text)
        return (
            here >= MIN_RATIO * there
            and there >= MIN_RATIO * here
            and self._max_similarity(other) >= MIN_RATIO
            and _jaccard(self.words, other.words) >= MIN_RATIO
            and self._numbers == other._numbers
            and _jaccard(self._bigrams, other._bigrams) >= DUPLICATE_SIMILARITY
        )

    def _max_similarity(self, other: ComparedText) -> float:
        """An upper bound of the Jaccard similarity of the words, and all of it for few words."""
        both = len(self.words) + len(other.words)
        common = (both - (self._bitmap ^ other._bitmap).bit_count()) / 2
        return common / (both - common) if both else 1.0

    @cached_property
    def _numbers(self) -> frozenset[str]:
        return frozenset(_NUMBER.findall(self._text))

    @cached_property
    def _bigrams(self) -> frozenset[tuple[str, ...]]:
        words = _WORD.findall(self._text.casefold())
        if self._without_blanks:
            words = list("".join(words))
        return frozenset(pairwise(words)) or frozenset([(*words,)])


def _jaccard(left: AbstractSet[object], right: AbstractSet[object]) -> float:
    """Jaccard similarity, 0 to 1; of two empty sets it is 1."""
    common = len(left & right)
    either = len(left) + len(right) - common
    return common / either if either else 1.0
