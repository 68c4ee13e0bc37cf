"""Recalls are counted in batches, and never dirty a note."""

from __future__ import annotations

import pytest

from tests.doubles.recall_log import MemoryRecallLog
from tests.recalls import RecallWorld
from vaultsync.backends.memory.note_index import MemoryIndex
from vaultsync.indexing.note_index_sync import catch_up_note_index
from vaultsync.model.filters import FactFilters
from vaultsync.operations.verify import verify_all
from vaultsync.recall.access_counts import AccessCounter
from vaultsync.storage.store import StoreWrite


@pytest.fixture
def world() -> RecallWorld:
    return RecallWorld()


def test_recalls_are_counted_and_written_all_at_once(world: RecallWorld) -> None:
    one = world.agent_remembers("Berths")
    two = world.agent_remembers("Gates")
    accesses = AccessCounter(world.ctx, MemoryRecallLog())
    accesses.add([one.id, two.id])
    accesses.add([one.id])
    assert world.store.get(one.id).access_count == 0
    assert accesses.flush() == 2
    assert accesses.flush() == 0
    found = world.store.get(one.id)
    assert (found.access_count, found.last_accessed_at) == (2, world.ctx.today())
    assert found.updated_at == one.updated_at
    assert world.store.get(two.id).access_count == 1


def test_a_full_log_is_written_by_itself(world: RecallWorld) -> None:
    one, two = world.agent_remembers("Berths"), world.agent_remembers("Gates")
    accesses = AccessCounter(world.ctx, MemoryRecallLog(), flush_bytes=100)
    accesses.add([one.id])
    assert world.store.get(one.id).access_count == 0
    accesses.add([two.id])
    assert world.store.get(one.id).access_count == 1
    accesses.add([two.id])
    assert world.store.get(two.id).access_count == 1


def test_an_answer_without_hits_is_not_noted() -> None:
    log = MemoryRecallLog()
    AccessCounter(RecallWorld().ctx, log).add([])
    assert log.size() == 0


def test_a_concurrent_write_wins_over_a_count(world: RecallWorld) -> None:
    fact = world.agent_remembers("Berths")
    accesses = AccessCounter(world.ctx, MemoryRecallLog())
    accesses.add([fact.id])

    def before(method: str) -> None:
        if method == "write":
            world.store.before = lambda _: None
            now = world.store.get(fact.id)
            world.store.write([StoreWrite(fact.id, now.evolve(title="B"), now.revision, "ada")])

    world.store.before = before
    assert accesses.flush() == 0
    found = world.store.get(fact.id)
    assert (found.title, found.access_count) == ("B", 0)


def counting(world: RecallWorld, index: MemoryIndex) -> AccessCounter:
    """Of facts that the index holds."""
    catch_up_note_index(world.ctx, index)
    return AccessCounter(world.ctx, MemoryRecallLog(), index=lambda: index)


def test_counts_do_not_make_the_index_read_facts_again() -> None:
    world, index = RecallWorld(), MemoryIndex()
    fact = world.agent_remembers("Berths")
    accesses = counting(world, index)
    accesses.add([fact.id])
    assert accesses.flush() == 1
    calls: list[str] = []
    world.store.before = calls.append
    assert catch_up_note_index(world.ctx, index).put == 0
    assert "find_many" not in calls
    assert "feed" not in calls


@pytest.mark.parametrize("moment", ["write", "feed", "state"])
def test_the_index_reads_what_another_writer_wrote_meanwhile(moment: str) -> None:
    world, index = RecallWorld(), MemoryIndex()
    fact, other = world.agent_remembers("Berths"), world.agent_remembers("Gates")
    accesses = counting(world, index)
    accesses.add([fact.id])

    def before(method: str) -> None:
        if method == moment:
            world.store.before = lambda _: None
            now = world.store.get(other.id)
            world.store.write(
                [StoreWrite(other.id, now.evolve(title="Buoys"), now.revision, "ada")]
            )

    world.store.before = before
    assert accesses.flush() == 1
    catch_up_note_index(world.ctx, index)
    found = index.search("buoys", FactFilters(), limit=5)
    assert [each.fact_id for each in found] == [other.id]


def test_an_index_that_cannot_be_advanced_costs_nothing() -> None:
    class Broken(MemoryIndex):
        broken = False

        def version(self) -> str | None:
            if self.broken:
                raise OSError(5, "Input/output error")
            return super().version()

    world, index = RecallWorld(), Broken()
    fact = world.agent_remembers("Berths")
    accesses = counting(world, index)
    accesses.add([fact.id])
    index.broken = True
    assert accesses.flush() == 1


def test_a_store_that_is_away_costs_the_count_and_nothing_else(world: RecallWorld) -> None:
    fact = world.agent_remembers("Berths")
    accesses = AccessCounter(world.ctx, MemoryRecallLog())
    accesses.add([fact.id])
    world.store.away = True
    assert accesses.flush() == 0
    world.store.away = False
    assert world.store.get(fact.id).access_count == 0


def test_a_fact_that_is_gone_is_not_counted(world: RecallWorld) -> None:
    fact = world.agent_remembers("Berths")
    accesses = AccessCounter(world.ctx, MemoryRecallLog())
    accesses.add([fact.id])
    world.agent_forgets(fact.id)
    assert accesses.flush() == 0


def test_a_run_after_recalls_writes_no_note(world: RecallWorld) -> None:
    fact = world.mirrored("Berths are full")
    path = world.path(fact.id)
    bytes_before = world.data(path)
    history = world.archive.history()
    accesses = AccessCounter(world.ctx, MemoryRecallLog())
    for _ in range(3):
        accesses.add(hit.id for hit in world.ask("berths"))
    assert accesses.flush() == 1
    report = world.sync()
    assert report.quiet
    assert world.data(path) == bytes_before
    assert world.archive.history() == history
    assert world.store.get(fact.id).access_count == 3
    assert verify_all(world.ctx).equal


def test_an_index_has_nothing_to_put_after_recalls(world: RecallWorld) -> None:
    world.mirrored("Berths are full")
    accesses = AccessCounter(world.ctx, MemoryRecallLog())
    accesses.add(hit.id for hit in world.ask("berths"))
    accesses.flush()
    index: MemoryIndex = world.index
    report = catch_up_note_index(world.ctx, index)
    assert (report.put, report.dropped, report.rebuilt) == (0, 0, False)
