"""Vectors in a collection of Qdrant, in the same collection as the facts: one point per chunk.

The points carry the filterable fields of a fact, so that a search is one request. The store
remains the source of truth: recall reads each fact that a search finds from there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, NamedTuple

from vaultsync.backends.qdrant.commit_log import point_id
from vaultsync.backends.qdrant.operations import (
    POINTS_PER_REQUEST,
    Condition,
    DeletePoints,
    IsEmpty,
    MatchAny,
    NumberRange,
    Payload,
    Point,
    PointCollection,
    PointFilter,
    PointOperation,
    UpsertPoints,
    batches,
)
from vaultsync.backends.vectors.columns import (
    FilterFields,
    best_by_fact,
    check_dimension,
    chunks_by_fact,
    cosine_of,
    cosines_by_fact,
    dimension_of,
    index_missing_error,
    not_finite_error,
)
from vaultsync.errors import DerivedError, StoreUnavailableError
from vaultsync.indexing.ports import NearFact, VectorRow
from vaultsync.model.canonical import FOREVER, NEVER, tag_keys_with_parents, to_microseconds
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.model.inline_tags import all_tags
from vaultsync.model.schema import LOWEST_PRIORITY
from vaultsync.storage.erasure import Traces

CHUNK_FILTER = PointFilter((MatchAny("kind", ["chunk"]),))
_INDEX_RECORD_ID = point_id("vectors")
_NAMES = ("fact", "chunk")
_SCROLL_CHUNKS = 4 * POINTS_PER_REQUEST
"""Number of chunks read at once, with few keys."""
OVER_FETCH = 4
"""Number of chunks requested per fact, because a fact may have several."""
CHUNKS_FETCHED = 16
"""The same, if all chunks of a fact are needed."""


class _VectorsRecord(NamedTuple):
    """The record of all vectors, in its own point."""

    identity: str | None = None
    record: str | None = None
    dimension: int = 0
    """0 until the first row."""

    def point(self) -> Point:
        return Point(_INDEX_RECORD_ID, {"kind": "vectors", **self._asdict()})


@contextmanager
def _as_index_errors() -> Iterator[None]:
    """Raise `DerivedError` if the store is unavailable: recall continues without vectors."""
    try:
        yield
    except StoreUnavailableError as error:
        raise DerivedError(
            f"the vectors are unavailable: {error.why}", hint="the next run adds what is missing"
        ) from error


class QdrantVectors:
    """A `VectorIndex` whose rows are points with the vector of a chunk."""

    def __init__(self, points: PointCollection, *, dimension: Callable[[], int]) -> None:
        self._points = points
        self._dimension = dimension

    def identity(self) -> str | None:
        return self._book().identity

    def record(self) -> str | None:
        return self._book().record

    @_as_index_errors()
    def _book(self) -> _VectorsRecord:
        if not self._points.exists():
            return _VectorsRecord()
        found = self._points.take([_INDEX_RECORD_ID], _VectorsRecord._fields)
        return _VectorsRecord(**found.get(_INDEX_RECORD_ID, {}))

    @_as_index_errors()
    def reset(self, identity: str) -> None:
        """Delete everything; until that is done, the index has no identity."""
        if not self._points.exists():
            self._points.make(self._dimension())
        empty, begun = _VectorsRecord(), _VectorsRecord(identity)
        self._points.do([UpsertPoints([empty.point()]), DeletePoints(CHUNK_FILTER)])
        self._points.do([UpsertPoints([begun.point()])])

    def chunks(self, fact_ids: Iterable[str] | None = None) -> Mapping[str, frozenset[str]]:
        held = self._held(fact_ids, _NAMES)
        return chunks_by_fact((payload["fact"], payload["chunk"]) for payload in held)

    def outdated(self, facts: Iterable[Fact]) -> set[str]:
        now = {fact.id: _fields_hash(fact) for fact in facts}
        return {
            payload["fact"]
            for payload in self._held(now, (*_NAMES, "seal"))
            if payload.get("seal") != now[payload["fact"]]
        }

    @_as_index_errors()
    def count(self) -> int:
        if not self._points.exists():
            return 0
        return self._points.count(PointFilter((*CHUNK_FILTER.must, MatchAny("first", [1]))))

    @_as_index_errors()
    def vectors(self, chunk_ids: Iterable[str]) -> dict[str, Sequence[float]]:
        dimension = self._book().dimension
        found: dict[str, Sequence[float]] = {}
        for batch in batches(chunk_ids) if dimension else ():
            where = PointFilter((*CHUNK_FILTER.must, MatchAny("chunk", batch)))
            found |= self._points.vectors(where, "chunk", dimension)
        return found

    @_as_index_errors()
    def put(
        self, rows: Sequence[VectorRow], *, replace: Iterable[str] = (), record: str | None = None
    ) -> None:
        """Not atomic: the record is written last."""
        book = self._book()
        if book.identity is None:
            raise index_missing_error()
        known = book.dimension
        replaced = list(dict.fromkeys(replace))
        if not rows and known and not self.count():
            known = 0
        dimension = dimension_of(rows, known)
        if not all(math.isfinite(each) for row in rows for each in row.vector):
            raise not_finite_error()
        points = {point_id(f"chunk {row.fact.id} {row.chunk_id}"): row for row in rows}
        if dimension and dimension not in self._points.dimensions():
            self._points.add_dimension(dimension)
        firsts = self._firsts(rows, set(replaced))
        put = [self._point(key, row, firsts) for key, row in points.items()]
        steps: list[PointOperation] = [UpsertPoints(put)]
        for batch in batches(replaced):
            where = PointFilter(
                (*CHUNK_FILTER.must, MatchAny("fact", batch)), must_not=tuple(points)
            )
            steps.append(DeletePoints(where))
        noted = book.record if record is None else record
        book = book._replace(record=noted, dimension=dimension)
        steps.append(UpsertPoints([book.point()]))
        self._points.do(steps)

    def _firsts(self, rows: Sequence[VectorRow], replaced: set[str]) -> dict[str, str]:
        """The chunk of each fact by which facts are counted."""
        added = {row.fact.id for row in rows} - replaced
        held = {
            payload["fact"]: payload["chunk"]
            for payload in self._held(added, (*_NAMES, "first"))
            if payload.get("first")
        }
        firsts: dict[str, str] = {}
        for row in rows:
            firsts.setdefault(row.fact.id, row.chunk_id)
        return firsts | held

    def _point(self, key: str, row: VectorRow, firsts: Mapping[str, str]) -> Point:
        fact = row.fact
        payload: dict[str, Any] = {
            "kind": "chunk",
            "fact": fact.id,
            "chunk": row.chunk_id,
            "first": int(firsts[fact.id] == row.chunk_id),
            "seal": _fields_hash(fact),
            "userId": fact.user_id,
            "scope": fact.scope,
            "type": fact.type,
            "status": fact.status,
            "priority": fact.priority,
            "supersededById": fact.superseded_by_id or None,
            "made": to_microseconds(fact.created_at),
            "above": sorted(tag_keys_with_parents(all_tags(fact))),
        }
        if home := self._points.home(fact.scope):
            payload["home"] = home
        return Point(key, payload, row.vector)

    @_as_index_errors()
    def search(
        self, vector: Sequence[float], filters: FactFilters, *, limit: int
    ) -> list[NearFact]:
        dimension = self._book().dimension
        if not dimension or limit < 1 or filters.scopes == frozenset():
            return []
        check_dimension(vector, dimension)
        where = PointFilter((*CHUNK_FILTER.must, *filter_conditions(filters)))
        asked = max(64, OVER_FETCH * limit)
        while True:
            found = self._points.search(vector, where, _NAMES, limit=asked)
            ranked = best_by_fact(
                (each.score, each.payload["fact"], each.payload["chunk"])
                for each in found
                if _is_named(each.payload)
            )
            # Ties at the limit are ordered by id, so read all of them.
            last = cosine_of(found[-1].score) if found else -2.0
            enough = len(ranked) >= limit and last < ranked[limit - 1].similarity
            if enough or len(found) < asked:
                return ranked[:limit]
            asked *= 4

    @_as_index_errors()
    def cosines(self, vector: Sequence[float], fact_ids: Iterable[str]) -> dict[str, list[float]]:
        dimension = self._book().dimension
        grouped: dict[str, list[float]] = {}
        for batch in batches(fact_ids) if dimension else ():
            check_dimension(vector, dimension)
            where = PointFilter((*CHUNK_FILTER.must, MatchAny("fact", batch)))
            asked = max(64, CHUNKS_FETCHED * len(batch))
            while len(found := self._points.search(vector, where, _NAMES, limit=asked)) == asked:
                asked *= 4
            named = (each for each in found if _is_named(each.payload))
            grouped |= cosines_by_fact((each.payload["fact"], each.score) for each in named)
        return grouped

    @_as_index_errors()
    def tidy(self) -> None:
        self._points.tidy()

    def erase(self, traces: Traces) -> dict[str, int]:
        """Delete the chunks of facts, as an `Erasable`; the store compacts the files."""
        held = self.chunks(traces.fact_ids)
        if held:
            self.put([], replace=held)
        return {"vectors": sum(map(len, held.values()))}

    def close(self) -> None:
        self._points.close()

    def _held(self, fact_ids: Iterable[str] | None, fields: Sequence[str]) -> Iterator[Payload]:
        """The payloads of all chunks, or of the chunks of some facts; damaged ones are missing."""
        asked: Iterable[tuple[Condition, ...]] = (
            [()]
            if fact_ids is None
            else ((MatchAny("fact", batch),) for batch in batches(fact_ids))
        )
        with _as_index_errors():
            if not self._points.exists():
                return
            for more in asked:
                where = PointFilter((*CHUNK_FILTER.must, *more))
                found = self._points.walk_all(where, fields, at_once=_SCROLL_CHUNKS)
                yield from (payload for _, payload in found if _is_named(payload))


def _is_named(payload: Payload) -> bool:
    """Whether a payload names its fact and its chunk, as one that was not damaged does."""
    return all(isinstance(payload.get(key), str) for key in _NAMES)


def filter_conditions(filters: FactFilters) -> list[Condition]:
    """The filters as conditions on the point of a chunk."""
    conditions: list[Condition] = [
        MatchAny(field, sorted(words)) for field, words in filters.words.items()
    ]
    if filters.max_priority < LOWEST_PRIORITY:
        conditions.append(NumberRange("priority", most=filters.max_priority))
    if filters.heads_only:
        # Qdrant does not support `match: null`.
        conditions.append(IsEmpty("supersededById"))
    if filters.user is not None:
        conditions.append(MatchAny("userId", [filters.user]))
    first, until = filters.moments
    if first > NEVER:
        conditions.append(NumberRange("made", least=first))
    if until < FOREVER:
        conditions.append(NumberRange("made", below=until))
    conditions += [MatchAny("above", [tag]) for tag in sorted(filters.plain_tags)]
    return conditions


def _fields_hash(fact: Fact) -> str:
    *plain, tags = FilterFields.of(fact)
    text = repr((plain, tags, fact.user_id))
    return sha256(text.encode()).hexdigest()[:16]
