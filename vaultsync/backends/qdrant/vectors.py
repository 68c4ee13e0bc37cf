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

from vaultsync.backends.qdrant.commit_log import name
from vaultsync.backends.qdrant.operations import (
    PAGE,
    Between,
    Condition,
    Forget,
    Is,
    Missing,
    Payload,
    Point,
    Points,
    Put,
    Step,
    Where,
)
from vaultsync.backends.vectors.columns import (
    check_dimension,
    dimension_of,
    filtered_by,
    gone,
    not_finite,
)
from vaultsync.errors import DerivedError, StoreUnavailableError
from vaultsync.indexing.ports import Near, VectorRow
from vaultsync.model.canonical import FOREVER, NEVER, moment, with_parents
from vaultsync.model.fact import Fact
from vaultsync.model.filters import Filters
from vaultsync.model.schema import LOWEST

CHUNKS = Where((Is("kind", ["chunk"]),))
_BOOK = name("vectors")
"""The point that says of which model the vectors are, and what their owner noted."""
_HELD = 4 * PAGE
"""Chunks of which something is read at once: a few words of each."""
OVER_FETCH = 4
"""Chunks that are asked for, for each fact that is wanted: a fact may have several."""


class QdrantVectors:
    """A `VectorIndex` whose rows are points with the vector of a chunk."""

    def __init__(
        self, points: Points, *, dimension: Callable[[], int] = lambda: 384
    ) -> None:
        self._points = points
        self._dimension = dimension

    def identity(self) -> str | None:
        """Of the vectors it holds."""
        found: str | None = self._book().get("identity")
        return found

    def record(self) -> str | None:
        """What was noted last."""
        found: str | None = self._book().get("record")
        return found

    def _book(self) -> Payload:
        with _derived():
            if not self._points.there():
                return {}
            return self._points.take([_BOOK]).get(_BOOK, {})

    def reset(self, identity: str) -> None:
        """Forget everything. In between it is an index without identity."""
        with _derived():
            if not self._points.there():
                self._points.make(self._dimension())
            self._points.do([Put([_book_of(None)]), Forget(CHUNKS)])
            self._points.do([Put([_book_of(identity)])])

    def chunks(
        self, fact_ids: Iterable[str] | None = None
    ) -> Mapping[str, frozenset[str]]:
        """Fact id -> the ids of its chunks."""
        found: dict[str, set[str]] = {}
        for payload in self._held(fact_ids, ("fact", "chunk")):
            found.setdefault(payload["fact"], set()).add(payload["chunk"])
        return {fact_id: frozenset(ids) for fact_id, ids in found.items()}

    def outdated(self, facts: Iterable[Fact]) -> set[str]:
        """Those of the facts that have rows made of other fields."""
        now = {fact.id: _seal(fact) for fact in facts}
        return {
            payload["fact"]
            for payload in self._held(now, ("fact", "seal"))
            if payload["seal"] != now[payload["fact"]]
        }

    def count(self) -> int:
        """How many facts it holds."""
        with _derived():
            if not self._points.there():
                return 0
            return self._points.count(Where((*CHUNKS.must, Is("first", [1]))))

    def vectors(self, chunk_ids: Iterable[str]) -> dict[str, Sequence[float]]:
        """The vectors of those chunks that are held."""
        dimension = int(self._book().get("dimension") or 0)
        if not dimension:
            return {}
        found: dict[str, Sequence[float]] = {}
        with _derived():
            for some in _pages(chunk_ids):
                where = Where((*CHUNKS.must, Is("chunk", some)))
                found |= self._points.vectors(where, "chunk", dimension)
        return found

    def put(
        self,
        rows: Sequence[VectorRow],
        *,
        replace: Iterable[str] = (),
        record: str | None = None,
    ) -> None:
        """Add rows; those of the facts in `replace` go, and the record comes last."""
        book = self._book()
        if book.get("identity") is None:
            raise gone()
        known = int(book.get("dimension") or 0)
        away = list(dict.fromkeys(replace))
        if not rows and known and not self.count():
            known = 0
        dimension = dimension_of(rows, known)
        if not all(math.isfinite(each) for row in rows for each in row.vector):
            raise not_finite()
        made = {_id(row): row for row in rows}
        with _derived():
            if dimension and dimension not in self._points.dimensions():
                self._points.widen(dimension)
            firsts = self._firsts(rows, set(away))
            put = [_point(key, row, firsts) for key, row in made.items()]
            steps: list[Step] = [Put(put)] if put else []
            for some in _pages(away):
                where = Where((*CHUNKS.must, Is("fact", some)), but=tuple(made))
                steps.append(Forget(where))
            told = book.get("record") if record is None else record
            steps.append(Put([_book_of(book["identity"], told, dimension)]))
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
        self, vector: Sequence[float], filters: Filters, *, limit: int
    ) -> list[Near]:
        """The nearest facts, each once."""
        dimension = int(self._book().get("dimension") or 0)
        if not dimension or limit < 1 or filters.scopes == frozenset():
            return []
        check_dimension(vector, dimension)
        where = Where((*CHUNKS.must, *conditions(filters)))
        asked = max(64, OVER_FETCH * limit)
        while True:
            with _derived():
                found = self._points.near(vector, where, ("fact", "chunk"), limit=asked)
            near = [
                Near(
                    each.payload["fact"],
                    each.payload["chunk"],
                    round(min(1.0, max(-1.0, each.score)), 6),
                )
                for each in found
            ]
            best: dict[str, Near] = {}
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
            with _derived():
                tidy()

    def close(self) -> None:
        """Let go of the collection."""
        self._points.close()

    def _held(
        self, fact_ids: Iterable[str] | None, fields: Sequence[str]
    ) -> Iterator[Payload]:
        """The payloads of all chunks, or of those of some facts."""
        asked: Iterable[tuple[Condition, ...]] = (
            [()]
            if fact_ids is None
            else ((Is("fact", some),) for some in _pages(fact_ids))
        )
        with _derived():
            if not self._points.there():
                return
            for more in asked:
                where, after = Where((*CHUNKS.must, *more)), ""
                while page := self._points.walk(
                    where, fields, after=after, limit=_HELD
                ):
                    for key, payload in page:
                        yield payload
                        after = key
                    if len(page) < _HELD:
                        break


@contextmanager
def _derived() -> Iterator[None]:
    """A store that is away is an index that cannot be asked: an answer is poorer."""
    try:
        yield
    except StoreUnavailableError as away:
        raise DerivedError(
            f"the vectors do not answer: {away.why}",
            hint="what is missing now is taken up by the next pass",
        ) from away


def conditions(filters: Filters) -> list[Condition]:
    """What filters ask, of a chunk's point. There is no head but one without successor."""
    made: list[Condition] = []
    if filters.max_priority < LOWEST:
        made.append(Between("priority", most=filters.max_priority))
    if filters.scopes is not None:
        made.append(Is("scope", sorted(filters.scopes)))
    if filters.types:
        made.append(Is("type", sorted(filters.types)))
    if filters.status is not None:
        made.append(Is("status", [filters.status]))
    if filters.heads_only:
        # Not `match: null`, as in seed 001: Qdrant does not know that.
        made.append(Missing("supersededById"))
    if filters.user is not None:
        made.append(Is("userId", [filters.user]))
    first, until = filters.moments
    if first > NEVER:
        made.append(Between("made", least=first))
    if until < FOREVER:
        made.append(Between("made", below=until))
    made += [Is("above", [tag]) for tag in sorted(filters.plain_tags)]
    return made


def _pages(many: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(many)
    while some := list(islice(rest, PAGE)):
        yield some


def _id(row: VectorRow) -> str:
    return name(f"chunk {row.fact.id} {row.chunk_id}")


def _seal(fact: Fact) -> str:
    """What tells whether a row was made of the same filterable fields."""
    *plain, tags = (*filtered_by(fact)[:-1], sorted(with_parents(fact.tags)))
    text = repr((plain, tags, fact.user_id))
    return sha256(text.encode()).hexdigest()[:16]


def _point(key: str, row: VectorRow, firsts: Mapping[str, str]) -> Point:
    fact = row.fact
    payload: dict[str, Any] = {
        "kind": "chunk",
        "fact": fact.id,
        "chunk": row.chunk_id,
        "first": int(firsts[fact.id] == row.chunk_id),
        "seal": _seal(fact),
        "userId": fact.user_id,
        "scope": fact.scope,
        "type": fact.type,
        "status": fact.status,
        "priority": fact.priority,
        "supersededById": fact.superseded_by_id or None,
        "made": moment(fact.created_at),
        "above": sorted(with_parents(fact.tags)),
    }
    return Point(key, payload, row.vector)


def _book_of(
    identity: str | None, record: str | None = None, dimension: int = 0
) -> Point:
    payload = {
        "kind": "vectors",
        "identity": identity,
        "record": record,
        "dimension": dimension,
    }
    return Point(_BOOK, payload)


def _rank(near: Near) -> tuple[float, str, str]:
    return (-near.similarity, near.fact_id, near.chunk_id)
