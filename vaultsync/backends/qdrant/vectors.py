"""Vectors in a collection of Qdrant, beside the facts they are of: a point for each chunk.

The points carry what filters ask of a fact, so that a search is one request. Nothing here
is a second truth: recall asks the store for each fact that a search names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from itertools import islice
from typing import Any

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
)
from vaultsync.backends.vectors.columns import (
    check_dimension,
    dimension_of,
    filterable_fields,
    index_missing_error,
    not_finite_error,
)
from vaultsync.errors import DerivedError, StoreUnavailableError
from vaultsync.indexing.ports import NearFact, VectorRow
from vaultsync.model.canonical import FOREVER, NEVER, tag_keys_with_parents, to_microseconds
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.model.schema import LOWEST_PRIORITY

CHUNK_FILTER = PointFilter((MatchAny("kind", ["chunk"]),))
_INDEX_RECORD_ID = point_id("vectors")
"""The point that says of which model the vectors are, and what their owner noted."""
_SCROLL_CHUNKS = 4 * POINTS_PER_REQUEST
"""Chunks of which something is read at once: a few words of each."""
OVER_FETCH = 4
"""Chunks that are asked for, for each fact that is wanted: a fact may have several."""


class QdrantVectors:
    """A `VectorIndex` whose rows are points with the vector of a chunk."""

    def __init__(
        self, points: PointCollection, *, dimension: Callable[[], int] = lambda: 384
    ) -> None:
        self._points = points
        self._dimension = dimension

    def identity(self) -> str | None:
        found: str | None = self._book().get("identity")
        return found

    def record(self) -> str | None:
        found: str | None = self._book().get("record")
        return found

    def _book(self) -> Payload:
        with _as_index_errors():
            if not self._points.exists():
                return {}
            return self._points.take([_INDEX_RECORD_ID]).get(_INDEX_RECORD_ID, {})

    def reset(self, identity: str) -> None:
        """Forget everything. In between it is an index without identity."""
        with _as_index_errors():
            if not self._points.exists():
                self._points.make(self._dimension())
            self._points.do([UpsertPoints([_index_record(None)]), DeletePoints(CHUNK_FILTER)])
            self._points.do([UpsertPoints([_index_record(identity)])])

    def chunks(self, fact_ids: Iterable[str] | None = None) -> Mapping[str, frozenset[str]]:
        found: dict[str, set[str]] = {}
        for payload in self._held(fact_ids, ("fact", "chunk")):
            found.setdefault(payload["fact"], set()).add(payload["chunk"])
        return {fact_id: frozenset(ids) for fact_id, ids in found.items()}

    def outdated(self, facts: Iterable[Fact]) -> set[str]:
        now = {fact.id: _fields_hash(fact) for fact in facts}
        return {
            payload["fact"]
            for payload in self._held(now, ("fact", "seal"))
            if payload["seal"] != now[payload["fact"]]
        }

    def count(self) -> int:
        with _as_index_errors():
            if not self._points.exists():
                return 0
            return self._points.count(PointFilter((*CHUNK_FILTER.must, MatchAny("first", [1]))))

    def vectors(self, chunk_ids: Iterable[str]) -> dict[str, Sequence[float]]:
        dimension = int(self._book().get("dimension") or 0)
        if not dimension:
            return {}
        found: dict[str, Sequence[float]] = {}
        with _as_index_errors():
            for some in _pages(chunk_ids):
                where = PointFilter((*CHUNK_FILTER.must, MatchAny("chunk", some)))
                found |= self._points.vectors(where, "chunk", dimension)
        return found

    def put(
        self, rows: Sequence[VectorRow], *, replace: Iterable[str] = (), record: str | None = None
    ) -> None:
        """Add rows; those of the facts in `replace` go, and the record comes last."""
        book = self._book()
        if book.get("identity") is None:
            raise index_missing_error()
        known = int(book.get("dimension") or 0)
        away = list(dict.fromkeys(replace))
        if not rows and known and not self.count():
            known = 0
        dimension = dimension_of(rows, known)
        if not all(math.isfinite(each) for row in rows for each in row.vector):
            raise not_finite_error()
        made = {_id(row): row for row in rows}
        with _as_index_errors():
            if dimension and dimension not in self._points.dimensions():
                self._points.add_dimension(dimension)
            firsts = self._firsts(rows, set(away))
            put = [_point(key, row, firsts) for key, row in made.items()]
            steps: list[PointOperation] = [UpsertPoints(put)] if put else []
            for some in _pages(away):
                where = PointFilter(
                    (*CHUNK_FILTER.must, MatchAny("fact", some)), must_not=tuple(made)
                )
                steps.append(DeletePoints(where))
            told = book.get("record") if record is None else record
            steps.append(UpsertPoints([_index_record(book["identity"], told, dimension)]))
            self._points.do(steps)

    def _firsts(self, rows: Sequence[VectorRow], away: set[str]) -> dict[str, str]:
        """Which chunk of each fact stands for it where facts are counted."""
        added = {row.fact.id for row in rows} - away
        held = {
            payload["fact"]: payload["chunk"]
            for payload in self._held(added, ("fact", "chunk", "first"))
            if payload["first"]
        }
        made: dict[str, str] = {}
        for row in rows:
            made.setdefault(row.fact.id, row.chunk_id)
        return made | held

    def search(
        self, vector: Sequence[float], filters: FactFilters, *, limit: int
    ) -> list[NearFact]:
        dimension = int(self._book().get("dimension") or 0)
        if not dimension or limit < 1 or filters.scopes == frozenset():
            return []
        check_dimension(vector, dimension)
        where = PointFilter((*CHUNK_FILTER.must, *filter_conditions(filters)))
        asked = max(64, OVER_FETCH * limit)
        while True:
            with _as_index_errors():
                found = self._points.search(vector, where, ("fact", "chunk"), limit=asked)
            near = [
                NearFact(
                    each.payload["fact"],
                    each.payload["chunk"],
                    round(min(1.0, max(-1.0, each.score)), 6),
                )
                for each in found
            ]
            best: dict[str, NearFact] = {}
            for each in sorted(near, key=_rank):
                best.setdefault(each.fact_id, each)
            ranked = list(best.values())
            # Of equals at the edge the smaller id comes first: see all of them.
            last = near[-1].similarity if near else -2.0
            enough = len(ranked) >= limit and last < ranked[limit - 1].similarity
            if enough or len(found) < asked:
                return ranked[:limit]
            asked *= 4

    def tidy(self) -> None:
        """The server does it by itself; an engine in this process is told to."""
        tidy = getattr(self._points, "tidy", None)
        if tidy is not None:
            with _as_index_errors():
                tidy()

    def close(self) -> None:
        self._points.close()

    def _held(self, fact_ids: Iterable[str] | None, fields: Sequence[str]) -> Iterator[Payload]:
        """The payloads of all chunks, or of those of some facts."""
        asked: Iterable[tuple[Condition, ...]] = (
            [()] if fact_ids is None else ((MatchAny("fact", some),) for some in _pages(fact_ids))
        )
        with _as_index_errors():
            if not self._points.exists():
                return
            for more in asked:
                where, after = PointFilter((*CHUNK_FILTER.must, *more)), ""
                while page := self._points.walk(where, fields, after=after, limit=_SCROLL_CHUNKS):
                    for key, payload in page:
                        yield payload
                        after = key
                    if len(page) < _SCROLL_CHUNKS:
                        break


@contextmanager
def _as_index_errors() -> Iterator[None]:
    """A store that is away is an index that cannot be asked: an answer is poorer."""
    try:
        yield
    except StoreUnavailableError as away:
        raise DerivedError(
            f"the vectors do not answer: {away.why}",
            hint="what is missing now is taken up by the next pass",
        ) from away


def filter_conditions(filters: FactFilters) -> list[Condition]:
    """What filters ask, of a chunk's point. There is no head but one without successor."""
    made: list[Condition] = []
    if filters.max_priority < LOWEST_PRIORITY:
        made.append(NumberRange("priority", most=filters.max_priority))
    if filters.scopes is not None:
        made.append(MatchAny("scope", sorted(filters.scopes)))
    if filters.types:
        made.append(MatchAny("type", sorted(filters.types)))
    if filters.status is not None:
        made.append(MatchAny("status", [filters.status]))
    if filters.heads_only:
        # Not `match: null`, as in seed 001: Qdrant does not know that.
        made.append(IsEmpty("supersededById"))
    if filters.user is not None:
        made.append(MatchAny("userId", [filters.user]))
    first, until = filters.moments
    if first > NEVER:
        made.append(NumberRange("made", least=first))
    if until < FOREVER:
        made.append(NumberRange("made", below=until))
    made += [MatchAny("above", [tag]) for tag in sorted(filters.plain_tags)]
    return made


def _pages(many: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(many)
    while some := list(islice(rest, POINTS_PER_REQUEST)):
        yield some


def _id(row: VectorRow) -> str:
    return point_id(f"chunk {row.fact.id} {row.chunk_id}")


def _fields_hash(fact: Fact) -> str:
    """What tells whether a row was made of the same filterable fields."""
    *plain, tags = (*filterable_fields(fact)[:-1], sorted(tag_keys_with_parents(fact.tags)))
    text = repr((plain, tags, fact.user_id))
    return sha256(text.encode()).hexdigest()[:16]


def _point(key: str, row: VectorRow, firsts: Mapping[str, str]) -> Point:
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
        "above": sorted(tag_keys_with_parents(fact.tags)),
    }
    return Point(key, payload, row.vector)


def _index_record(identity: str | None, record: str | None = None, dimension: int = 0) -> Point:
    payload = {"kind": "vectors", "identity": identity, "record": record, "dimension": dimension}
    return Point(_INDEX_RECORD_ID, payload)


def _rank(near: NearFact) -> tuple[float, str, str]:
    return (-near.similarity, near.fact_id, near.chunk_id)
