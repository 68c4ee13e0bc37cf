"""`python -m tests.bench.vectors`: vector search beside one product of numpy.

Prints the table of docs/concepts/vectors.md. All arms answer the same questions in turns.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import numpy as np
import numpy.typing as npt

from tests.bench.measure import p95
from tests.fakes import FakeClock
from vaultsync.backends.qdrant.connection import QdrantConnection
from vaultsync.backends.qdrant.edge import EdgePointCollection
from vaultsync.backends.qdrant.vectors import QdrantVectors
from vaultsync.backends.vectors.lancedb import LanceVectors
from vaultsync.backends.vectors.matrix import MatrixVectors
from vaultsync.indexing.ports import VectorIndex, VectorRow
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters

DIMENSION = 384
QUESTIONS = 40
AT_ONCE = 10_000
PRODUCT, MATRIX, FLAT, INDEXED, EDGE = (
    *("one product of numpy", "matrix", "LanceDB", "LanceDB, IVF_RQ"),
    "Qdrant Edge, int8",
)
EVERYTHING = FactFilters(status=None, heads_only=False)
_SEEN = frozenset({"public", "private-indy"})
"""Two of four scopes."""
FILTERS: Mapping[str, FactFilters] = {
    "": EVERYTHING,
    "half": FactFilters(scopes=_SEEN),
    "filtered": FactFilters(scopes=_SEEN, max_priority=2, tags=frozenset({"a"})),
    "a tenth": FactFilters(scopes=_SEEN, max_priority=0),
}
"""What an agent asks leaves two of eleven; half and a tenth are told of the engine alone,
for its graph was made of all."""

Vectors = npt.NDArray[np.float32]


@dataclass
class Measured:
    """What so many rows cost, and how well they are found."""

    n: int
    seconds: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    """Of each question, by what was asked and the name of the filter."""
    found: dict[tuple[str, str], float] = field(default_factory=dict)
    """The share of the nearest ten that was found."""
    written: dict[str, float] = field(default_factory=dict)
    """Seconds in which all rows were written and made fast to search."""
    bytes: dict[str, float] = field(default_factory=dict)
    """On the disk, of each row."""

    def ratio(self, arm: tuple[str, str]) -> float:
        """How many products of numpy a search took, the middle of all."""
        floor = self.seconds[PRODUCT, ""]
        pairs = zip(self.seconds[arm], floor, strict=True)
        return median(mine / base for mine, base in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=[1_000, 10_000, 100_000])
    print("| rows | | p50 | p95 | × product | of the nearest ten |\n|--:|---|--:|--:|--:|--:|")
    for n in parser.parse_args().sizes:
        with tempfile.TemporaryDirectory() as folder:
            _print(measured(Path(folder), n))


def _print(told: Measured) -> None:
    for name, spent in told.written.items():
        size = f"{told.bytes[name]:,.0f} bytes a row" if name in told.bytes else ""
        print(
            f"| {told.n:,} | {name}, written | {spent / told.n * 1e6:.0f} µs a row | | | {size} |"
        )
    for (name, narrowed), seconds in told.seconds.items():
        arm = (name, narrowed)
        share = f"{told.found[arm]:.3f}" if arm in told.found else ""
        print(
            f"| {told.n:,} | {', '.join(filter(None, arm))}"
            f" | {median(seconds) * 1e3:.2f} ms | {p95(seconds) * 1e3:.2f} ms"
            f" | {told.ratio(arm):.1f} | {share} |",
            flush=True,
        )


def measured(folder: Path, n: int) -> Measured:
    """Write so many rows everywhere, and ask all the same questions."""
    rng = np.random.default_rng(n)
    centres = rng.standard_normal((200, DIMENSION), dtype=np.float32)
    told = Measured(n)
    held, facts = _around(centres, rng, n), _facts(n)
    indexes = _indexes(folder)
    for name, index in indexes.items():
        with _timed(told, name):
            _write(index, facts, held)
        told.bytes[name] = _size(folder / _FOLDERS[name]) / n
    with _timed(told, PRODUCT), (folder / "bare").open("wb") as file:
        held.tofile(file)
        file.flush()
        os.fsync(file.fileno())
    arms = [(MATRIX, narrowed) for narrowed in FILTERS]
    arms += [(EDGE, narrowed) for narrowed in FILTERS]
    arms += [(name, each) for name in (FLAT, INDEXED) for each in ("", "filtered")]
    questions = _around(centres, rng, QUESTIONS)
    found: dict[tuple[str, str], list[set[str]]] = {arm: [] for arm in arms}
    for question in questions:
        began = time.perf_counter()
        _ = held @ question
        spent = time.perf_counter() - began
        told.seconds.setdefault((PRODUCT, ""), []).append(spent)
        for name, narrowed in arms:
            began = time.perf_counter()
            near = indexes[name].search(question.tolist(), FILTERS[narrowed], limit=10)
            spent = time.perf_counter() - began
            told.seconds.setdefault((name, narrowed), []).append(spent)
            found[name, narrowed].append({each.fact_id for each in near})
    exact = {narrowed: found[MATRIX, narrowed] for narrowed in FILTERS}
    for (name, narrowed), answers in found.items():
        shares = [
            len(mine & right) / max(1, len(right))
            for mine, right in zip(answers, exact[narrowed], strict=True)
        ]
        told.found[name, narrowed] = sum(shares) / len(shares)
    for index in indexes.values():
        index.close()
    return told


_FOLDERS = {MATRIX: "matrix", FLAT: "flat", INDEXED: "indexed", EDGE: "edge"}


def _indexes(folder: Path) -> dict[str, VectorIndex | LanceVectors]:
    at = {name: folder / each for name, each in _FOLDERS.items()}
    place = QdrantConnection("edge", "agent_memory_bench", path=at[EDGE])
    points = EdgePointCollection(place, clock=FakeClock())
    return {
        MATRIX: MatrixVectors(at[MATRIX]),
        FLAT: LanceVectors(at[FLAT]),
        INDEXED: LanceVectors(at[INDEXED], index_from=0),
        EDGE: QdrantVectors(points, dimension=lambda: DIMENSION),
    }


def _write(index: VectorIndex | LanceVectors, facts: list[Fact], held: Vectors) -> None:
    index.reset("bench")
    for start in range(0, len(facts), AT_ONCE):
        some = slice(start, start + AT_ONCE)
        pairs = zip(facts[some], held[some], strict=True)
        index.put([VectorRow(fact, fact.id, vector) for fact, vector in pairs])
    index.tidy()


@contextmanager
def _timed(told: Measured, name: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    told.written[name] = time.perf_counter() - began


def _size(folder: Path) -> int:
    """What files take of the disk, but for logs, which are written over again and again."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    blocks = (each.stat().st_blocks for each in files if each.parent.name != "wal")
    return 512 * sum(blocks)


def _around(centres: Vectors, rng: np.random.Generator, n: int) -> Vectors:
    """Vectors of unit length in clusters, as the meanings of texts are."""
    made = centres[rng.integers(0, len(centres), n)]
    made = made + 0.8 * rng.standard_normal((n, DIMENSION), dtype=np.float32)
    found: Vectors = made / np.linalg.norm(made, axis=1, keepdims=True)
    return found


def _facts(n: int) -> list[Fact]:
    clock, rng = FakeClock(), random.Random(n)
    return [
        Fact(
            clock.new_id(),
            scope=rng.choice(["public", "private-indy", "private-ada", "team-x"]),
            priority=rng.randrange(5),
            tags=tuple(rng.sample(["a", "a/b", "c", "d", "e", "f"], 2)),
            created_at=f"2026-0{rng.randrange(1, 9)}-14T13:45:00Z",
        )
        for _ in range(n)
    ]


if __name__ == "__main__":
    main()
