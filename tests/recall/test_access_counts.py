"""Uses are counted in batches, beside the facts: no count is a change of one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.recalls import RecallWorld
from vaultsync.backends.state.recall_log import FileRecallLog
from vaultsync.facts import service as fact_work
from vaultsync.indexing.note_index_sync import catch_up_note_index
from vaultsync.operations.verify import verify_all
from vaultsync.recall.access_counts import AccessCounter


@pytest.fixture
def log(tmp_path: Path) -> FileRecallLog:
    return FileRecallLog(tmp_path)


@pytest.fixture
def accesses(world: RecallWorld, log: FileRecallLog) -> AccessCounter:
    return AccessCounter(world.ctx, log)


def test_uses_are_written_all_at_once(world: RecallWorld, accesses: AccessCounter) -> None:
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


def test_a_use_leaves_an_expected_revision(world: RecallWorld, accesses: AccessCounter) -> None:
    fact = world.mirrored("Berths are full")
    before, feed = world.store.state(), world.store.feed()
    for _ in range(3):
        accesses.add([fact.id])
        accesses.flush()
    assert (world.store.state(), world.store.feed()) == (before, feed)
    expect, said = fact.revision, {"content": "Berths are free"}
    changed = fact_work.update(world.ctx, fact.id, said, agent="indy", expect=expect)
    assert changed.content == "Berths are free"
    assert world.store.get(fact.id).access_count == 3


def test_a_full_log_is_written_by_itself(
    world: RecallWorld, log: FileRecallLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaultsync.recall.access_counts.FLUSH_BYTES", 100)
    accesses = AccessCounter(world.ctx, log)
    one, two = world.agent_remembers("Berths"), world.agent_remembers("Gates")
    accesses.add([one.id])
    assert world.store.get(one.id).access_count == 0
    accesses.add([two.id])
    assert world.store.get(one.id).access_count == 1
    accesses.add([two.id])
    assert world.store.get(two.id).access_count == 1


def test_an_answer_without_facts_is_not_noted(accesses: AccessCounter, log: FileRecallLog) -> None:
    accesses.add([])
    assert log.size() == 0


def test_a_store_counts_once_it_is_back(world: RecallWorld, accesses: AccessCounter) -> None:
    fact = world.agent_remembers("Berths")
    accesses.add([fact.id])
    with world.outage():
        assert accesses.flush() == 0
        accesses.add([fact.id])
    assert accesses.flush() == 2
    assert world.store.get(fact.id).access_count == 2


def test_a_use_without_answer_counts_once(world: RecallWorld, accesses: AccessCounter) -> None:
    fact = world.agent_remembers("Berths")
    accesses.add([fact.id])
    world.store.lose_ack = True
    assert accesses.flush() == 0
    world.store.lose_ack = False
    assert accesses.flush() == 1
    assert world.store.get(fact.id).access_count == 1


def test_not_every_answer_waits_for_a_store_that_is_away(
    world: RecallWorld, log: FileRecallLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaultsync.recall.access_counts.FLUSH_BYTES", 100)
    accesses = AccessCounter(world.ctx, log)
    fact = world.agent_remembers("Berths")
    tries: list[str] = []
    world.store.before = tries.append
    with world.outage():
        for _ in range(10):
            accesses.add([fact.id])
    assert 1 < len(tries) <= 6


def test_a_batch_that_another_process_takes_is_left_to_it(
    world: RecallWorld, accesses: AccessCounter, log: FileRecallLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "batch", lambda: None)
    accesses.add([world.agent_remembers("Berths").id])
    assert accesses.flush() == 0


def test_a_fact_that_is_gone_is_not_counted(world: RecallWorld, accesses: AccessCounter) -> None:
    fact = world.agent_remembers("Berths")
    accesses.add([fact.id])
    world.agent_forgets(fact.id)
    assert accesses.flush() == 0


def test_uses_are_no_work_and_no_news(world: RecallWorld, accesses: AccessCounter) -> None:
    fact = world.mirrored("Berths are full")
    bytes_before = world.data(fact)
    catch_up_note_index(world.ctx, world.index)
    for _ in range(3):
        accesses.add([hit.id for hit in world.ask("berths")])
    assert accesses.flush() == 1
    calls: list[str] = []
    world.store.before = calls.append
    report = catch_up_note_index(world.ctx, world.index)
    assert (report.put, report.dropped, report.rebuilt) == (0, 0, False)
    assert not {"find_many", "feed"} & {*calls}
    world.assert_second_pass_writes_nothing()
    assert world.data(fact) == bytes_before
    assert world.store.get(fact.id).access_count == 3
    assert verify_all(world.ctx).equal


def test_a_note_that_shows_the_count_follows_when_it_is_written_anyway(
    world: RecallWorld, accesses: AccessCounter
) -> None:
    fact = world.mirrored("Berths are full", accessCount=1)
    accesses.add([fact.id])
    accesses.flush()
    world.assert_second_pass_writes_nothing()
    assert "accessCount: 1" in world.note(fact.id)
    world.agent_updates(fact.id, content="Berths are free")
    world.assert_at_rest()
    assert "accessCount: 2" in world.note(fact.id)
