"""Vectors in memory: the simplest implementation, which serves as a reference."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from operator import mul

from vaultsync.backends.vectors.columns import (
    FilterFields,
    best_by_fact,
    check_dimension,
    chunks_by_fact,
    cosines_by_fact,
    dimension_of,
    index_missing_error,
    not_finite_error,
)
from vaultsync.indexing.ports import NearFact, VectorRow
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.storage.erasure import Traces


class MemoryVectors:
    """A `VectorIndex` in memory."""

    def __init__(self) -> None:
        self._identity: str | None = None
        self._record: str | None = None
        self._rows: dict[tuple[str, str], VectorRow] = {}

    def identity(self) -> str | None:
        return self._identity

    def record(self) -> str | None:
        return self._record

    def reset(self, identity: str) -> None:
        self._identity, self._record, self._rows = identity, None, {}

    def chunks(self, fact_ids: Iterable[str] | None = None) -> Mapping[str, frozenset[str]]:
        wanted = None if fact_ids is None else set(fact_ids)
        return chunks_by_fact(key for key in self._rows if wanted is None or key[0] in wanted)

    def outdated(self, facts: Iterable[Fact]) -> set[str]:
        held = {row.fact.id: FilterFields.of(row.fact) for row in self._rows.values()}
        return {
            fact.id for fact in facts if fact.id in held and held[fact.id] != FilterFields.of(fact)
        }

    def count(self) -> int:
        return len(self.chunks())

    def vectors(self, chunk_ids: Iterable[str]) -> dict[str, Sequence[float]]:
        held = {row.chunk_id: row.vector for row in self._rows.values()}
        return {each: held[each] for each in chunk_ids if each in held}

    def put(
        self, rows: Sequence[VectorRow], *, replace: Iterable[str] = (), record: str | None = None
    ) -> None:
        if self._identity is None:
            raise index_missing_error()
        away = set(replace)
        kept = {key: row for key, row in self._rows.items() if key[0] not in away}
        made = {(row.fact.id, row.chunk_id): row for row in rows}
        first = next(iter(self._rows.values()), None)
        dimension_of(rows, len(first.vector) if first else 0)
        if not all(math.isfinite(each) for row in rows for each in row.vector):
            raise not_finite_error()
        self._rows = kept | made
        self._record = self._record if record is None else record

    def search(
        self, vector: Sequence[float], filters: FactFilters, *, limit: int
    ) -> list[NearFact]:
        rows = [row for row in self._rows.values() if filters.admits(row.fact)]
        found = ((_dot(row, vector), row.fact.id, row.chunk_id) for row in rows)
        return best_by_fact(found)[: max(0, limit)]

    def cosines(self, vector: Sequence[float], fact_ids: Iterable[str]) -> dict[str, list[float]]:
        wanted = set(fact_ids)
        rows = [row for row in self._rows.values() if row.fact.id in wanted]
        return cosines_by_fact((row.fact.id, _dot(row, vector)) for row in rows)

    def tidy(self) -> None:
        """Nothing to do."""

    def erase(self, traces: Traces) -> dict[str, int]:
        self.put([], replace=traces.fact_ids)
        return {}

    def close(self) -> None:
        """Do nothing: no resource is open."""


def _dot(row: VectorRow, vector: Sequence[float]) -> float:
    check_dimension(vector, len(row.vector))
    return math.fsum(map(mul, row.vector, vector))
