"""Points that another program has written to: reported, never a crash."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import cycle, islice
from typing import Any

import pytest

from tests.fakes import FakeClock
from tests.qdrants import in_memory, store_in
from vaultsync import errors
from vaultsync.backends.qdrant.operations import Point, PointCollection, PointFilter, UpsertPoints
from vaultsync.backends.qdrant.qdrant_store import QdrantStore
from vaultsync.backends.qdrant.vectors import QdrantVectors
from vaultsync.indexing.ports import VectorRow
from vaultsync.model.fact import make_fact
from vaultsync.model.filters import FactFilters
from vaultsync.storage.erasure import Traces
from vaultsync.storage.store import AccessCount, StoreWrite

pytestmark = pytest.mark.long(3)

CLOCK = FakeClock()
A, B, C = (CLOCK.new_id() for _ in range(3))
TIME = "2026-02-14T13:45:00Z"
X = (1.0, 0.0, 0.0)
LISTED = object()
"""The value itself, in a list, which a filter of Qdrant finds, too."""
FOREIGN: tuple[Any, ...] = (None, 7, LISTED, 1.5, True, "x", [], [1], {}, {"x": 1}, TIME, 1 << 60)
KINDS = {"head", "fact", "tombstone", "accesses", "replaced", "chunk", "vectors"}


def fill(points: PointCollection) -> None:
    """One point of each kind."""
    store = store_in(points, FakeClock())
    facts = [make_fact({"id": each, "title": "Tea", "createdAt": TIME}) for each in (A, B, C)]
    first = store.write([StoreWrite(each.id, each, None, "indy", op="x") for each in facts])
    store.count_accesses({A: AccessCount(1, TIME)}, "one")
    store.write([StoreWrite(A, facts[0].evolve(title="Green tea"), str(first[0]), "indy")])
    store.write([StoreWrite(C, None, str(first[2]), "indy")])
    vectors = QdrantVectors(points, dimension=lambda: 3)
    vectors.reset("m/3")
    vectors.put([VectorRow(facts[0], "one", X)])


def uses(store: QdrantStore, vectors: QdrantVectors) -> Iterator[Callable[[], object]]:
    """All that is done with a store and its vectors."""
    fact = make_fact({"id": A, "title": "Black tea", "createdAt": TIME})
    yield from (store.state, store.feed, store.replaced_ids)
    yield lambda: store.replaced_versions([A, B, C])
    yield from (lambda: store.find_many([A, B]), lambda: store.get(A), lambda: store.tombstone(C))
    yield from (lambda: [*store.iter_facts()], lambda: [*store.iter_facts(newest=True)])
    yield lambda: [*store.iter_facts(deleted=True)]
    yield from (lambda: store.last_ops([A, B, C]), lambda: store.last_write(A))
    yield from (lambda: store.revision_at(1), lambda: store.purge(days=1, dry_run=True))
    yield from (vectors.identity, vectors.record, vectors.count, vectors.chunks)
    yield from (lambda: vectors.vectors(["one"]), lambda: vectors.outdated([fact]))
    yield lambda: vectors.search(X, FactFilters(), limit=3)
    yield lambda: vectors.cosines(X, [A])
    yield lambda: vectors.put([VectorRow(fact, "two", X)], replace=[A])
    yield lambda: store.count_accesses({A: AccessCount(1, TIME)}, "two")
    yield lambda: store.write([StoreWrite(A, fact, None, "indy")])
    yield lambda: store.purge(days=0)
    yield lambda: store.erase(Traces(frozenset({C})))


@pytest.mark.parametrize("turn", range(3))
def test_a_value_of_another_program_is_no_bug(turn: int) -> None:
    points = in_memory()
    fill(points)
    whole = {key: points.take([key])[key] for key, _ in points.walk(PointFilter(()), ("kind",))}
    assert {payload["kind"] for payload in whole.values()} == KINDS
    sound = [
        Point(key, payload, X if payload["kind"] == "chunk" else ())
        for key, payload in whole.items()
    ]
    values = islice(cycle(FOREIGN), turn * len(FOREIGN) // 3, None)
    for point in sound:
        for field, value in zip((*point.payload, "createdAt"), values, strict=False):
            foreign = [point.payload.get(field)] if value is LISTED else value
            changed = point._replace(payload={**point.payload, field: foreign})
            points.do([UpsertPoints([changed])])
            store = store_in(points, FakeClock())
            for use in uses(store, QdrantVectors(points, dimension=lambda: 3)):
                with suppress(errors.VaultsyncError):
                    use()
            points.do([UpsertPoints(sound)])
