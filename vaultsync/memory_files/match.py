"""Which fact a section of a memory file is, when sections were moved, renamed and edited.

The file has no ids. So a section is the fact that said the same (a moved section), else
the one that said it under another heading (a renamed one), else the one under the same
heading (an edited one), else the one that is most like it. Among equals the order in the
file decides: two equal sections are two facts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from vaultsync.memory_files.sections import MemorySection, hash_of

K = TypeVar("K")
V = TypeVar("V")

MIN_SHARED_WORDS = 0.5
"""The share of words that two texts have in common to be taken for one that was edited."""
MAX_COMPARED_PAIRS = 10_000
"""Pairs that are compared; beyond them likeness is not looked for."""


@dataclass(frozen=True, slots=True)
class KnownSection:
    """A fact that came from the file."""

    id: str
    hash: str
    """Of heading and content, as the file last said them."""
    body: str
    """Of the content alone."""
    title: str
    content: str = ""
    """What it says now; empty when it is not known."""


def match_sections(
    sections: Sequence[MemorySection], known: Sequence[KnownSection]
) -> dict[int, str]:
    """The ids of the facts that sections are, by the sections' numbers.

    What is missing in it is new; each fact is there once at most.
    """
    work = _SectionMatcher(sections, known)
    work.by(lambda section: section.hash, lambda fact: fact.hash)
    # A heading without content says nothing below it that could be found again.
    work.by(
        lambda section: hash_of(section.content) if section.content else None,
        lambda fact: fact.body,
    )
    work.by_heading()
    work.by_likeness()
    return work.found


class _SectionMatcher:
    def __init__(self, sections: Sequence[MemorySection], known: Sequence[KnownSection]) -> None:
        self.found: dict[int, str] = {}
        self._new = dict(enumerate(sections))
        self._old = {fact.id: fact for fact in known}

    def _take(self, number: int, fact_id: str) -> None:
        self.found[number] = fact_id
        del self._new[number], self._old[fact_id]

    def by(
        self,
        of_section: Callable[[MemorySection], Hashable],
        of_fact: Callable[[KnownSection], Hashable],
    ) -> None:
        """Those with the same key, in the order of the file; None is no key."""
        waiting = _grouped((of_fact(fact), fact.id) for fact in self._old.values())
        for number, section in list(self._new.items()):
            key = of_section(section)
            if key is not None and (ids := waiting.get(key)):
                self._take(number, ids.pop(0))

    def by_heading(self) -> None:
        """Those with the same title; of several, first those that are most alike."""
        olds = _grouped((fact.title, fact.id) for fact in self._old.values())
        news = _grouped((each.title, number) for number, each in self._new.items())
        for title in news.keys() & olds.keys():
            if len(news[title]) > 1 or len(olds[title]) > 1:
                self._alike(news[title], olds[title], 0.0)
        self.by(lambda section: section.title, lambda fact: fact.title)

    def by_likeness(self) -> None:
        """Those that share many words."""
        self._alike(list(self._new), list(self._old), MIN_SHARED_WORDS)

    def _alike(self, news: list[int], olds: list[str], least: float) -> None:
        if len(news) * len(olds) > MAX_COMPARED_PAIRS:
            return
        words = {number: _words(self._new[number].content) for number in news}
        others = {fact_id: _words(self._old[fact_id].content) for fact_id in olds}
        pairs = [
            (-share, number, at, fact_id)
            for number in news
            for at, fact_id in enumerate(olds)
            if (share := _share(words[number], others[fact_id])) > least
        ]
        for _, number, _, fact_id in sorted(pairs):
            if number in self._new and fact_id in self._old:
                self._take(number, fact_id)


def _grouped(pairs: Iterable[tuple[K, V]]) -> Mapping[K, list[V]]:
    groups: dict[K, list[V]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return groups


def _words(text: str) -> Counter[str]:
    return Counter(text.lower().split())


def _share(one: Counter[str], other: Counter[str]) -> float:
    most = max(one.total(), other.total())
    return (one & other).total() / most if most else 0.0
