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


@pytest.fixture
def accesses(world: RecallWorld) -> AccessCounter:
    return AccessCounter(world.ctx, MemoryRecallLog(), index=lambda: world.index)


def test_recalls_are_written_all_at_once(world: RecallWorld, accesses: AccessCounter) -> None:
    one, two = world.agent_remembers("Berths"), world.agent_remembers("Gates")
    accesses.add([one.id, two.id])
    accesses.add([one.id])
    assert world.store.get(one.id).access_count == 0
    assert accesses.flush() == 2
    assert accesses.flush() == 0
    found = world.store.get(one.id)
    assert (found.access_count, found.last_accessed_at) == (2, world.ctx.today())
    assert found.updated_at == one.updated_at
    assert world.store.get(two.id).access_count == 1


def test_a_full_log_is_written_by_itself(
    world: RecallWorld, accesses: AccessCounter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaultsync.recall.access_counts.FLUSH_BYTES", 100)
    one, two = world.agent_remembers("Berths"), world.agent_remembers("Gates")
    accesses.add([one.id])
    assert world.store.get(one.id).access_count == 0
    accesses.add([two.id])
    assert world.store.get(one.id).access_count == 1
    accesses.add([two.id])
    assert world.store.get(two.id).access_count == 1


def test_an_answer_without_hits_is_not_noted(world: RecallWorld) -> None:
    log = MemoryRecallLog()
    AccessCounter(world.ctx, log, index=MemoryIndex).add([])
    assert log.size() == 0


def renamed_before(world: RecallWorld, moment: str, fact_id: str) -> None:
    """Have another agent rename a fact right before the store's next call of a method."""

    def before(method: str) -> None:
        if method == moment:
            world.store.before = lambda _: None
            now = world.store.get(fact_id)
            world.store.write([StoreWrite(fact_id, now.evolve(title="Buoys"), now.revision, "ada")])

    world.store.before = before


def test_a_concurrent_write_wins_over_a_count(world: RecallWorld, accesses: AccessCounter) -> None:
    fact = world.agent_remembers("Berths")
    accesses.add([fact.id])
    renamed_before(world, "write", fact.id)
    assert accesses.flush() == 0
    found = world.store.get(fact.id)
    assert (found.title, found.access_count) == ("Buoys", 0)


def test_counts_make_the_index_read_no_fact(world: RecallWorld, accesses: AccessCounter) -> None:
    fact = world.agent_remembers("Berths")
    catch_up_note_index(world.ctx, world.index)
    accesses.add([fact.id])
    assert accesses.flush() == 1
    calls: list[str] = []
    world.store.before = calls.append
    assert catch_up_note_index(world.ctx, world.index).put == 0
    assert not {"find_many", "feed"} & {*calls}


@pytest.mark.parametrize("moment", ["write", "feed", "state"])
def test_the_index_reads_what_another_writer_wrote_meanwhile(
    world: RecallWorld, accesses: AccessCounter, moment: str
) -> None:
    fact, other = world.agent_remembers("Berths"), world.agent_remembers("Gates")
    catch_up_note_index(world.ctx, world.index)
    accesses.add([fact.id])
    renamed_before(world, moment, other.id)
    assert accesses.flush() == 1
    catch_up_note_index(world.ctx, world.index)
    found = world.index.search("buoys", FactFilters(), limit=5)
    assert [each.fact_id for each in found] == [other.id]


def test_an_index_that_cannot_be_advanced_costs_nothing(world: RecallWorld) -> None:
    class Broken(MemoryIndex):
        def version(self) -> str | None:
            raise OSError(5, "Input/output error")

    accesses = AccessCounter(world.ctx, MemoryRecallLog(), index=Broken)
    accesses.add([world.agent_remembers("Berths").id])
    assert accesses.flush() == 1


def test_a_store_that_is_away_costs_the_count_and_nothing_else(
    world: RecallWorld, accesses: AccessCounter
) -> None:
    fact = world.agent_remembers("Berths")
    accesses.add([fact.id])
    world.store.away = True
    assert accesses.flush() == 0
    world.store.away = False
    assert world.store.get(fact.id).access_count == 0


def test_a_fact_that_is_gone_is_not_counted(world: RecallWorld, accesses: AccessCounter) -> None:
    fact = world.agent_remembers("Berths")
    accesses.add([fact.id])
    world.agent_forgets(fact.id)
    assert accesses.flush() == 0


def test_a_run_after_recalls_writes_no_note(world: RecallWorld, accesses: AccessCounter) -> None:
    fact = world.mirrored("Berths are full")
    path = world.path(fact.id)
    bytes_before = world.data(path)
    history = world.archive.history()
    for _ in range(3):
        accesses.add([hit.id for hit in world.ask("berths")])
    assert accesses.flush() == 1
    assert world.sync().quiet
    assert world.data(path) == bytes_before
    assert world.archive.history() == history
    assert world.store.get(fact.id).access_count == 3
    assert verify_all(world.ctx).equal


def test_an_index_has_nothing_to_put_after_recalls(world: RecallWorld) -> None:
    world.mirrored("Berths are full")
    accesses = AccessCounter(world.ctx, MemoryRecallLog(), index=MemoryIndex)
    accesses.add([hit.id for hit in world.ask("berths")])
    accesses.flush()
    report = catch_up_note_index(world.ctx, world.index)
    assert (report.put, report.dropped, report.rebuilt) == (0, 0, False)
