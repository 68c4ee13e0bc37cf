"""Find the facts that nearly repeat each other among many, and merge their texts."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from math import floor

from vaultsync.context_packs.near_duplicates import MIN_RATIO, ComparedText

_WORDS_BEFORE, _WORDS_AFTER = 4, 8
"""The words quoted before and after the place where two texts begin to differ."""


def near_duplicate_pairs(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The numbers of all pairs of texts that nearly repeat each other, the earlier one first.

    Blank texts repeat nothing. Two texts are only compared where they share one of their
    rarest words (Chaudhuri, Ganti & Kaushik, *A primitive operator for similarity joins in
    data cleaning*, 2006), which loses no pair.
    """
    compared = [*map(ComparedText, texts)]
    frequency = Counter(word for each in compared for word in each.words)
    sharing: defaultdict[str, list[int]] = defaultdict(list)
    for number, new in enumerate(compared):
        rarest = sorted(new.words, key=lambda word: (frequency[word], word))
        rarest = rarest[: len(rarest) - floor(MIN_RATIO * len(rarest)) + 1]
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


def differing_parts(text: str, other: str) -> tuple[str, str]:
    """The words of each text where it begins to differ from the other, as a short quotation."""
    one, two = text.split(), other.split()
    pairs = enumerate(zip(one, two, strict=False))
    at = next((n for n, (mine, its) in pairs if mine != its), min(len(one), len(two)))
    return _part(one, at), _part(two, at)


def _part(words: Sequence[str], at: int) -> str:
    shown = slice(max(0, at - _WORDS_BEFORE), at + _WORDS_AFTER)
    before, after = "… " * (shown.start > 0), " …" * (shown.stop < len(words))
    return before + " ".join(words[shown]) + after


def _folded(line: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\w+", line.casefold()))
