"""Points of a collection, in words that both Qdrant's client and its engine understand.

What the store and the vectors need of Qdrant, and no more: so few calls that an engine in
this process, a local mode and a cluster can each keep the same promises.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

Payload = Mapping[str, Any]
POINTS_PER_REQUEST = 256
"""Points that go in one request."""


class MatchAny(NamedTuple):
    """The value of a key is, or a list there holds, one of these."""

    key: str
    values: Sequence[str] | Sequence[int]


class NumberRange(NamedTuple):
    """A number: at least, at most, and below."""

    key: str
    least: int | None = None
    most: int | None = None
    below: int | None = None


class IsEmpty(NamedTuple):
    """There is no value: the key is not there, or null, or an empty list."""

    key: str


Condition = MatchAny | NumberRange | IsEmpty


@dataclass(frozen=True, slots=True)
class PointFilter:
    """Points that meet all conditions, but for some."""

    must: tuple[Condition, ...]
    must_not: tuple[str, ...] = ()
    """Ids of points that are left out."""


class Point(NamedTuple):
    """A point to be put; it takes the place of all that its id held before."""

    id: str
    payload: Payload
    vector: Sequence[float] = ()


class UpsertPoints(NamedTuple):
    """Points to be put where they may be."""

    points: Sequence[Point]
    only_if: PointFilter | None = None
    """What a point that is there already must meet to be replaced."""
    mode: Literal["any", "new", "known"] = "any"
    """Whether only points that are not there yet, or only those that are, are put."""


class DeletePoints(NamedTuple):
    """Points to be deleted."""

    where: PointFilter


PointOperation = UpsertPoints | DeletePoints


class ScoredPoint(NamedTuple):
    """A point that is near a vector, and its cosine."""

    id: str
    score: float
    payload: Payload


class PointCollection(Protocol):
    """One collection. Any of these may raise `StoreUnavailableError`.

    Reads see every step that `do` has returned from, on whatever machine.
    """

    def exists(self) -> bool:
        """Whether the collection is there.

        Raises:
            StoreLayoutError: it is, and made otherwise than this vault would make it.
        """
        ...

    def make(self, dimension: int) -> None:
        """Make the collection; harmless when somebody else was faster."""
        ...

    def take(self, ids: Collection[str], fields: Sequence[str] | None = None) -> dict[str, Payload]:
        """The payloads of those points that are there; all of their keys, or some."""
        ...

    def walk(
        self,
        where: PointFilter,
        fields: Sequence[str],
        *,
        after: str = "",
        limit: int = POINTS_PER_REQUEST,
    ) -> list[tuple[str, Payload]]:
        """Points with an id greater than `after`, by id."""
        ...

    def count(self, where: PointFilter) -> int:
        """How many points there are, exactly."""
        ...

    def do(self, steps: Sequence[PointOperation]) -> None:
        """Do the steps in order. Each is safe to be done twice."""
        ...

    def dimensions(self) -> set[int]:
        """The lengths of vectors that the collection can hold."""
        ...

    def add_dimension(self, dimension: int) -> None:
        """Let it hold vectors of another length, too.

        Raises:
            StoreLayoutError: this server cannot.
        """
        ...

    def search(
        self, vector: Sequence[float], where: PointFilter, fields: Sequence[str], *, limit: int
    ) -> list[ScoredPoint]:
        """The nearest points, the nearest first."""
        ...

    def vectors(self, where: PointFilter, field: str, dimension: int) -> dict[str, Sequence[float]]:
        """The vectors of points, by the value of a key."""
        ...

    def close(self) -> None:
        """Let go of it; harmless when repeated."""
        ...


def vector_name(dimension: int) -> str:
    """The name of the vectors of a length: another model may come, of another length."""
    return f"content{dimension}"


def vectors_of(
    page: Callable[[object], tuple[Iterable[Any], object]], field: str, vector: str
) -> dict[str, Sequence[float]]:
    """The vectors of a scroll, by the value of a key.

    Args:
        page: told where a page begins (None: the first), its records, and where the next
            one does (None: there is none).
        field: the key.
        vector: the name of the vector.
    """
    found: dict[str, Sequence[float]] = {}
    offset: object = None
    while True:
        records, offset = page(offset)
        for each in records:
            held = (each.vector or {}).get(vector)
            if held is not None:
                found[each.payload[field]] = held
        if offset is None:
            return found


def records_after(after: str, records: Iterable[Any]) -> list[tuple[str, Payload]]:
    """Ids and payloads of records, but for the one that a scroll began with."""
    found = [(str(each.id), each.payload or {}) for each in records]
    return [each for each in found if each[0] > after]
