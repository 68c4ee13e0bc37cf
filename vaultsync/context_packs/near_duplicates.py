"""Find near-duplicate texts by the Jaccard similarity of their word bigrams.

Two texts are near-duplicates when their resemblance (Broder, *On the resemblance and containment
of documents*, 1997) is at least `DUPLICATE_SIMILARITY`, and when they contain the same numbers:
a fact that says 38 does not repeat one that says 42. Shingles are compared in full, not sampled.
Texts of very different length or vocabulary are ruled out before any bigrams are made.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import pairwise
from math import floor

from vaultsync.model.lazy_pattern import lazy_pattern

DUPLICATE_SIMILARITY = 0.8
_MIN_RATIO = 0.7
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
        self._seen: list[_Text] = []

    def find(self, text: str) -> int | None:
        """The number, from 0, of the first text that this one nearly repeats.

        None when there is none; the text then gets the next number.
        """
        new = _Text(text)
        for number, other in enumerate(self._seen):
            if new.repeats(other):
                return number
        self._seen.append(new)
        return None


def near_duplicate_pairs(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The numbers of all pairs of texts that nearly repeat each other, the earlier one first.

    Blank texts repeat nothing. Two texts are only compared where they share one of their
    rarest words (Chaudhuri, Ganti & Kaushik, *A primitive operator for similarity joins in
    data cleaning*, 2006), which loses no pair.
    """
    compared = [*map(_Text, texts)]
    frequency = Counter(word for each in compared for word in each.words)
    sharing: defaultdict[str, list[int]] = defaultdict(list)
    for number, new in enumerate(compared):
        rarest = sorted(new.words, key=lambda word: (frequency[word], word))
        rarest = rarest[: len(rarest) - floor(_MIN_RATIO * len(rarest)) + 1]
        for other in sorted({each for word in rarest for each in sharing[word]}):
            if new.repeats(compared[other]):
                yield other, number
        for word in rarest:
            sharing[word].append(number)


def merged_text(text: str, other: str) -> str:
    """A text, and after it the lines of another one that are none of its lines.

    Lines are the same when they differ in case, blanks and punctuation alone: what is said
    with another word, such as `not`, may mean something else, and stays.
    """
    seen = {_folded(line) for line in text.split("\n")} | {()}
    added = []
    for line in other.split("\n"):
        if (words := _folded(line)) not in seen:
            seen.add(words)
            added.append(line)
    return "\n".join((text, *added)) if added else text


def _folded(line: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\w+", line.casefold()))


class _Text:
    """A text; its numbers and bigrams are computed when they are needed."""

    def __init__(self, text: str) -> None:
        self._text = text
        words = text.split()
        self._without_blanks = bool(words) and len(text) > _MAX_WORD_LENGTH * len(words)
        self.words = set(text if self._without_blanks else words)
        """Its words; its characters, in a script without blanks."""
        self._bitmap = 0
        for number in {hash(word) % _BITS for word in self.words}:
            self._bitmap |= 1 << number

    def repeats(self, other: _Text) -> bool:
        if self._text == other._text:
            return True
        here, there = len(self._text), len(other._text)
        return (
            here >= _MIN_RATIO * there
            and there >= _MIN_RATIO * here
            and self._max_similarity(other) >= _MIN_RATIO
            and _jaccard(self.words, other.words) >= _MIN_RATIO
            and self._numbers == other._numbers
            and _jaccard(self._bigrams, other._bigrams) >= DUPLICATE_SIMILARITY
        )

    def _max_similarity(self, other: _Text) -> float:
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
