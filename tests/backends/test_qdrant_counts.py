"""Counts of uses and replaced versions in Qdrant: points of their own, which several share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from tests.fakes import FakeClock
from tests.qdrants import in_memory, store_in
from vaultsync.backends.qdrant import qdrant_store
from vaultsync.backends.qdrant.operations import (
    MatchAny,
    Point,
    PointCollection,
    PointFilter,
    PointOperation,
    UpsertPoints,
)
from vaultsync.backends.qdrant.payload import ACCESSES_KIND, MAX_COUNTED_OPS
from vaultsync.backends.qdrant.qdrant_store import QdrantStore
from vaultsync.errors import StoreUnavailableError
from vaultsync.model.fact import make_fact
from vaultsync.storage.erasure import Traces
from vaultsync.storage.store import AccessCount, StoreWrite

CLOCK = FakeClock()
A, B = CLOCK.new_id(), CLOCK.new_id()
ONE = AccessCount(1, "2026-02-14T13:45:00Z")


@pytest.fixture
def points() -> PointCollection:
    return in_memory(clock=FakeClock())


@pytest.fixture
def store(points: PointCollection) -> QdrantStore:
    opened = store_in(points, FakeClock())
    opened.write([_write(A), _write(B)])
    return opened


def _write(fact_id: str, title: str = "Tea", expect: str | None = None) -> StoreWrite:
    return StoreWrite(fact_id, make_fact({"id": fact_id, "title": title}), expect, "indy")


def _before_each_step(
    points: PointCollection, act: Callable[[Sequence[PointOperation]], None]
) -> None:
    """Call a function before each request that writes."""
    whole = points.do

    def do(steps: Sequence[PointOperation]) -> None:
        act(steps)
        whole(steps)

    points.do = do  # type: ignore[method-assign]


@pytest.mark.parametrize("times", [0, 1, 3])
def test_processes_count_each_use(store: QdrantStore, points: PointCollection, times: int) -> None:
    store.count_accesses(dict.fromkeys([A] * bool(times), ONE), "before")
    rivals = iter(range(times or 1))
    busy = False

    def rival(_: Sequence[PointOperation]) -> None:
        nonlocal busy
        number = None if busy else next(rivals, None)
        if number is not None:
            busy = True
            store_in(points, FakeClock()).count_accesses({A: ONE, B: ONE}, f"rival{number}")
            busy = False

    _before_each_step(points, rival)
    assert store.count_accesses({A: ONE, B: ONE}, "mine") == 2
    counts = [store.get(each).access_count for each in (A, B)]
    assert counts == [(times or 1) + 1 + bool(times), (times or 1) + 1]


def test_a_count_that_others_change_without_a_pause_is_given_up(
    store: QdrantStore, points: PointCollection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qdrant_store, "_TRIES", 5)
    monkeypatch.setattr(points, "do", lambda steps: None)
    with pytest.raises(StoreUnavailableError, match="other programs keep counting"):
        store.count_accesses({A: ONE}, "x")


def test_a_batch_counts_once_though_others_were_counted_since(store: QdrantStore) -> None:
    names = [f"op{number}" for number in range(MAX_COUNTED_OPS)]
    for name in [*names, *names]:
        store.count_accesses({A: ONE}, name)
    assert store.get(A).access_count == MAX_COUNTED_OPS


def test_a_write_that_breaks_off_before_the_head_changes_keeps_a_version_once(
    store: QdrantStore, points: PointCollection
) -> None:
    now = store.get(A).revision

    def break_off(steps: Sequence[PointOperation]) -> None:
        if any(isinstance(each, UpsertPoints) and each.mode == "known" for each in steps):
            raise StoreUnavailableError("gone")

    whole = points.do
    _before_each_step(points, break_off)
    with pytest.raises(StoreUnavailableError):
        store.write([_write(A, "Mate", now)])
    points.do = whole  # type: ignore[method-assign]
    assert [each.fact.revision for each in store.replaced_versions(store.replaced_ids())] == [now]
    assert store.get(A).revision == now

    store.write([_write(A, "Mate", now)])

    assert [each.fact.revision for each in store.replaced_versions(store.replaced_ids())] == [now]


def test_what_others_write_again_while_it_is_erased_stays(
    store: QdrantStore, points: PointCollection
) -> None:
    (gone,) = store.write([StoreWrite(A, None, store.get(A).revision, "indy")])
    others = [_write(A, "Again", str(gone))]

    def write_again(_: Sequence[PointOperation]) -> None:
        if others:
            store.write([others.pop()])

    _before_each_step(points, write_again)
    store.erase(Traces([A]))
    assert store.get(A).title == "Again"


def test_the_count_of_a_tombstone_goes_with_it(points: PointCollection) -> None:
    clock = FakeClock()
    store = store_in(points, clock)
    first, _ = store.write([_write(A), _write(B)])
    store.count_accesses({A: ONE, B: ONE}, "x")
    store.write([StoreWrite(A, None, str(first), "indy", recorded=True)])
    clock.advance(100 * 86_400)
    assert store.purge(days=90) == 1
    counts = PointFilter((MatchAny("kind", [ACCESSES_KIND]),))
    assert [point["of"] for _, point in points.walk(counts, ("of",))] == [B]


@pytest.mark.parametrize(
    "damage", [{"times": "x"}, {"used": 5}, {"ops": 5}, {"ops": [5]}, {"ops": []}]
)
def test_a_damaged_count_hides_no_fact_and_is_counted_anew(
    store: QdrantStore, points: PointCollection, damage: dict[str, object]
) -> None:
    store.count_accesses({A: ONE, B: ONE}, "x")
    counts = PointFilter((MatchAny("kind", [ACCESSES_KIND]),))
    for key, payload in points.walk(counts, ("kind", "of", "times", "used", "ops", "revision")):
        points.do([UpsertPoints([Point(key, {**payload, **damage})])])

    assert [fact.id for fact in store.iter_facts()] == [A, B]
    assert store.count_accesses({A: ONE, B: ONE}, "y") == 2
    assert store.count_accesses({A: ONE}, "y") == 1
    assert {store.get(each).access_count for each in (A, B)} <= {1, 2}


def test_a_damaged_tombstone_stays_and_the_others_go(points: PointCollection) -> None:
    clock = FakeClock()
    store = store_in(points, clock)
    revisions = store.write([_write(A), _write(B)])
    store.write(
        [StoreWrite(x, None, str(y), "indy") for x, y in zip((A, B), revisions, strict=True)]
    )
    clock.advance(100 * 86_400)
    for damaged in ({"at": 5}, {"revision": None}):
        points.do([UpsertPoints([Point(A, {**points.take([A])[A], **damaged})])])
        assert store.purge(days=200) == 0
    assert store.purge(days=90) == 1
    assert points.take([A, B]).keys() == {A}
