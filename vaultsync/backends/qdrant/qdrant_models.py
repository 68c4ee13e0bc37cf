"""Steps and conditions in the words of Qdrant's client, which is loaded when one is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from vaultsync.backends.qdrant.operations import (
    PAGE,
    Between,
    Condition,
    Forget,
    Missing,
    Point,
    Step,
    Where,
    space,
)

Model: TypeAlias = Any
"""A model of the client. Its type would have the client loaded."""
LARGEST = 8 << 20
"""Bytes of a request, about. A server refuses what has more than 32 MiB, and what is sent
slowly times out before that is known."""
_NUMBER, _ID = 22, 40
"""Bytes of a number of a vector, and of an id, as JSON."""
_MODES = {"any": None, "new": "insert_only", "known": "update_only"}


def library() -> Model:
    """The models of the client."""
    from qdrant_client import models

    return models


def consistency(said: str | int) -> Model:
    """On how many replicas a read has to agree."""
    return said if isinstance(said, int) else library().ReadConsistencyType(said)


def requests(steps: Sequence[Step]) -> Iterator[list[Model]]:
    """The operations of steps, as many at a time as one request may carry."""
    made: list[Model] = []
    room = LARGEST
    for step in steps:
        for operation, size in _operations(step):
            if made and size > room:
                yield made
                made, room = [], LARGEST
            made.append(operation)
            room -= size
    if made:
        yield made


def _operations(step: Step) -> Iterator[tuple[Model, int]]:
    """A step as operations, and how large each is."""
    models = library()
    if isinstance(step, Forget):
        selector = models.FilterSelector(filter=filter_of(step.where))
        yield models.DeleteOperation(delete=selector), _ID * len(step.where.but)
        return
    mode = _MODES[step.mode]
    for points, size in _pages(step.points):
        upsert = models.PointsList(
            points=[_struct(each) for each in points],
            update_filter=filter_of(step.only_if) if step.only_if else None,
            update_mode=models.UpdateMode(mode) if mode else None,
        )
        yield models.UpsertOperation(upsert=upsert), size


def _pages(points: Sequence[Point]) -> Iterator[tuple[list[Point], int]]:
    """Points, as many at a time as go together, and how large they are."""
    page: list[Point] = []
    total = 0
    for point in points:
        size = len(msgspec.json.encode(point.payload)) + _NUMBER * len(point.vector)
        if page and (len(page) == PAGE or total + size > LARGEST):
            yield page, total
            page, total = [], 0
        page.append(point)
        total += size
    if page:
        yield page, total


def _struct(point: Point) -> Model:
    numbers = list(map(float, point.vector))
    vector = {space(len(numbers)): numbers} if numbers else {}
    return library().PointStruct(
        id=point.id, payload=dict(point.payload), vector=vector
    )


def filter_of(where: Where) -> Model:
    """Conditions as a filter."""
    models = library()
    return models.Filter(
        must=[_condition(each) for each in where.must],
        must_not=[models.HasIdCondition(has_id=list(where.but))] if where.but else None,
    )


def _condition(said: Condition) -> Model:
    models = library()
    if isinstance(said, Missing):
        return models.IsEmptyCondition(is_empty=models.PayloadField(key=said.key))
    if isinstance(said, Between):
        return models.FieldCondition(
            key=said.key,
            range=models.Range(gte=said.least, lte=said.most, lt=said.below),
        )
    match = models.MatchAny(any=list(said.values))
    return models.FieldCondition(key=said.key, match=match)
