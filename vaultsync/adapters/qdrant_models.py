"""Steps and conditions in the words of Qdrant's client, which is loaded when one is made."""

from __future__ import annotations

from typing import Any, TypeAlias

from vaultsync.adapters.qdrant_points import (
    PAGE,
    Between,
    Condition,
    Missing,
    Point,
    Put,
    Step,
    Where,
    space,
)

Model: TypeAlias = Any
"""A model of the client. Its type would have the client loaded."""
_MODES = {"any": None, "new": "insert_only", "known": "update_only"}


def library() -> Model:
    """The models of the client."""
    from qdrant_client import models

    return models


def consistency(said: str | int) -> Model:
    """On how many replicas a read has to agree."""
    return said if isinstance(said, int) else library().ReadConsistencyType(said)


def operations(step: Step) -> list[Model]:
    """A step as what one request can carry."""
    models = library()
    if isinstance(step, Put):
        mode = _MODES[step.mode]
        return [
            models.UpsertOperation(
                upsert=models.PointsList(
                    points=[_struct(each) for each in step.points[at : at + PAGE]],
                    update_filter=filter_of(step.only_if) if step.only_if else None,
                    update_mode=models.UpdateMode(mode) if mode else None,
                )
            )
            for at in range(0, len(step.points), PAGE)
        ]
    selector = models.FilterSelector(filter=filter_of(step.where))
    return [models.DeleteOperation(delete=selector)]


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
