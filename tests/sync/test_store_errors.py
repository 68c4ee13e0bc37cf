"""A store that is away, forgetful, or another one, loses nothing and deletes nothing."""

from __future__ import annotations

import pytest

from tests.doubles.store import MemoryStore
from tests.world import AGENTS, ALPHA, LINES, MERGED, PERSONS, PERSONS_ALPHA, World, kinds
from vaultsync.errors import (
    FactNotFoundError,
    GuardError,
    StoreMismatchError,
    StoreRewoundError,
    StoreUnavailableError,
)
from vaultsync.facts import service as fact_work
from vaultsync.model.fact import Fact
from vaultsync.operations.verify import verify_all
from vaultsync.storage.store import StoreState
from vaultsync.sync.context import SyncContext
from vaultsync.sync.run import sync_once
from vaultsync.sync.sync_request import SyncRequest


def _files(world: World) -> dict[str, bytes]:
    return {path: inode.data for path, inode in world.vault.files.items()}


def test_a_pass_without_the_store_says_so_and_changes_nothing(world: World, fact: Fact) -> None:
    world.person_edits(world.path(fact.id), ALPHA, PERSONS_ALPHA)
    before = _files(world)
    world.store.away = True
    report = world.sync()
    assert kinds(report) == ["store_away"]
    assert report.quiet
    assert _files(world) == before
    world.store.away = False
    assert kinds(world.sync()) == []
    world.assert_at_rest()


@pytest.mark.parametrize("passes", [0, 1, 3])
def test_a_persons_edit_in_an_outage_arrives_later(world: World, fact: Fact, passes: int) -> None:
    world.store.away = True
    world.person_edits(world.path(fact.id), ALPHA, PERSONS_ALPHA)
    for _ in range(passes):
        world.sync()
    world.store.away = False
    world.quiesce()
    assert world.fact(fact.id).content == PERSONS
    world.assert_at_rest()


@pytest.mark.parametrize("passes", [0, 1, 3])
def test_a_note_written_in_an_outage_becomes_a_fact_afterwards(world: World, passes: int) -> None:
    world.store.away = True
    world.person_writes("team-core/notes/new.md", "Words.\n")
    for _ in range(passes):
        world.sync()
    assert world.text("team-core/notes/new.md") == "Words.\n"
    world.store.away = False
    world.quiesce()
    assert [fact.content for fact in world.facts()] == ["Words."]
    world.assert_at_rest()


@pytest.mark.parametrize("passes", [0, 1, 3])
def test_a_note_renamed_in_an_outage_keeps_its_fact(world: World, fact: Fact, passes: int) -> None:
    world.mirrored("Stays.", title="A bystander")
    world.store.away = True
    world.person_renames(world.path(fact.id), "team-core/elsewhere/moved.md")
    for _ in range(passes):
        world.sync()
    world.store.away = False
    world.quiesce()
    assert world.is_alive(fact.id)
    assert world.path(fact.id) == "team-core/elsewhere/moved.md"
    world.assert_at_rest()


@pytest.mark.parametrize("passes", [0, 1, 3])
def test_a_note_deleted_during_an_outage_is_deleted_afterwards(passes: int) -> None:
    world = World()
    fact = world.mirrored()
    world.mirrored("Stays.", title="A bystander")
    world.store.away = True
    world.person_deletes(world.path(fact.id))
    for _ in range(passes):
        world.sync()
    world.store.away = False
    world.quiesce()
    assert not world.is_alive(fact.id)
    world.assert_at_rest()


def test_what_an_agent_remembers_during_an_outage_waits_in_the_outbox(world: World) -> None:
    world.mirrored()
    world.store.away = True
    fact = world.agent_remembers("From the outage.", title="Late")
    assert len(world.archive.outbox()) == 1
    world.sync()
    world.store.away = False
    world.quiesce()
    assert world.fact(fact.id).content == "From the outage."
    assert "From the outage." in world.note(fact.id)
    assert world.archive.outbox() == []
    world.assert_at_rest()


def test_an_agents_update_during_an_outage_is_merged_afterwards(world: World) -> None:
    fact = world.mirrored(tags=["a"])
    world.store.away = True
    late = fact_work.update(world.ctx, fact.id, {"content": AGENTS}, agent="indy", add_tags=["b"])
    assert late.content == AGENTS
    assert late.tags == ("a", "b")
    world.person_edits(world.path(fact.id), ALPHA, PERSONS_ALPHA)
    world.sync()
    world.store.away = False
    # Another agent is faster than our outbox.
    world.agent_updates(fact.id, agent="ada", tags=["a", "c"])
    world.quiesce()
    now = world.fact(fact.id)
    assert now.content == MERGED
    assert set(now.tags) == {"a", "b", "c"}
    world.assert_at_rest()


def test_two_updates_during_an_outage_are_both_there_afterwards(world: World) -> None:
    fact = world.mirrored(tags=["a"])
    world.store.away = True
    fact_work.update(world.ctx, fact.id, {}, agent="indy", add_tags=["b"])
    fact_work.update(world.ctx, fact.id, {}, agent="indy", add_tags=["c"])
    fact_work.update(world.ctx, fact.id, {"priority": 0}, agent="indy")
    world.store.away = False
    world.quiesce()
    now = world.fact(fact.id)
    assert set(now.tags) == {"a", "b", "c"}
    assert now.priority == 0
    world.assert_at_rest()


def test_a_fact_made_and_updated_during_one_outage_is_there_afterwards(world: World) -> None:
    world.store.away = True
    fact = world.agent_remembers("First.", title="Late")
    late = fact_work.update(world.ctx, fact.id, {"content": "Second."}, agent="indy")
    assert late.content == "Second."
    world.store.away = False
    world.quiesce()
    assert world.fact(fact.id).content == "Second."


def test_what_others_wrote_is_not_overwritten_by_the_outbox(world: World, fact: Fact) -> None:
    world.store.away = True
    world.agent_updates(fact.id, content=LINES.replace(ALPHA, "Alpha of the outbox."))
    world.store.away = False
    theirs = LINES.replace(ALPHA, "Alpha of another agent.")
    world.agent_updates(fact.id, agent="ada", content=theirs)
    world.quiesce()
    kept = world.everything_kept()
    assert "Alpha of the outbox." in kept
    assert "Alpha of another agent." in kept
    world.assert_at_rest()


def test_a_fact_that_replaces_another_during_an_outage_waits_as_well(world: World) -> None:
    first = world.mirrored()
    world.store.away = True
    second = fact_work.supersede(world.ctx, first.id, "Second.", agent="indy")
    third = fact_work.supersede(world.ctx, second.id, "Third.", agent="indy")
    assert fact_work.get(world.ctx, third.id, agent="indy").content == "Third."
    with pytest.raises(StoreUnavailableError):
        fact_work.supersede(world.ctx, world.clock.new_id(), "x", agent="indy")
    world.sync()
    world.store.away = False
    world.quiesce()
    chain = [world.fact(each.id) for each in (first, second, third)]
    assert [each.superseded_by_id for each in chain] == [second.id, third.id, None]
    assert [each.supersedes_id for each in chain] == [None, first.id, second.id]
    world.assert_at_rest()


def test_a_fact_that_replaced_another_though_nobody_heard_of_it_does_so_once(world: World) -> None:
    first = world.mirrored()
    world.store.lose_ack = True
    second = fact_work.supersede(world.ctx, first.id, "Second.", agent="indy")
    world.store.lose_ack = False
    world.quiesce()
    assert world.fact(first.id).superseded_by_id == second.id
    assert world.fact(second.id).supersedes_id == first.id
    assert len(world.facts()) == 2
    world.assert_at_rest()


def test_a_pass_tells_what_helps_a_store(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.mirrored()

    def full() -> StoreState:
        raise StoreUnavailableError("its disk is full", helps="make room on its disk")

    monkeypatch.setattr(world.store, "state", full)
    (told,) = world.sync().attention
    assert told.message.startswith("the store does not answer: its disk is full")
    assert told.hint == (
        "make room on its disk; the next run after it is back brings everything over"
    )


def test_a_deletion_during_an_outage_waits_as_well(world: World, fact: Fact) -> None:
    world.mirrored("Stays.", title="A bystander")
    world.store.away = True
    world.agent_forgets(fact.id)
    world.sync()
    assert LINES in world.note(fact.id)
    world.store.away = False
    world.quiesce()
    assert not world.is_alive(fact.id)
    world.assert_at_rest()


def test_a_fact_that_waits_can_be_read_and_changed_when_the_store_is_back(world: World) -> None:
    world.store.away = True
    fact = world.agent_remembers("First.", title="Late", tags=["a"])
    world.store.away = False  # and no pass has brought it over yet
    assert fact_work.get(world.ctx, fact.id, agent="indy").content == "First."
    late = world.agent_updates(fact.id, content="Second.")
    assert late.content == "Second."
    fact_work.update(world.ctx, fact.id, {}, agent="indy", add_tags=["b"])
    newer = fact_work.supersede(world.ctx, fact.id, "Third.", agent="indy")
    with pytest.raises(FactNotFoundError):
        fact_work.get(world.ctx, world.clock.new_id(), agent="indy")
    world.quiesce()
    now = world.fact(fact.id)
    assert (now.content, set(now.tags)) == ("Second.", {"a", "b"})
    assert now.superseded_by_id == newer.id
    world.assert_at_rest()


def test_a_fact_that_waits_can_be_forgotten_when_the_store_is_back(world: World) -> None:
    world.store.away = True
    fact = world.agent_remembers("First.", title="Late")
    world.store.away = False
    world.agent_forgets(fact.id)
    with pytest.raises(FactNotFoundError):
        fact_work.get(world.ctx, fact.id, agent="indy")
    world.quiesce()
    assert not world.is_alive(fact.id)
    world.assert_at_rest()


def test_an_edit_made_meanwhile_beats_a_deletion_in_the_outbox(world: World, fact: Fact) -> None:
    world.mirrored("Stays.", title="A bystander")
    world.store.away = True
    world.agent_forgets(fact.id)
    world.store.away = False
    world.agent_updates(fact.id, agent="ada", content=AGENTS)
    world.quiesce()
    assert "what the agent says" in world.everything_kept()


def test_a_fact_can_be_read_from_its_base_during_an_outage(world: World, fact: Fact) -> None:
    world.store.away = True
    assert fact_work.get(world.ctx, fact.id, agent="indy").content == LINES
    with pytest.raises(StoreUnavailableError):
        fact_work.get(world.ctx, world.clock.new_id(), agent="indy")
    with pytest.raises((FactNotFoundError, StoreUnavailableError)):
        world.agent_updates(world.clock.new_id(), content="x")
    with pytest.raises(StoreUnavailableError):
        world.agent_forgets(world.clock.new_id())


def test_an_outbox_row_that_was_written_already_is_harmless(world: World) -> None:
    fact = world.mirrored(tags=["a"])
    world.store.lose_ack = True
    fact_work.update(world.ctx, fact.id, {}, agent="indy", add_tags=["b"])
    new = world.agent_remembers("Once.", title="Once")
    world.store.lose_ack = False
    world.quiesce()
    assert world.fact(fact.id).tags == ("a", "b")
    assert world.fact(new.id).content == "Once."
    assert len(world.facts()) == 2
    world.assert_at_rest()


def test_a_store_that_goes_away_again_keeps_the_rest_in_the_outbox(world: World) -> None:
    world.store.away = True
    one = world.agent_remembers("One.", title="One")
    two = world.agent_remembers("Two.", title="Two")
    world.store.away = False
    writes = 0

    def second_fails(method: str) -> None:
        nonlocal writes
        if method == "write":
            writes += 1
            if writes == 2:
                why = "again"
                raise StoreUnavailableError(why)

    world.store.before = second_fails
    world.sync()
    world.store.before = lambda _: None
    assert world.is_alive(one.id)
    world.quiesce()
    assert world.is_alive(two.id)
    world.assert_at_rest()


def test_an_answer_that_got_lost_is_found_out_by_the_next_pass(world: World, fact: Fact) -> None:
    world.person_edits(world.path(fact.id), ALPHA, PERSONS_ALPHA)
    world.agent_updates(fact.id, content=AGENTS)
    world.store.lose_ack = True
    with pytest.raises(StoreUnavailableError):
        world.sync()
    world.store.lose_ack = False
    world.quiesce()
    assert world.fact(fact.id).content == MERGED
    assert world.conflict_notes() == []
    world.assert_at_rest()


def test_an_answer_that_got_lost_for_a_new_note_makes_no_second_fact(world: World) -> None:
    world.person_writes("team-core/notes/new.md", "Words.\n")
    world.store.lose_ack = True
    with pytest.raises(StoreUnavailableError):
        world.sync()
    world.store.lose_ack = False
    world.quiesce()
    assert [fact.content for fact in world.facts()] == ["Words."]
    assert len(world.notes()) == 1
    world.assert_at_rest()


def test_an_answer_that_got_lost_for_a_deletion_is_harmless(world: World, fact: Fact) -> None:
    world.mirrored("Stays.", title="A bystander")
    world.person_deletes_for_good(world.path(fact.id))
    world.store.lose_ack = True
    with pytest.raises(StoreUnavailableError):
        world.sync()
    world.store.lose_ack = False
    world.quiesce()
    assert not world.is_alive(fact.id)
    world.assert_at_rest()


@pytest.mark.parametrize("method", ["state", "feed", "find_many", "write", "written"])
def test_a_store_that_goes_away_in_the_middle_of_a_pass_loses_nothing(method: str) -> None:
    world = World()
    fact = world.mirrored()
    world.person_edits(world.path(fact.id), ALPHA, PERSONS_ALPHA)
    world.person_writes("team-core/notes/new.md", "Words.\n")
    world.agent_updates(fact.id, content=AGENTS)

    def go_away(now: str) -> None:
        if now == method:
            world.store.away = True

    world.store.before = go_away
    # A pass may go on without the store, or give up; it must not mix things up.
    try:
        world.sync()
    except StoreUnavailableError:
        assert method != "state"
    world.store.before, world.store.away = (lambda _: None), False
    world.quiesce()
    assert world.fact(fact.id).content == MERGED
    assert len(world.facts()) == 2
    assert world.conflict_notes() == []
    world.assert_at_rest()


def test_an_agent_that_writes_during_a_pass_is_not_overwritten(world: World, fact: Fact) -> None:
    world.person_edits(world.path(fact.id), ALPHA, PERSONS_ALPHA)

    def agent_is_faster(method: str) -> None:
        if method == "write":
            world.store.before = lambda _: None
            world.agent_updates(fact.id, content=AGENTS)

    world.store.before = agent_is_faster
    world.sync()
    world.store.before = lambda _: None
    world.quiesce()
    assert world.fact(fact.id).content == MERGED
    assert MERGED in world.note(fact.id)
    world.assert_at_rest()


def test_an_empty_store_stops_the_pass(world: World) -> None:
    facts = [world.mirrored(f"{n}.", title=f"Fact {n}") for n in range(3)]
    before = _files(world)
    world.store.clear()
    with pytest.raises(StoreRewoundError) as stopped:
        world.sync()
    assert _files(world) == before
    assert world.facts() == []
    assert "rebuild --from vault" in stopped.value.hint
    world.sync(SyncRequest(confirm=stopped.value.run))
    world.quiesce()
    assert _files(world) == before
    assert {fact.id for fact in world.facts()} == {fact.id for fact in facts}
    world.assert_at_rest()


def test_a_store_from_an_old_backup_stops_the_pass(world: World) -> None:
    one = world.mirrored("One.", title="One")
    backup = world.store.snapshot()
    two = world.mirrored("Two.", title="Two")
    world.agent_updates(one.id, content="One, later.")
    world.quiesce()
    before = _files(world)
    world.store.restore(backup)
    with pytest.raises(StoreRewoundError) as stopped:
        world.sync()
    assert _files(world) == before
    world.sync(SyncRequest(confirm=stopped.value.run))
    world.quiesce()
    assert world.is_alive(two.id)
    assert "One, later." in world.everything_kept()
    world.assert_at_rest()


def test_a_backup_that_was_written_to_since_stops_the_pass_all_the_same(world: World) -> None:
    one = world.mirrored("One.", title="One")
    backup = world.store.snapshot()
    two = world.mirrored("Two.", title="Two")
    before = _files(world)
    world.store.restore(backup)
    # As many writes as were lost, by somebody else: the counter stands where it was.
    world.agent_updates(one.id, content="Another past.")
    with pytest.raises(StoreRewoundError) as stopped:
        world.sync()
    assert _files(world) == before
    world.sync(SyncRequest(confirm=stopped.value.run))
    world.quiesce()
    assert world.is_alive(two.id)
    assert "Another past." in world.note(one.id)
    world.assert_at_rest()


@pytest.mark.parametrize("more", [2, 3, 5])
def test_a_backup_that_was_written_to_a_lot_stops_the_pass_too(world: World, more: int) -> None:
    one = world.mirrored("One.", title="One")
    backup = world.store.snapshot()
    two = world.mirrored("Two.", title="Two")
    before = _files(world)
    world.store.restore(backup)
    for number in range(more):
        world.agent_updates(one.id, content=f"Another past {number}.")
    # The row that was seen last is not in the feed any more: it must be missed.
    with pytest.raises(StoreRewoundError):
        world.sync()
    assert _files(world) == before
    assert not world.is_alive(two.id)


def test_another_store_stops_the_pass(world: World, fact: Fact) -> None:
    before = _files(world)
    other = MemoryStore(world.clock, "another")
    ctx = SyncContext(other, world.archive, world.clock, vault=world.vault)
    with pytest.raises(StoreMismatchError):
        sync_once(ctx)
    assert _files(world) == before
    assert list(other.iter_facts()) == []
    assert world.archive.find_base(fact.id) is not None


def test_no_guard_is_needed_to_refuse_what_a_store_lost(world: World) -> None:
    for number in range(30):
        world.agent_remembers(f"{number}.", title=f"Fact {number}")
    world.quiesce()
    before = _files(world)
    for fact in world.facts()[:15]:
        del world.store._rows[fact.id]
    ids = tuple(base.fact.id for base in world.archive.iter_bases())
    with pytest.raises(GuardError):
        world.sync(SyncRequest(fact_ids=ids))
    assert _files(world) == before


def test_verify_needs_the_store(world: World) -> None:
    world.mirrored()
    world.store.away = True
    with pytest.raises(StoreUnavailableError):
        verify_all(world.ctx)
