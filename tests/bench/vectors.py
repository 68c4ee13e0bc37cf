"""`python -m tests.bench.vectors`: vector search beside one product of numpy.

Prints the table of docs/concepts/vectors.md. All arms answer the same questions in turns.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median

import numpy as np
import numpy.typing as npt

from tests.fakes import FakeClock
from vaultsync.adapters.qdrant_edge_points import EdgePoints
from vaultsync.adapters.qdrant_place import QdrantPlace
from vaultsync.adapters.qdrant_vectors import QdrantVectors
from vaultsync.adapters.vectors_lancedb import LanceVectors
from vaultsync.adapters.vectors_matrix import MatrixVectors
from vaultsync.core.fact import Fact
from vaultsync.ports import Filters, Near, VectorIndex, VectorRow

DIMENSION = 384
QUESTIONS = 40
AT_ONCE = 10_000
EVERYTHING = Filters(status=None, heads_only=False)
AN_AGENTS = Filters(
    scopes=frozenset({"public", "private-indy"}), max_priority=2, tags=frozenset({"a"})
)

Vectors = npt.NDArray[np.float32]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=[1_000, 10_000, 100_000])
    print(
        "| rows | | p50 | p95 | × product | of the nearest ten |\n|--:|---|--:|--:|--:|--:|"
    )
    for n in parser.parse_args().sizes:
        with tempfile.TemporaryDirectory() as folder:
            _measure(n, Path(folder))


def _measure(n: int, folder: Path) -> None:
    rng = np.random.default_rng(n)
    centres = rng.standard_normal((200, DIMENSION), dtype=np.float32)
    place = QdrantPlace("edge", "agent_memory_bench", path=folder / "edge")
    edge = QdrantVectors(
        EdgePoints(place, clock=FakeClock()), dimension=lambda: DIMENSION
    )
    matrix = MatrixVectors(folder / "matrix")
    flat = LanceVectors(folder / "flat")
    indexed = LanceVectors(folder / "indexed", index_from=0)
    for index in (matrix, flat, indexed, edge):
        index.reset("bench")
    spent: dict[VectorIndex, float] = {}
    held = _around(centres, rng, n)
    facts = _facts(n)
    for start in range(0, n, AT_ONCE):
        rows = [
            VectorRow(fact, fact.id, vector)
            for fact, vector in zip(
                facts[start : start + AT_ONCE],
                held[start : start + AT_ONCE],
                strict=True,
            )
        ]
        for index in (matrix, flat, indexed, edge):
            began = time.perf_counter()
            index.put(rows)
            spent[index] = spent.get(index, 0.0) + time.perf_counter() - began
    for index in (matrix, flat, indexed, edge):
        began = time.perf_counter()
        index.tidy()
        spent[index] += time.perf_counter() - began
    _tell_writes(n, folder, {"matrix": matrix, "flat": flat, "edge": edge}, spent)
    questions = _around(centres, rng, QUESTIONS)

    def by(index: VectorIndex, filters: Filters) -> Callable[[Vectors], list[Near]]:
        return lambda vector: index.search(vector.tolist(), filters, limit=10)

    arms: dict[str, Callable[[Vectors], object]] = {
        "one product of numpy": lambda vector: held @ vector,
        "matrix": by(matrix, EVERYTHING),
        "matrix, filtered": by(matrix, AN_AGENTS),
        "LanceDB": by(flat, EVERYTHING),
        "LanceDB, filtered": by(flat, AN_AGENTS),
        "LanceDB, IVF_RQ": by(indexed, EVERYTHING),
        "LanceDB, IVF_RQ, filtered": by(indexed, AN_AGENTS),
        "Qdrant Edge, int8": by(edge, EVERYTHING),
        "Qdrant Edge, int8, filtered": by(edge, AN_AGENTS),
    }
    times: dict[str, list[float]] = {name: [] for name in arms}
    found: dict[str, list[set[str]]] = {name: [] for name in arms}
    for question in questions:
        for name, ask in arms.items():
            began = time.perf_counter()
            answer = ask(question)
            times[name].append(time.perf_counter() - began)
            if isinstance(answer, list):
                found[name].append({near.fact_id for near in answer})
    floor = times["one product of numpy"]
    for name, seconds in times.items():
        exact = found["matrix, filtered" if "filtered" in name else "matrix"]
        shares = [
            len(mine & right) / max(1, len(right))
            for mine, right in zip(found[name], exact, strict=False)
        ]
        ratio = median(mine / base for mine, base in zip(seconds, floor, strict=True))
        print(
            f"| {n:,} | {name} | {median(seconds) * 1e3:.2f} ms"
            f" | {sorted(seconds)[int(0.95 * QUESTIONS)] * 1e3:.2f} ms | {ratio:.1f}"
            f" | {f'{sum(shares) / len(shares):.3f}' if shares else ''} |",
            flush=True,
        )


def _tell_writes(
    n: int,
    folder: Path,
    indexes: Mapping[str, VectorIndex],
    spent: Mapping[VectorIndex, float],
) -> None:
    """What putting took, with what makes searching fast, and what lies on the disk."""
    for name, index in indexes.items():
        size = sum(p.stat().st_size for p in (folder / name).rglob("*") if p.is_file())
        if name == "edge":  # the log is made of files of 32 MiB, however few the rows
            size -= sum(p.stat().st_size for p in folder.rglob("wal/*"))
        print(
            f"| {n:,} | {name}, written | {spent[index] / n * 1e6:.0f} µs a row |"
            f" | | {size / n:,.0f} bytes a row |",
            flush=True,
        )


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
