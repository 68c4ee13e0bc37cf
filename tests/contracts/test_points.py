"""One tape of requests on every kind of Qdrant: each answers as the others do.

The local mode, which the server of the tests holds, and the engine are two programs. Where
they agree on what conditions, modes and pages mean, a server does, for it is the engine.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.qdrants import SERVER, at_server, emptied, in_memory, isolated, over_http, served
from vaultsync.backends.qdrant.commit_log import point_id
from vaultsync.backends.qdrant.operations import (
    Condition,
    DeletePoints,
    IsEmpty,
    MatchAny,
    NumberRange,
    Point,
    PointCollection,
    PointFilter,
    PointOperation,
    UpsertPoints,
)

pytestmark = pytest.mark.long(5)

IDS = [point_id(f"{n}") for n in range(12)]
FIELDS = ("kind", "seq", "above", "supersededById")
Ask = Callable[[PointCollection], object]


class Tape:
    """The same requests each time, of whatever Qdrant."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)

    def next(self) -> Ask:
        """A request, and what of its answer counts."""
        rng = self._rng
        where = self._where()
        after = rng.choice(["", *IDS])
        limit = rng.randrange(1, 8)
        some = rng.sample(IDS, 3)
        vector = self._vector()
        asks: list[Ask] = [
            lambda points: points.take(some),
            lambda points: points.take(some, ["seq", "other"]),
            lambda points: points.walk(where, FIELDS, after=after, limit=limit),
            lambda points: points.count(where),
            lambda points: _near(points, vector, where),
            lambda points: _rounded(points.vectors(where, "chunk", 3)),
        ]
        steps = self._steps()
        asks += [lambda points: points.do(steps)] * 6
        return rng.choice(asks)

    def _vector(self) -> list[float]:
        return [self._rng.uniform(-1, 1) for _ in range(3)]

    def _steps(self) -> list[PointOperation]:
        return [self._step() for _ in range(self._rng.randrange(1, 4))]

    def _step(self) -> PointOperation:
        rng = self._rng
        if rng.random() < 0.15:
            return DeletePoints(self._where())
        only_if = self._where() if rng.random() < 0.4 else None
        points = [self._point(each) for each in rng.sample(IDS, rng.randrange(1, 5))]
        return UpsertPoints(points, only_if, rng.choice(["any", "any", "new", "known"]))

    def _point(self, key: str) -> Point:
        rng = self._rng
        payload: dict[str, Any] = {"kind": rng.choice(["fact", "page"]), "chunk": key}
        if rng.random() < 0.8:
            payload["seq"] = rng.choice([-(2**63), 0, 3, 2**52 + 1])
        if rng.random() < 0.8:
            payload["above"] = rng.choice([[], ["a"], ["a", "b"], ["c"]])
        if rng.random() < 0.7:
            payload["supersededById"] = rng.choice([None, "x"])
        return Point(key, payload, self._vector() if rng.random() < 0.7 else ())

    def _where(self) -> PointFilter:
        rng = self._rng
        conditions: list[Condition] = [
            MatchAny("kind", rng.choice([["fact"], ["page", "other"], []])),
            MatchAny("above", rng.choice([["a"], ["b", "c"]])),
            MatchAny("seq", [3]),
            NumberRange("seq", least=0),
            NumberRange("seq", most=3),
            NumberRange("seq", below=3),
            IsEmpty("supersededById"),
            IsEmpty("above"),
        ]
        must = rng.sample(conditions, rng.choice([0, 1, 1, 2]))
        but = rng.sample(IDS, 2) if rng.random() < 0.2 else ()
        return PointFilter(tuple(must), tuple(but))


def _near(points: PointCollection, vector: list[float], where: PointFilter) -> object:
    found = points.search(vector, where, ["kind"], limit=20)
    return [(each.id, round(each.score, 3), each.payload) for each in found]


def _rounded(vectors: dict[Any, Any]) -> object:
    return {key: [round(x, 3) for x in each] for key, each in vectors.items()}


@pytest.mark.parametrize("seed", range(4))
def test_a_tape_of_requests_is_answered_alike(seed: int) -> None:
    served().clear()
    kinds = {"local": in_memory(), "engine": emptied(), "server": over_http(served())}
    kinds["isolated"] = isolated()
    if SERVER:
        kinds["a server that is there"] = at_server()
    for points in kinds.values():
        points.make(3)
    tape = Tape(seed)
    for turn in range(60):
        ask = tape.next()
        answers = {each: ask(points) for each, points in kinds.items()}
        for each, answer in answers.items():
            assert answer == answers["local"], (turn, each)
    held = [points.take(IDS) for points in kinds.values()]
    assert all(each == held[0] for each in held)
    for points in kinds.values():
        points.close()
