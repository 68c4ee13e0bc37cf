"""Vectors in memory: the simplest implementation, which serves as a reference."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from operator import mul

from vaultsync.backends.vectors.columns import (
    FilterFields,
    check_dimension,
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
        found: dict[str, set[str]] = {}
        for fact_id, chunk_id in self._rows:
            if wanted is None or fact_id in wanted:
                found.setdefault(fact_id, set()).add(chunk_id)
        return {fact_id: frozenset(ids) for fact_id, ids in found.items()}

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
        found: dict[str, NearFact] = {}
        for row in self._rows.values():
            check_dimension(vector, len(row.vector))
            if filters.admits(row.fact):
                cosine = round(min(1.0, max(-1.0, _dot(row.vector, vector))), 6)
                near = NearFact(row.fact.id, row.chunk_id, cosine)
                if _rank(near) < _rank(found.get(row.fact.id, NearFact("", "", -2.0))):
                    found[row.fact.id] = near
        return sorted(found.values(), key=_rank)[: max(0, limit)]

    def cosines(self, vector: Sequence[float], fact_ids: Iterable[str]) -> dict[str, list[float]]:
        told: dict[str, list[float]] = {}
        wanted = set(fact_ids)
        for row in self._rows.values():
            if row.fact.id in wanted:
                check_dimension(vector, len(row.vector))
                cosine = round(min(1.0, max(-1.0, _dot(row.vector, vector))), 6)
                told.setdefault(row.fact.id, []).append(cosine)
        return {key: sorted(cosines, reverse=True) for key, cosines in told.items()}

    def tidy(self) -> None:
        """Nothing to do."""

    def erase(self, traces: Traces) -> dict[str, int]:
        self.put([], replace=traces.fact_ids)
        return {}

    def close(self) -> None:
        """Do nothing: no resource is open."""


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return math.fsum(map(mul, one, other))


def _rank(near: NearFact) -> tuple[float, str, str]:
    return (-near.similarity, near.fact_id, near.chunk_id)
