"""German compounds: *Steuererklärung* for *Erklärung* and *Steuer*, and the reverse.

German joins nouns to one word, perhaps with letters between them. Keyword search finds whole
words, so a question also gets the compounds and the parts that occur in the index.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import TypeAlias

MAX_COMPOUNDS = 8
"""Maximum number of compounds for one word."""
_LEAST = 4
"""Minimum number of letters of a part."""
_SURE = 5
"""With fewer letters, a word is part of a compound only if its other part is known, too."""
_LONG = 6
"""Minimum number of letters of a first part whose other part no fact has; of a last part, one
more: *achten* in *Weihnachten* is none."""
_LINKS = ("", "s", "es", "n", "en", "er", "e")
"""Letters between two parts."""
_DERIVING = ("lich", "isch", "keit", "heit", "haft", "schaft", "igkeit", "weise")
"""Endings that make an adjective or a noun of a word, and no compound."""
_NOUN = "ung"
"""The ending of a noun for what a verb names."""
_PARTICLES = frozenset(
    ("durch", "gegen", "hinter", "nieder", "uber", "unter", "voll", "wider", "wieder", "zuruck")
)
"""Prefixes of verbs, which then mean something else."""

FactsWith: TypeAlias = Callable[[Iterable[str]], Mapping[str, int]]
"""Words -> the number of facts with each, as `NoteIndex.facts_with()`."""


class Vocabulary:
    """The terms of an index, as one text: searching it takes a hundredth of the time of a loop."""

    def __init__(self, terms: Iterable[str]) -> None:
        self._text = "\n".join(("", *sorted(set(terms)), ""))

    def beginning_with(self, word: str) -> Iterator[str]:
        """The terms that begin with a word, in any order."""
        at = self._text.find(f"\n{word}")
        while at >= 0:
            end = self._text.index("\n", at + 1)
            yield self._text[at + 1 : end]
            at = self._text.find(f"\n{word}", end)

    def ending_with(self, word: str) -> Iterator[str]:
        """The terms that end with a word, in any order."""
        at = self._text.find(f"{word}\n")
        while at >= 0:
            end = at + len(word)
            yield self._text[self._text.rindex("\n", 0, at + 1) + 1 : end]
            at = self._text.find(f"{word}\n", end)


def other_form(stem: str) -> str:
    """The stem of the noun for what a verb's stem names, or the reverse: *Leitung*, *Leiter*."""
    return stem.removesuffix(_NOUN) if stem.endswith(_NOUN) else stem + _NOUN


def parts_of(word: str, facts_with: FactsWith) -> tuple[str, ...]:
    """The two parts of a compound, if facts have both; of several, with the longest last part.

    The last part may have its `other_form()` in facts.

    Args:
        word: in lower case, without accents.
        facts_with: of the index.
    """
    splits = [
        (word[: at - len(link)], word[at:])
        for at in range(_LEAST, len(word) - _LEAST + 1)
        for link in _LINKS
        if word[:at].endswith(link) and at - len(link) >= _LEAST
    ]
    splits += [(first, other_form(last)) for first, last in splits if last.endswith(_NOUN)]
    counts = facts_with({*chain.from_iterable(splits)})
    return next((each for each in splits if all(map(counts.__getitem__, each))), ())


def part_of(word: str, facts_with: FactsWith) -> tuple[str, ...]:
    """The last part of a compound, or else the first, that facts have though not the other one.

    Args: as for `parts_of()`.
    """
    ends = range(len(word) - _LEAST, _LONG - 1, -1)
    last = [word[-length:] for length in ends if length > _LONG]
    first = [word[: at - len(link)] for at in ends for link in _LINKS if word[:at].endswith(link)]
    possible = [*last, *(each for each in first if len(each) >= _LONG)]
    counts = facts_with(possible)
    return next(((each,) for each in possible if counts[each]), ())


def compounds_with(
    word: str,
    last: str,
    vocabulary: Vocabulary,
    facts_with: FactsWith,
    *,
    beside: Collection[str] = (),
) -> list[str]:
    """The compounds that begin or end with a word, those of most facts first.

    Args:
        word: in lower case, without accents.
        last: its stem as the end of a compound, which may be shorter than its own: *plan* of
            *planung*.
        vocabulary: of the index.
        facts_with: of the index.
        beside: stems of the other words of the question, which are known as parts.
    """
    if len(word) < _LEAST:
        return []
    found: dict[str, list[str]] = {}
    for term in vocabulary.beginning_with(word):
        found[term] = [*_last_parts(term[len(word) :])]
    for end in {each for each in (word, last) if len(each) >= _LEAST}:
        for term in vocabulary.ending_with(end):
            found.setdefault(term, []).extend(_first_parts(term[: len(term) - len(end)]))
    if len(word) < _SURE:
        counts = facts_with({*chain.from_iterable(found.values())})
        found = {
            term: [each for each in parts if each in beside or counts[each]]
            for term, parts in found.items()
        }
    counts = facts_with(term for term, parts in found.items() if parts)
    return sorted(counts, key=lambda term: (-counts[term], term))[:MAX_COMPOUNDS]


def _last_parts(rest: str) -> Iterator[str]:
    """What may be the last part of a compound, with and without letters between."""
    if not rest.startswith(_DERIVING):
        parts = (rest[len(link) :] for link in _LINKS if rest.startswith(link))
        yield from (each for each in parts if len(each) >= _LEAST)


def _first_parts(rest: str) -> Iterator[str]:
    """What may be the first part of a compound, with and without letters between."""
    if rest not in _PARTICLES:
        parts = (rest[: len(rest) - len(link)] for link in _LINKS if rest.endswith(link))
        yield from (each for each in parts if len(each) >= _LEAST)
