"""The graph of references between files, and PageRank over it.

Files refer to definitions in other files, and a definition ranks as high as the files that refer
to it (Brin and Page, 1998). If there are changed files, half of the jumps go to them. PageRank is
linear in its jump distribution (Jeh and Widom, *Scaling personalized web search*, 2003), so the
ranks for a change are the mean of the global ranks, computed once, and the ranks personalised to
the change, which forward push approximates locally (Andersen, Chung & Lang, *Local graph
partitioning using PageRank vectors*, 2006).
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import sqrt
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from vaultsync.repos.symbols import Definition, family_of

DAMPING = 0.85
PRECISION = 1e-6
"""Of the sum of all ranks, which is 1 or less."""
STEPS = 60
MAX_DEFINERS = 8
"""Number of files that define a name, above which references to it are ignored."""
PUSH_PRECISION = 2e-3
"""The residual below which forward push stops."""
UNSURE = "."
"""The prefix of names of members and local variables, which may mean something else."""
_TELLING, _PRIVATE = 10.0, 0.1
"""Weight factors of distinctive names, and of those that begin with `_`."""
_LONG_NAME = 8
"""Minimum length of a distinctive name, which has several words."""
_ASIDE_JUMP = 0.1
"""The relative jump probability of files such as tests and examples."""
_ASIDE = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__|testdata|testing|fixtures|benchmarks?|bench|examples?"
    r"|vendor|node_modules|third_party|docs?)/|(?:^|/)(?:test_|conftest)|[_.](?:test|spec)\.\w+$"
)


class CodeGraph(Struct, frozen=True, array_like=True):
    """Files and their definitions by number, and which file refers to which definition.

    The numbers are those of the order of `paths`, and of the definitions within them. Arrays
    are kept as their bytes, which load in no time.
    """

    paths: tuple[str, ...]
    blobs: tuple[str, ...]
    languages: tuple[str, ...]
    first_definitions: bytes
    """File -> its first definition; and the number of all at the end. Unsigned integers."""
    first_references: bytes
    """File -> its first reference; and the number of all at the end. Unsigned integers."""
    targets: bytes
    """Reference -> the definition. Unsigned integers."""
    shares: bytes
    """Reference -> its share in all references of its file, from 0 to 1. Floats."""
    ranks: bytes
    """Definition -> its rank. Doubles."""
    order: bytes
    """The definitions, the highest rank first. Unsigned integers."""


class CodeFile(Struct, frozen=True):
    """A file to be put into the graph."""

    path: str
    blob: str
    language: str
    definitions: Sequence[Definition]


class _Definer(NamedTuple):
    """A file with a definition of a name."""

    file: int
    definition: int
    is_member: bool


_Definers: TypeAlias = Mapping[tuple[str, str], Sequence[_Definer]]


def is_telling(name: str) -> bool:
    """Whether a name is long and has several words, so that equal names mean the same thing."""
    return len(name) >= _LONG_NAME and (
        "_" in name.strip("_") or (name != name.lower() and name != name.upper())
    )


def build_graph(files: Sequence[CodeFile], references: Iterable[Mapping[str, int]]) -> CodeGraph:
    """The graph of some files, in time proportional to their definitions and references.

    The `references` are in the order of the `files`, that of their paths, and are read once.
    """
    definers: defaultdict[tuple[str, str], list[_Definer]] = defaultdict(list)
    first_definitions = array("I", [0])
    homes = array("I")
    aside = [_ASIDE.search(file.path) is not None for file in files]
    for number, file in enumerate(files):
        family = family_of(file.language)
        start = first_definitions[-1]
        for place, each in enumerate(file.definitions):
            where = definers[family, each.name]
            if not where or where[-1].file != number:  # an overload is no other definition
                where.append(_Definer(number, start + place, bool(each.parent)))
        homes.extend([number] * len(file.definitions))
        first_definitions.append(start + len(file.definitions))
    first_references, targets, shares = array("I", [0]), array("I"), array("f")
    for number, (file, names) in enumerate(zip(files, references, strict=True)):
        found = _weights(number, family_of(file.language), names, definers)
        if not aside[number]:  # the product does not depend on its tests
            found = [each for each in found if not aside[homes[each[0]]]]
        whole = sum(weight for _, weight in found)
        targets.extend(target for target, _ in found)
        shares.extend(weight / whole for _, weight in found)
        first_references.append(len(targets))
    jumps = [_ASIDE_JUMP if each else 1.0 for each in aside]
    file_ranks = _pagerank(jumps, first_references, targets, shares, homes)
    ranks = array("d", bytes(8 * len(homes)))
    for number, (first, end) in enumerate(pairwise(first_references)):
        for at in range(first, end):
            ranks[targets[at]] += file_ranks[number] * shares[at]
    order = sorted(range(len(homes)), key=lambda d: (-ranks[d], -file_ranks[homes[d]], d))
    return CodeGraph(
        tuple(file.path for file in files),
        tuple(file.blob for file in files),
        tuple(file.language for file in files),
        first_definitions.tobytes(),
        first_references.tobytes(),
        targets.tobytes(),
        shares.tobytes(),
        ranks.tobytes(),
        array("I", order).tobytes(),
    )


def _weights(
    number: int, family: str, names: Mapping[str, int], definers: _Definers
) -> list[tuple[int, float]]:
    """The definitions of other files that a file refers to, with their weights.

    An unsure reference counts only if its name is distinctive. A name that the file defines
    itself most likely refers to that.
    """
    found: defaultdict[int, float] = defaultdict(float)
    for key, count in names.items():
        name = key.removeprefix(UNSURE)
        where = definers.get((family, name), ())
        if not 0 < len(where) <= MAX_DEFINERS or any(each.file == number for each in where):
            continue
        if is_telling(name):
            weight = _TELLING * (_PRIVATE if name.startswith("_") else 1.0)
        elif key == name:
            where = [each for each in where if not each.is_member]
            weight = 1.0
        else:
            continue
        for each in where:
            found[each.definition] += weight * sqrt(count) / len(where)
    return sorted(found.items())


def _pagerank(
    jumps: Sequence[float],
    first: array[int],
    targets: array[int],
    shares: array[float],
    homes: array[int],
) -> list[float]:
    """The ranks of all files. Like forward push, it drops the rank of files without references.

    Args:
        jumps: file -> its relative jump probability.
        first: as `first_references`.
        targets: as `targets`.
        shares: as `shares`.
        homes: definition -> its file.
    """
    flows: list[tuple[int, list[tuple[int, float]]]] = []
    for number, (start, end) in enumerate(pairwise(first)):
        to: defaultdict[int, float] = defaultdict(float)
        for at in range(start, end):
            to[homes[targets[at]]] += shares[at]
        if to:
            flows.append((number, list(to.items())))
    whole = sum(jumps)
    start_ranks = [(1 - DAMPING) * jump / whole for jump in jumps]
    ranks = start_ranks
    for _ in range(STEPS):
        new = [*start_ranks]
        for number, edges in flows:
            rank = DAMPING * ranks[number]
            for target, share in edges:
                new[target] += rank * share
        change = sum(abs(a - b) for a, b in zip(new, ranks, strict=True))
        ranks = new
        if change < PRECISION:
            break
    return ranks


class RankedCode:
    """Definitions of a graph, by rank."""

    def __init__(self, graph: CodeGraph) -> None:
        self.graph = graph
        self._first_definitions = _ints(graph.first_definitions)
        self._first_references = _ints(graph.first_references)
        self._targets = _ints(graph.targets)
        self._shares = array("f", graph.shares)
        self._ranks = array("d", graph.ranks)

    @property
    def definition_count(self) -> int:
        """The number of all definitions."""
        return self._first_definitions[-1]

    def definition_counts(self) -> Iterator[int]:
        """The number of definitions of each file."""
        return (end - start for start, end in pairwise(self._first_definitions))

    def place_of(self, definition: int) -> tuple[int, int]:
        """The file of a definition, and its place among the definitions of the file."""
        file = bisect_right(self._first_definitions, definition) - 1
        return file, definition - self._first_definitions[file]

    def best(self, changed: Collection[str] = ()) -> Iterator[int]:
        """The definitions, the best first.

        The ranks are personalised to the `changed` files and folders; unknown ones are ignored.
        """
        near = self._near(changed)
        scores = {each: near[each] + self._ranks[each] for each in near}
        best = deque(sorted(scores, key=lambda each: (-scores[each], each)))
        for each in _ints(self.graph.order):
            while best and scores[best[0]] >= self._ranks[each]:
                yield best.popleft()
            if each not in scores:
                yield each
        yield from best

    def _near(self, changed: Collection[str]) -> dict[int, float]:
        """The ranks of definitions with all jumps to the changed files, by forward push."""
        given = {each.rstrip("/") for each in changed}
        paths = self.graph.paths if given else ()
        seeds = [at for at, path in enumerate(paths) if _is_in(path, given)]
        rest = dict.fromkeys(seeds, 1 / max(len(seeds), 1))
        waiting = deque(seeds)
        near: defaultdict[int, float] = defaultdict(float)
        while waiting:
            file = waiting.popleft()
            amount = rest.pop(file, 0.0)
            start, end = self._first_references[file : file + 2]
            for at in range(start, end):
                target, flow = self._targets[at], amount * self._shares[at]
                near[target] += (1 - DAMPING) * flow
                home = bisect_right(self._first_definitions, target) - 1
                had = rest.get(home, 0.0)
                rest[home] = had + DAMPING * flow
                if had < PUSH_PRECISION <= rest[home]:
                    waiting.append(home)
        return near


def _is_in(path: str, given: Collection[str]) -> bool:
    """Whether a path, or a folder above it, is one of those given."""
    while path and path not in given:
        path = path.rpartition("/")[0]
    return bool(path)


def _ints(data: bytes) -> array[int]:
    return array("I", data)
