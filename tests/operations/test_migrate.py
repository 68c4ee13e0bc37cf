"""From any store to any other: resumable, proved, with vectors, and then gone on with."""

from __future__ import annotations

import pytest

from tests.doubles.store import MemoryStore
from tests.doubles.vectors import MemoryVectors
from tests.vector_rows import ALL, X, Y, row
from tests.world import World
from vaultsync.errors import MigrationError, StoreMismatchError, StoreUnavailableError
from vaultsync.model.fact import make_fact
from vaultsync.operations.migrate import (
    MIGRATION_ACTOR,
    MigrationReport,
    check_copied,
    copy_store,
    copy_vectors,
    expect_store,
)
from vaultsync.storage.store import StoreWrite
from vaultsync.sync.request import SyncRequest
from vaultsync.sync.status import read_status


def two_stores(facts: int = 3) -> tuple[World, MemoryStore]:
    world = World()
    for at in range(facts):
        world.mirrored(title=f"Fact {at}", tags=["a"])
    return world, MemoryStore(world.clock, "other")


def _bury(store: MemoryStore, fact_id: str) -> None:
    last = store.last_write(fact_id)
    store.write([StoreWrite(fact_id, None, last.revision if last else None, "x")])


def _equal(one: MemoryStore, other: MemoryStore) -> bool:
    return [*one.iter_facts()] == [*other.iter_facts()]


def test_facts_and_tombstones_come_over() -> None:
    world, target = two_stores()
    first = next(world.store.iter_facts()).id
    _bury(world.store, first)
    _bury(world.store, world.clock.new_id())
    heard: list[tuple[str, int, int]] = []

    copied = copy_store(world.store, target, progress=lambda *told: heard.append(told))
    found = check_copied(world.store, target, progress=lambda *told: heard.append(told))

    assert (copied, found) == (5, (2, 2))
    assert _equal(world.store, target)
    buried = target.tombstone(first)
    assert buried is not None
    assert buried.title == "Fact 0"
    assert {row.deleted for row in target.feed()} == {True, False}
    assert heard == [("migrate", 4, 4), ("verify", 4, 4)]
    assert copy_store(world.store, target) == 0


def test_a_copy_that_broke_off_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vaultsync.operations.migrate.ROWS_PER_BATCH", 1)
    world, target = two_stores()
    calls = []

    def breaks(method: str) -> None:
        calls.append(method)
        if method == "write" and calls.count("write") == 2:
            raise StoreUnavailableError("gone")

    target.before = breaks
    with pytest.raises(StoreUnavailableError):
        copy_store(world.store, target)
    with pytest.raises(MigrationError, match="2 facts differ"):
        check_copied(world.store, target)

    assert copy_store(world.store, target) == 2
    assert check_copied(world.store, target) == (3, 0)


def test_a_copy_asks_by_the_page_and_not_by_the_fact() -> None:
    world, target = two_stores(20)
    first = next(world.store.iter_facts()).id
    _bury(world.store, first)
    asked: list[str] = []
    target.before = asked.append

    assert copy_store(world.store, target) == 21  # of the tombstone first what it says
    assert len(asked) < 20
    asked.clear()
    assert check_copied(world.store, target) == (19, 1)
    assert len(asked) < 10


def test_what_others_wrote_into_the_target_stays() -> None:
    world, target = two_stores(1)
    (fact,) = world.store.iter_facts()
    target.write([StoreWrite(fact.id, fact.evolve(title="Newer"), None, "moss")])
    theirs = make_fact({"id": world.clock.new_id(), "title": "Theirs"})
    target.write([StoreWrite(theirs.id, theirs, None, "moss")])

    assert copy_store(world.store, target) == 0
    assert check_copied(world.store, target) == (1, 0)
    assert target.get(fact.id).title == "Newer"


def test_what_changed_since_a_copy_broke_off_is_copied_again() -> None:
    world, target = two_stores(1)
    (fact,) = world.store.iter_facts()
    copy_store(world.store, target)
    world.agent_updates(fact.id, title="Other")

    assert copy_store(world.store, target) == 1
    assert target.get(fact.id).title == "Other"


def test_facts_that_are_not_here_are_no_copy() -> None:
    world, target = two_stores(1)
    copy_store(world.store, target)
    odd = make_fact({"id": world.clock.new_id(), "title": "Odd"})
    target.write([StoreWrite(odd.id, odd, None, MIGRATION_ACTOR)])

    with pytest.raises(MigrationError, match="not here"):
        check_copied(world.store, target)


def test_writers_without_a_pause_end_a_copy() -> None:
    world, target = two_stores(1)
    whole = target.write
    target.write = lambda writes: []  # type: ignore[method-assign]

    with pytest.raises(MigrationError, match="without a pause"):
        copy_store(world.store, target)
    target.write = whole  # type: ignore[method-assign]


def test_the_vault_goes_on_with_the_new_store() -> None:
    world, target = two_stores()
    copy_store(world.store, target)
    expect_store(world.ctx, target)
    old = world.ctx.store
    object.__setattr__(world.ctx, "store", target)

    world.sync(SyncRequest(dry_run=True))
    report = world.sync()
    world.store = target
    world.quiesce()
    world.assert_at_rest()

    assert report.quiet
    assert world.archive.setting("store_id") == "other"
    object.__setattr__(world.ctx, "store", old)
    with pytest.raises(StoreMismatchError):
        world.sync()


def test_a_look_before_the_first_pass_knows_the_new_store() -> None:
    """It counts from the beginning: where the old one stood says nothing of it."""
    world, target = two_stores()
    for fact in world.store.iter_facts():
        world.agent_updates(fact.id, tags=["a", "b"])
    world.quiesce()
    copy_store(world.store, target)
    expect_store(world.ctx, target)
    object.__setattr__(world.ctx, "store", target)

    found = read_status(world.ctx)
    *_, last = target.iter_facts()
    row = target.last_write(last.id)
    later = last.replace({"tags": ["c"]})
    target.write([StoreWrite(last.id, later, row.revision if row else None, "x")])

    assert (found.facts, found.notes, found.pending) == (3, 3, 0)
    assert read_status(world.ctx).pending == 1
    assert world.archive.setting("store_id") != "other"


def test_vectors_of_the_same_model_come_along() -> None:
    world, _ = two_stores(2)
    one, two = (fact.id for fact in world.store.iter_facts())
    source, target = MemoryVectors(), MemoryVectors()
    assert copy_vectors(source, target, world.store) == 0
    source.reset("m/3/c")
    source.put([row(one, "a", X), row(one, "b", Y), row(two, "c", Y)], record="here")

    heard: list[tuple[str, int, int]] = []
    carried = copy_vectors(source, target, world.store, progress=lambda *told: heard.append(told))
    assert (carried, heard) == (2, [("vectors", 2, 2)])
    assert target.record() is None
    assert target.chunks() == source.chunks()
    assert [near.fact_id for near in target.search(X, ALL, limit=1)] == [one]
    assert copy_vectors(source, target, world.store) == 0


def test_what_was_done_is_told_as_json() -> None:
    done = MigrationReport("sqlite:x", 2, 1, 4, 2, 0.12345)

    assert done.as_json() == {
        "store": "sqlite:x",
        "facts": 2,
        "tombstones": 1,
        "copied": 4,
        "vectors": 2,
        "seconds": 0.123,
    }
