"""Rows for vector indexes."""

from __future__ import annotations

import math

from tests.fakes import FakeClock
from vaultsync.backends.vectors.columns import chunks_by_fact
from vaultsync.backends.vectors.lancedb import LanceVectors
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


def holds(index: VectorIndex | LanceVectors) -> tuple[object, ...]:
    """The complete content of an index, or of a copy."""
    identity = index.identity()
    if isinstance(index, LanceVectors):
        rows = [row for page in index.rows() for row in page]
        chunks = chunks_by_fact((each.fact.id, each.chunk_id) for each in rows)
        vectors = {each.chunk_id: each.vector for each in rows}
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
