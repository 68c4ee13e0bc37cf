"""A copy to another store can be resumed, is proved equal, and includes the vectors."""

from __future__ import annotations

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from tests.doubles.store import MemoryStore
from tests.doubles.vectors import MemoryVectors
from tests.vector_rows import ALL, X, Y, row
from tests.world import ALPHA, PERSONS_ALPHA, World
from vaultsync.errors import MigrationError, StoreMismatchError, StoreUnavailableError
from vaultsync.model.fact import make_fact
from vaultsync.operations.migrate import (
    MigrationReport,
    check_copied,
    copy_store,
    copy_vectors,
    erased_ids,
    expect_store,
    facts_behind,
    finish_copy,
    left_at,
    left_places,
    record_left_place,
    unfinished_store,
)
from vaultsync.operations.rebuild import rebuild
from vaultsync.storage.store import AccessCount, StoreWrite
from vaultsync.sync.changes import MIGRATION_ACTOR
from vaultsync.sync.status import read_status
from vaultsync.sync.sync_request import SyncRequest


def two_stores(facts: int = 3) -> tuple[World, MemoryStore]:
    world = World()
    for at in range(facts):
        world.mirrored(title=f"Fact {at}", tags=["a"])
    return world, MemoryStore(world.clock, "other")


def _bury(store: MemoryStore, fact_id: str) -> None:
    last = store.last_write(fact_id)
    store.write([StoreWrite(fact_id, None, last.revision if last else None, "x")])


def test_facts_and_tombstones_are_copied() -> None:
    world, target = two_stores()
    first = next(world.store.iter_facts()).id
    _bury(world.store, first)
    _bury(world.store, world.clock.new_id())
    steps: list[tuple[str, int, int]] = []

    copied = copy_store(world.store, target, progress=lambda *step: steps.append(step))
    found = check_copied(world.store, target, progress=lambda *step: steps.append(step))

    assert (copied, found) == (5, (2, 2))
    assert [*target.iter_facts()] == [*world.store.iter_facts()]
    tombstone = target.tombstone(first)
    assert tombstone is not None
    assert tombstone.title == "Fact 0"
    assert {row.deleted for row in target.feed()} == {True, False}
    assert steps == [("migrate", 4, 4), ("verify", 4, 4)]
    assert copy_store(world.store, target) == 0


def test_counts_are_copied_and_a_copy_leaves_nothing_to_record() -> None:
    world, target = two_stores()
    one, two, _ = world.store.iter_facts()
    used = AccessCount(2, world.ctx.today())
    world.store.count_accesses({one.id: used, two.id: used}, "x")
    _bury(world.store, two.id)
    copy_store(world.store, target)
    assert check_copied(world.store, target) == (2, 1)
    assert target.get(one.id).access_count == 2
    assert target.replaced_versions(target.replaced_ids()) == []
    target.count_accesses({one.id: used}, "x")
    assert copy_store(world.store, target) == 0
    world.store.count_accesses({one.id: AccessCount(5, world.ctx.today())}, "y")
    assert copy_store(world.store, target) == 1
    assert target.get(one.id).access_count == 7


def test_an_interrupted_copy_can_be_continued(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_copy_reads_pages_and_not_single_facts() -> None:
    world, target = two_stores(20)
    first = next(world.store.iter_facts()).id
    _bury(world.store, first)
    asked: list[str] = []
    target.before = asked.append
    assert copy_store(world.store, target) == 21  # a tombstone takes two writes
    assert len(asked) < 20
    asked.clear()
    assert check_copied(world.store, target) == (19, 1)
    assert len(asked) < 10


def test_what_others_wrote_to_the_target_stays_and_what_changed_is_copied_again() -> None:
    world, target = two_stores(2)
    fact, other = world.store.iter_facts()
    target.write([StoreWrite(fact.id, fact.evolve(title="Newer"), None, "moss")])
    theirs = make_fact({"id": world.clock.new_id(), "title": "Theirs"})
    target.write([StoreWrite(theirs.id, theirs, None, "moss")])
    assert copy_store(world.store, target) == 1
    world.agent_updates(other.id, title="Other")
    assert copy_store(world.store, target) == 1
    assert check_copied(world.store, target) == (2, 0)
    assert target.get(fact.id).title == "Newer"
    assert target.get(other.id).title == "Other"


def test_what_changes_in_the_source_after_the_copy_began_may_differ() -> None:
    world, target = two_stores(2)
    copied_to = world.store.state().seq
    copy_store(world.store, target)
    changed, kept = world.store.iter_facts()
    world.agent_updates(changed.id, title="Changed")
    world.agent_remembers("New.")
    assert check_copied(world.store, target, copied_to=copied_to) == (3, 0)
    last = target.last_write(kept.id)
    older = kept.evolve(title="Older")
    target.write([StoreWrite(kept.id, older, last.revision if last else None, MIGRATION_ACTOR)])
    with pytest.raises(MigrationError, match="1 fact differs"):
        check_copied(world.store, target, copied_to=copied_to)


def test_a_former_store_gets_what_changed_since_and_keeps_what_others_wrote_since() -> None:
    world, target = two_stores(4)
    edited, forgotten, unchanged, theirs = (fact.id for fact in world.store.iter_facts())
    former = world.store
    copy_store(former, target)
    gone = world.mirrored(title="Gone, and its tombstone was removed").id
    expect_store(world.ctx, target, former.state().seq)
    assert (left_at(world.ctx, former), left_at(world.ctx, target)) == (5, 0)

    row = target.last_write(edited)
    newer = target.get(edited).evolve(title="Newer")
    target.write([StoreWrite(edited, newer, row.revision if row else None, "moss")])
    _bury(target, forgotten)
    last = former.last_write(theirs)
    by_others = former.get(theirs).evolve(title="By others")
    former.write([StoreWrite(theirs, by_others, last.revision if last else None, "moss")])

    since = left_at(world.ctx, former)
    assert erased_ids(target, former, since) == {gone}
    assert copy_store(target, former, left_at=since) == 3
    assert erased_ids(target, former, since) == {gone}  # if it was killed before they are erased
    assert check_copied(target, former, left_at=since) == (3, 1)
    assert {fact.title for fact in former.iter_facts()} == {"Newer", "By others", "Fact 2"}
    assert former.get(unchanged).revision == world.base(unchanged).fact.revision
    assert copy_store(target, former, left_at=since) == 0


def test_facts_that_are_older_in_a_store_that_the_archive_does_not_know_are_found() -> None:
    world, target = two_stores(7)
    edited, forgotten, unchanged, used, theirs, both, gone = (
        x.id for x in world.store.iter_facts()
    )
    former = world.store
    _bury(former, gone)
    copy_store(former, target)
    assert facts_behind(former, target) == []  # an interrupted copy is continued

    def edit(store: MemoryStore, fact_id: str, title: str) -> None:
        last = store.last_write(fact_id)
        newer = store.get(fact_id).evolve(title=title, updated_at=world.ctx.today())
        store.write([StoreWrite(fact_id, newer, last.revision if last else None, "moss")])

    edit(former, both, "From the note")  # that two machines share, each with its store
    world.clock.advance(60)
    edit(target, both, "From the note")
    edit(target, edited, "Newer")
    edit(target, theirs, "Newer")
    _bury(target, forgotten)
    _bury(target, gone)
    target.count_accesses({used: AccessCount(2, world.ctx.today())}, "x")
    world.clock.advance(60)
    edit(former, theirs, "By others")

    assert facts_behind(target, former) == [edited, forgotten]
    assert facts_behind(target, MemoryStore(world.clock, "third")) == []
    assert unchanged in {row.fact_id for row in former.feed()}


def test_facts_that_the_source_lacks_are_no_copy_and_constant_writers_stop_one() -> None:
    world, target = two_stores(1)
    copy_store(world.store, target)
    odd = make_fact({"id": world.clock.new_id(), "title": "Odd"})
    target.write([StoreWrite(odd.id, odd, None, MIGRATION_ACTOR)])
    with pytest.raises(MigrationError, match="the source lacks"):
        check_copied(world.store, target)
    world.agent_remembers("Another.")
    target.write = lambda writes: []  # type: ignore[method-assign]
    with pytest.raises(MigrationError, match="keep writing"):
        copy_store(world.store, target)


def test_a_new_store_that_a_rebuild_replaced_is_not_taken_when_it_comes_back() -> None:
    world, target = two_stores(1)
    (fact,) = world.store.iter_facts()
    copy_store(world.store, target)
    expect_store(world.ctx, target)
    world.ctx = replace(world.ctx, store=MemoryStore(world.clock, "third"))
    world.person_edits(fact, ALPHA, PERSONS_ALPHA)
    rebuild(world.ctx, "vault")

    world.ctx = replace(world.ctx, store=target)
    with pytest.raises(StoreMismatchError):
        world.sync()
    assert PERSONS_ALPHA in world.note(fact.id)


def test_what_was_written_while_the_vault_switched_is_copied_when_the_migration_was_killed() -> (
    None
):
    world, target = two_stores()
    former = world.store
    copy_store(former, target)
    assert unfinished_store(world.ctx) == ""
    expect_store(world.ctx, target, former.state().seq, "sqlite:old")
    assert unfinished_store(world.ctx) == "", "the vault has not switched"
    late = world.agent_remembers("Late.", title="Late")
    world.store, world.ctx = target, replace(world.ctx, store=target)
    assert unfinished_store(world.ctx) == "sqlite:old"

    assert finish_copy(world.ctx, former, target) == 1
    assert target.get(late.id).content == "Late."
    assert unfinished_store(world.ctx) == ""
    assert left_at(world.ctx, former) == former.state().seq
    assert finish_copy(world.ctx, former, target) == 0


def test_a_former_store_that_is_gone_ends_the_migration() -> None:
    world, target = two_stores()
    expect_store(world.ctx, target, 3, "sqlite:old")
    world.store, world.ctx = target, replace(world.ctx, store=target)
    assert finish_copy(world.ctx, None, target) == 0
    assert unfinished_store(world.ctx) == ""


def test_the_place_of_each_store_that_was_left_is_recorded_once() -> None:
    world, _ = two_stores(1)
    for place in ("one.sqlite3", "another", "one.sqlite3"):
        record_left_place(world.ctx, place)
    assert left_places(world.ctx) == ["one.sqlite3", "another"]


def test_the_vault_works_with_the_new_store() -> None:
    world, target = two_stores()
    copy_store(world.store, target)
    expect_store(world.ctx, target)
    old = world.ctx.store
    world.ctx = replace(world.ctx, store=target)

    world.sync(SyncRequest(dry_run=True))
    report = world.sync()
    world.store = target
    world.quiesce()
    world.assert_at_rest()

    assert report.quiet
    assert world.archive.setting("store_id") == "other"
    world.ctx = replace(world.ctx, store=old)
    with pytest.raises(StoreMismatchError):
        world.sync()


def test_the_status_before_the_first_run_knows_the_new_store() -> None:
    """Its feed counts from the beginning, whatever the cursor of the old store was."""
    world, target = two_stores()
    for fact in world.store.iter_facts():
        world.agent_updates(fact.id, tags=["a", "b"])
    world.quiesce()
    copy_store(world.store, target)
    expect_store(world.ctx, target)
    world.ctx = replace(world.ctx, store=target)

    found = read_status(world.ctx)
    *_, last = target.iter_facts()
    row = target.last_write(last.id)
    later = last.replace({"tags": ["c"]})
    target.write([StoreWrite(last.id, later, row.revision if row else None, "x")])

    assert (found.facts, found.notes, found.pending) == (3, 3, 0)
    assert read_status(world.ctx).pending == 1
    assert world.archive.setting("store_id") != "other"


def test_vectors_of_the_same_model_are_copied() -> None:
    world, _ = two_stores(2)
    one, two = (fact.id for fact in world.store.iter_facts())
    source, target = MemoryVectors(), MemoryVectors()
    assert copy_vectors(source, target, world.store) == 0
    source.reset("m/3/c")
    source.put([row(one, "a", X), row(one, "b", Y), row(two, "c", Y)], record="here")

    steps: list[tuple[str, int, int]] = []
    carried = copy_vectors(source, target, world.store, progress=lambda *step: steps.append(step))
    assert (carried, steps) == (2, [("vectors", 2, 2)])
    assert target.record() is None
    assert target.chunks() == source.chunks()
    assert [near.fact_id for near in target.search(X, ALL, limit=1)] == [one]
    assert copy_vectors(source, target, world.store) == 0


def test_the_report_as_json() -> None:
    done = to_builtins(MigrationReport("sqlite:x", 2, 1, 4, 2, 0.123))
    keys = "store", "facts", "tombstones", "copied", "vectors", "seconds"
    assert done == dict(zip(keys, ("sqlite:x", 2, 1, 4, 2, 0.123), strict=True))
