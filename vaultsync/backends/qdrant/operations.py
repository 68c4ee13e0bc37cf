"""Points of a collection, as both Qdrant's client and its embedded engine understand them.

The interface is as small as the store and the vectors allow, so that the embedded engine, the
local mode and a cluster can all fulfil it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from sys import maxsize
from typing import Any, Literal, NamedTuple, TypeVar
from uuid import UUID

from msgspec import Struct

T = TypeVar("T")
Payload = Mapping[str, Any]
POINTS_PER_REQUEST = 256
"""Maximum number of points in one request."""
_ID_NUMBERS, _TIME_BITS = 1 << 128, 80
"""The number of possible ids, and of the bits after the time in a new one (UUIDv7)."""
_DAY_MS = 86_400_000


class MatchAny(Struct, frozen=True, tag=True):
    """The condition that a key's value is, or its list contains, one of these."""

    key: str
    values: Sequence[str | int]


class NumberRange(Struct, frozen=True, tag=True):
    """The condition that a number is at least, at most, or below a value."""

    key: str
    least: int | None = None
    most: int | None = None
    below: int | None = None


class IsEmpty(Struct, frozen=True, tag=True):
    """The condition that a key is missing, null, or an empty list."""

    key: str


Condition = MatchAny | NumberRange | IsEmpty


class PointFilter(Struct, frozen=True):
    """A filter for points that meet all conditions, with exceptions."""

    must: tuple[Condition, ...]
    must_not: tuple[str, ...] = ()
    """Ids of points to leave out."""


class Point(NamedTuple):
    """A point to be written, which completely replaces one with the same id."""

    id: str
    payload: Payload
    vector: Sequence[float] = ()


class UpsertPoints(Struct, frozen=True, tag=True):
    """Points to be written, under conditions."""

    points: Sequence[Point]
    only_if: PointFilter | None = None
    """The condition that an existing point must meet to be replaced."""
    mode: Literal["any", "new", "known"] = "any"
    """Whether to write only new points, only existing ones, or any."""


class DeletePoints(Struct, frozen=True, tag=True):
    """Points to be deleted."""

    where: PointFilter


PointOperation = UpsertPoints | DeletePoints


class ScoredPoint(NamedTuple):
    """A point near a vector, with its cosine."""

    id: str
    score: float
    payload: Payload


def vector_name(dimension: int) -> str:
    """The name of the vectors of a dimension, because models have different dimensions."""
    return f"content{dimension}"


def named_vector(vector: Sequence[float]) -> dict[str, list[float]]:
    """The vector of a point by name; empty if it has none."""
    numbers = list(map(float, vector))
    return {vector_name(len(numbers)): numbers} if numbers else {}


def payloads_by_id(records: Iterable[Any]) -> dict[str, Payload]:
    """The payloads of records of either library."""
    return {str(each.id): each.payload or {} for each in records}


def scored_points(records: Iterable[Any]) -> list[ScoredPoint]:
    """The records of a search in either library."""
    return [ScoredPoint(str(each.id), each.score, each.payload or {}) for each in records]


class ScrollPage(NamedTuple):
    """A request for records by id."""

    where: PointFilter
    fields: Sequence[str]
    """The payload keys to read."""
    offset: object = None
    """The id of the first record; None for the first of all."""
    limit: int = POINTS_PER_REQUEST
    vector: str = ""
    """The name of the vector to read; empty for none."""


class PointCollection(ABC):
    """One collection. Every method may raise `StoreUnavailableError`.

    Reads see every step for which `do()` has returned, on any machine.
    """

    name: str
    isolated: tuple[str, ...] = ()
    """The scopes, or prefixes of scopes, whose points are in their own collections."""

    def home(self, scope: str) -> str:  # noqa: ARG002 - all scopes are in this collection
        """The scope if its points are in its own collection; otherwise empty."""
        return ""

    @abstractmethod
    def exists(self) -> bool:
        """Whether it exists; `StoreLayoutError` if its parameters are not this vault's."""

    @abstractmethod
    def make(self, dimension: int) -> None:
        """Create the collection, unless another process has done so."""

    @abstractmethod
    def index(self) -> None:
        """Create the payload indexes that a collection of an older version lacks."""

    @abstractmethod
    def take(self, ids: Collection[str], fields: Sequence[str] | None = None) -> dict[str, Payload]:
        """The payloads of existing points, with all of their keys or only `fields`."""

    @abstractmethod
    def count(self, where: PointFilter) -> int:
        """The exact number of points."""

    @abstractmethod
    def do(self, steps: Sequence[PointOperation]) -> None:
        """Do the steps in order. Each step is idempotent."""

    @abstractmethod
    def dimensions(self) -> set[int]:
        """The dimensions of vectors that the collection supports."""

    @abstractmethod
    def add_dimension(self, dimension: int) -> None:
        """Allow vectors of another dimension; `StoreLayoutError` if that is not possible."""

    @abstractmethod
    def search(
        self, vector: Sequence[float], where: PointFilter, fields: Sequence[str], *, limit: int
    ) -> list[ScoredPoint]:
        """The nearest points, nearest first."""

    @abstractmethod
    def tidy(self) -> None:
        """Merge new data."""

    def compact(self) -> None:
        """Remove deleted and replaced data from files on this machine."""
        self.tidy()

    @abstractmethod
    def close(self) -> None:
        """Close it; idempotent."""

    @abstractmethod
    def walk(
        self,
        where: PointFilter,
        fields: Sequence[str],
        *,
        after: str = "",
        limit: int = POINTS_PER_REQUEST,
    ) -> list[tuple[str, Payload]]:
        """Points with ids greater than `after`, in the order of their ids."""

    @abstractmethod
    def vectors(self, where: PointFilter, field: str, dimension: int) -> dict[str, Sequence[float]]:
        """The vectors of points, by the value of a key."""

    def walk_all(
        self,
        where: PointFilter,
        fields: Sequence[str],
        *,
        after: str = "",
        at_once: int = POINTS_PER_REQUEST,
    ) -> Iterator[tuple[str, Payload]]:
        """All points as in `walk()`, read in batches."""
        while page := self.walk(where, fields, after=after, limit=at_once):
            yield from page
            if len(page) < at_once:
                return
            after = page[-1][0]

    def walk_down(
        self, where: PointFilter, *, now: datetime, before: str = ""
    ) -> Iterator[list[str]]:
        """The ids of points below `before`, in descending order, in batches.

        A scroll only goes up, and a filter cannot express a range of ids. So ranges are tried
        from above: a new id begins with its time, so the first range is the last day. A range
        with too many points for one request is halved, and an empty one is widened.
        """
        above = _number(before) if before else _ID_NUMBERS
        today = min(above, round(now.timestamp() * 1000) + _DAY_MS << _TIME_BITS)
        width, floor = above - today or _DAY_MS << _TIME_BITS, 0
        while above > 0:
            least = max(0, above - width)
            after = str(UUID(int=least - 1)) if least else ""
            page = [key for key, _ in self.walk(where, ("kind",), after=after)]
            found = [key for key in page if _number(key) < above]
            if len(found) == POINTS_PER_REQUEST:
                floor = _number(found[-1])
                width = max(1, (above - floor) // 2)
                continue
            yield found[::-1]
            above = least
            if least == today:
                width = _DAY_MS << _TIME_BITS
            elif above > floor > 0 and not found:
                width = max(1, (above - floor) // 2)
            elif len(found) < POINTS_PER_REQUEST // 4:
                width *= 4


class ScrolledCollection(PointCollection):
    """A collection whose library reads points page by page."""

    @abstractmethod
    def _scroll(self, page: ScrollPage) -> tuple[Iterable[Any], object]:
        """The records of a page, and the start of the next page, if there is one."""

    def walk(
        self,
        where: PointFilter,
        fields: Sequence[str],
        *,
        after: str = "",
        limit: int = POINTS_PER_REQUEST,
    ) -> list[tuple[str, Payload]]:
        # A scroll includes the point at its offset.
        page = ScrollPage(where, fields, after or None, limit + bool(after))
        records, _ = self._scroll(page)
        found = payloads_by_id(records)
        return [(key, payload) for key, payload in found.items() if key > after][:limit]

    def vectors(self, where: PointFilter, field: str, dimension: int) -> dict[str, Sequence[float]]:
        name, offset = vector_name(dimension), None
        found: dict[str, Sequence[float]] = {}
        while True:
            page = ScrollPage(where, [field], offset, vector=name)
            records, offset = self._scroll(page)
            for each in records:
                vector, value = (each.vector or {}).get(name), each.payload[field]
                if vector is not None and isinstance(value, str):  # a filter finds lists, too
                    found[value] = vector
            if offset is None:
                return found


def _number(point_id: str) -> int:
    return int(point_id.replace("-", ""), 16)


def batches(items: Iterable[T]) -> Iterator[list[T]]:
    """Divide ids or points into batches for one request each."""
    rest = iter(items)
    while batch := list(islice(rest, POINTS_PER_REQUEST)):
        yield batch


def packed(
    items: Iterable[tuple[T, int]], *, room: int, most: int = maxsize
) -> Iterator[tuple[list[T], int]]:
    """Divide items (with sizes) in order into batches of at most `room`; also their sizes."""
    pack: list[T] = []
    total = 0
    for item, size in items:
        if pack and (len(pack) == most or total + size > room):
            yield pack, total
            pack, total = [], 0
        pack.append(item)
        total += size
    if pack:
        yield pack, total
