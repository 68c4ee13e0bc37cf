"""Isolated scopes in separate collections, read and written as one collection.

A key of Qdrant that is limited to one collection cannot read the others. The shared
collection has the head, so one feed numbers the writes of all: its `scopes` list the other
collections, which are queried for points that it lacks. `home` states where a point belongs.

If the scope of a fact changes, so may its collection. It is put into the new one first, and
then a point of kind `moved` replaces it in the old one, so that it is always in at least one,
and a late write replaces nothing there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any

import msgspec

from vaultsync.backends.qdrant.commit_log import COMMIT_RECORD_ID, readable
from vaultsync.backends.qdrant.connection import QdrantConnection
from vaultsync.backends.qdrant.operations import (
    POINTS_PER_REQUEST,
    DeletePoints,
    MatchAny,
    Payload,
    Point,
    PointCollection,
    PointFilter,
    PointOperation,
    ScoredPoint,
    UpsertPoints,
)
from vaultsync.backends.qdrant.payload import FACT_KIND, MOVED_KIND, TOMBSTONE_KIND
from vaultsync.errors import StoreUnavailableError
from vaultsync.storage.clock import Clock

_ORDER = ("kind", "seq")
"""The keys that determine the newer of two points with one id."""
_FACTS = frozenset({FACT_KIND, TOMBSTONE_KIND})
_TRIES = 5
"""Maximum number of reads of a fact that moves while it is read."""


class IsolatedCollections(PointCollection):
    """A shared collection, and one for each of some scopes.

    Args:
        shared: the collection with the head, and the points of all other scopes.
        isolated: names of scopes, or prefixes with `*`.
        open_one: opens the collection of a scope, which may not exist yet.
    """

    def __init__(
        self,
        shared: PointCollection,
        isolated: Sequence[str],
        open_one: Callable[[str], PointCollection],
    ) -> None:
        self.name = shared.name
        self.isolated = tuple(sorted(isolated))
        self._shared = shared
        self._open_one = open_one
        self._known: dict[str, PointCollection] = {}

    def home(self, scope: str) -> str:
        for each in self.isolated:
            if scope == each or (each.endswith("*") and scope.startswith(each[:-1])):
                return scope
        return ""

    # ------------------------------------------------------------- the collections

    def _learn(self, head: Payload | None) -> None:
        """Open the collections that the head lists."""
        with readable():
            scopes = msgspec.convert((head or {}).get("scopes") or (), tuple[str, ...])
        for scope in scopes:
            if scope not in self._known:
                opened = self._open_one(scope)
                if not opened.exists():
                    raise StoreUnavailableError(f"its collection {opened.name} is not there")
                self._known[scope] = opened

    def _all(self) -> dict[str, PointCollection]:
        """All existing collections, by scope."""
        self._learn(self._shared.take([COMMIT_RECORD_ID], ["scopes"]).get(COMMIT_RECORD_ID))
        return {"": self._shared, **self._known}

    def _opened(self, scope: str) -> PointCollection:
        """The collection of a scope, which the first write creates."""
        if scope not in self._known:
            opened = self._open_one(scope)
            if not opened.exists():
                first, *others = sorted(self._shared.dimensions())
                opened.make(first)
                for each in others:
                    opened.add_dimension(each)
            self._known[scope] = opened
        return self._known[scope]

    def exists(self) -> bool:
        return self._shared.exists()

    def make(self, dimension: int) -> None:
        self._shared.make(dimension)

    def index(self) -> None:
        for each in self._all().values():
            each.index()

    def dimensions(self) -> set[int]:
        return set.intersection(*(each.dimensions() for each in self._all().values()))

    def add_dimension(self, dimension: int) -> None:
        for each in self._all().values():
            if dimension not in each.dimensions():
                each.add_dimension(dimension)

    def tidy(self) -> None:
        for each in (self._shared, *self._known.values()):
            each.tidy()

    def compact(self) -> None:
        for each in self._all().values():
            each.compact()

    def close(self) -> None:
        for each in (*self._known.values(), self._shared):
            each.close()

    # ----------------------------------------------------------------------- reads

    def take(self, ids: Collection[str], fields: Sequence[str] | None = None) -> dict[str, Payload]:
        wanted = None if fields is None else [*dict.fromkeys((*fields, *_ORDER, "scopes"))]
        found: dict[str, Payload] = {}
        for _ in range(_TRIES):
            found = self._shared.take(list(dict.fromkeys((COMMIT_RECORD_ID, *ids))), wanted)
            self._learn(found.get(COMMIT_RECORD_ID))
            missing = [each for each in ids if each not in found or _is_moved(found[each])]
            for scope, points in self._known.items() if missing else ():
                taken = points.take(missing, wanted).items()
                found = _newest(found, {key: {**payload, "home": scope} for key, payload in taken})
            if not any(_is_moved(found[each]) for each in missing if each in found):
                break
        return {
            each: _only(found[each], fields)
            for each in ids
            if each in found and not _is_moved(found[each])
        }

    def count(self, where: PointFilter) -> int:
        return sum(each.count(where) for each in self._all().values())

    def walk(
        self,
        where: PointFilter,
        fields: Sequence[str],
        *,
        after: str = "",
        limit: int = POINTS_PER_REQUEST,
    ) -> list[tuple[str, Payload]]:
        kinds = _kinds_of_facts(where)
        asked = PointFilter((MatchAny("kind", [*kinds, MOVED_KIND]),)) if kinds else where
        wanted, collections = list(dict.fromkeys((*fields, *_ORDER))), self._all().values()
        found: list[tuple[str, Payload]] = []
        while True:
            page: dict[str, Payload] = {}
            for points in collections:
                page = _newest(page, dict(points.walk(asked, wanted, after=after, limit=limit)))
            ids = sorted(page)[:limit]
            # Facts that moved between two of these requests are now elsewhere.
            left = [each for each in ids if _is_moved(page[each])] if kinds else []
            moved = self.take(left, wanted) if left else {}
            for each in ids:
                payload = moved.get(each, page[each])
                if not kinds or payload["kind"] in kinds:
                    found.append((each, _only(payload, fields)))
            if len(ids) < limit or len(found) >= limit:
                return found[:limit]
            after = ids[-1]

    def search(
        self, vector: Sequence[float], where: PointFilter, fields: Sequence[str], *, limit: int
    ) -> list[ScoredPoint]:
        found = [
            point
            for each in self._all().values()
            for point in each.search(vector, where, fields, limit=limit)
        ]
        return sorted(found, key=lambda point: (-point.score, point.id))[:limit]

    def vectors(self, where: PointFilter, field: str, dimension: int) -> dict[str, Sequence[float]]:
        found: dict[str, Sequence[float]] = {}
        for each in self._all().values():
            found |= each.vectors(where, field, dimension)
        return found

    # ---------------------------------------------------------------------- writes

    def do(self, steps: Sequence[PointOperation]) -> None:
        """Do the steps in order, each in its collections."""
        routed = [each for step in steps for each in self._routed(step)]
        for _, group in groupby(routed, key=lambda each: id(each[0])):
            same = list(group)
            same[0][0].do([step for _, step in same])

    def _routed(self, step: PointOperation) -> Iterator[tuple[PointCollection, PointOperation]]:
        if isinstance(step, DeletePoints):
            yield from ((each, step) for each in self._all().values())
            return
        by_home: dict[str, list[Point]] = {}
        for point in step.points:
            by_home.setdefault(point.payload.get("home", ""), []).append(point)
        for scope, points in by_home.items():
            here = self._opened(scope) if scope else self._shared
            yield here, UpsertPoints(points, step.only_if, step.mode)
            # The chunks of a fact are where the fact is.
            facts = {point.payload["fact"] for point in points if point.payload["kind"] == "chunk"}
            if facts:
                chunks = (MatchAny("kind", ["chunk"]), MatchAny("fact", sorted(facts)))
                others = (each for each in self._all().values() if each is not here)
                yield from ((each, DeletePoints(PointFilter(chunks))) for each in others)


def open_collection(place: QdrantConnection, clock: Clock) -> PointCollection:
    """The collection, including those of isolated scopes; opened lazily."""
    one: PointCollection
    opened: Callable[[QdrantConnection], PointCollection]
    if place.kind == "edge":
        from vaultsync.backends.qdrant.edge import EdgePointCollection

        opened = partial(EdgePointCollection, clock=clock)
        one = opened(place)
    else:
        from vaultsync.backends.qdrant.client import ClientPointCollection

        one = shared = ClientPointCollection(place, clock=clock)
        opened = partial(ClientPointCollection, clock=clock, beside=shared)
    isolated = place.settings.isolated_scopes
    if not isolated:
        return one
    return IsolatedCollections(one, isolated, lambda scope: opened(place.of_scope(scope)))


def _is_moved(payload: Payload) -> bool:
    return payload.get("kind") == MOVED_KIND


def _kinds_of_facts(where: PointFilter) -> list[str]:
    """The kinds in a filter, if it selects facts only by kind."""
    match where.must:
        case (MatchAny("kind", kinds),) if not where.must_not and _FACTS.issuperset(kinds):
            return [str(each) for each in kinds]
        case _:
            return []


def _newest(some: dict[str, Payload], others: Mapping[str, Payload]) -> dict[str, Payload]:
    """Points by id; of two with the same id, the one written later."""
    return some | {
        key: payload
        for key, payload in others.items()
        if key not in some or _age(payload) > _age(some[key])
    }


def _age(payload: Payload) -> tuple[int, bool]:
    seq: Any = payload.get("seq")
    return (seq if isinstance(seq, int) else -1, not _is_moved(payload))


def _only(payload: Payload, fields: Sequence[str] | None) -> Payload:
    if fields is None:
        return payload
    return {key: payload[key] for key in fields if key in payload}
