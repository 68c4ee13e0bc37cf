"""Rows for vector indexes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from tests.fakes import FakeClock
from vaultsync.backends.vectors.columns import chunks_by_fact
from vaultsync.backends.vectors.lancedb import LanceVectors
from vaultsync.backends.vectors.local import LocalVectors
from vaultsync.indexing.ports import VectorIndex, VectorRow
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.filters import FactFilters
from vaultsync.model.schema import Value

CLOCK = FakeClock()
IDS = [CLOCK.new_id() for _ in range(600)]
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
ALL = FactFilters(status=None, heads_only=False)
"""A filter that everything passes."""


def a_fact(fact_id: str = IDS[0], **values: Value) -> Fact:
    return make_fact({"id": fact_id, "title": "Tea", **values})


def row(
    fact: Fact | str = IDS[0], chunk: str = "one", vector: tuple[float, ...] = X, **values: Value
) -> VectorRow:
    row_fact = fact if isinstance(fact, Fact) else a_fact(fact, **values)
    return VectorRow(row_fact, chunk, vector)


def unit(*numbers: float) -> tuple[float, ...]:
    length = math.hypot(*numbers)
    return tuple(each / length for each in numbers)


def found(
    index: VectorIndex | LanceVectors,
    filters: FactFilters = ALL,
    *,
    limit: int = 10,
    near: tuple[float, ...] = X,
) -> list[str]:
    return [each.fact_id for each in index.search(near, filters, limit=limit)]


def large(folder: Path) -> LocalVectors:
    """An index that takes any number of rows for many."""
    index = LocalVectors(folder)
    index.index_from = 0
    return index


def table_rows(index: LanceVectors) -> list[dict[str, Any]]:
    """All rows of a table; none if it is missing or damaged."""
    held = index._header()
    if held is None or not held["table"]:
        return []
    try:
        found: list[dict[str, Any]] = index._table.search().limit(10_000).to_arrow().to_pylist()
    except (OSError, RuntimeError, ValueError):
        index._bad = held
        return []
    return found


def holds(index: VectorIndex | LanceVectors) -> tuple[object, ...]:
    """The complete content of an index, or of a copy."""
    identity = index.identity()
    if isinstance(index, LanceVectors):
        rows = table_rows(index)
        chunks = chunks_by_fact((each["fact"], each["chunk"]) for each in rows)
        vectors = {each["chunk"]: each["vector"] for each in rows}
    else:
        chunks = dict(index.chunks())
        vectors = index.vectors(sorted({each for many in chunks.values() for each in many}))
    return (
        identity,
        index.record(),
        chunks,
        {name: tuple(vector) for name, vector in vectors.items()},
        index.search(X, ALL, limit=5) if chunks else [],
    )
