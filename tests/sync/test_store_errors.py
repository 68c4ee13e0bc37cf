"""A store that is away, forgetful, or another one, loses nothing and deletes nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.doubles.store import MemoryStore, StoreBackup
from tests.world import AGENTS, ALPHA, LINES, MERGED, PERSONS, PERSONS_ALPHA, World, kinds
from vaultsync import errors
from vaultsync.facts import service as fact_work
from vaultsync.model.fact import Fact
from vaultsync.operations.verify import verify_all
from vaultsync.storage.store import StoreState
from vaultsync.sync.context import SyncContext
from vaultsync.sync.run import sync_once
from vaultsync.sync.sync_request import SyncRequest

NEW, MOVED = "team-core/notes/new.md", "team-core/elsewhere/moved.md"


def _files(world: World) -> dict[str, bytes]:
    return {path: inode.data for path, inode in world.vault.files.items()}


def test_a_pass_without_the_store_says_so_and_changes_nothing(world: World, fact: Fact) -> None:
    world.person_edits(fact, ALPHA, PERSONS_ALPHA)
    before = _files(world)
    with world.outage():
        report = world.sync()
    assert kinds(report) == ["store_away"]
    assert report.quiet
    assert _files(world) == before
    assert kinds(world.sync()) == []
    world.assert_at_rest()


def _edit(world: World, path: str) -> None:
    world.person_edits(path, ALPHA, PERSONS_ALPHA)


def _write(world: World, path: str) -> None:
    world.person_writes(NEW, "Words.\n")


def _rename(world: World, path: str) -> None:
    world.person_renames(path, MOVED)


@pytest.mark.parametrize("passes", [0, 1, 3])
@pytest.mark.parametrize(
    ("act", "path", "contents"),
    [
        (_edit, None, [PERSONS, "Stays."]),
        (_write, NEW, [LINES, "Stays.", "Words."]),
        (_rename, MOVED, [LINES, "Stays."]),
        (World.person_deletes, None, ["Stays."]),
    ],
)
def test_what_a_person_does_in_an_outage_arrives_afterwards(
    act: Callable[[World, str], None], path: str | None, contents: list[str], passes: int
) -> None:
    world = World()
    fact = world.mirrored()
    world.mirrored("Stays.", title="A bystander")
    with world.outage():
        act(world, world.path(fact.id))
        before = _files(world)
        for _ in range(passes):
            world.sync()
        assert _files(world) == before
    world.quiesce()
    assert sorted(each.content for each in world.facts()) == contents
    assert path is None or path in world.archive.paths()
    assert world.is_alive(fact.id) is (act is not World.person_deletes)
    world.assert_at_rest()


def test_what_an_agent_remembers_in_an_outage_waits_in_the_outbox(world: World) -> None:
    world.mirrored()
    with world.outage():
        fact = world.agent_remembers("First.", title="Late")
        assert len(world.archive.outbox()) == 1
        late = world.agent_updates(fact.id, content="From the outage.")
        assert late.content == "From the outage."
        world.sync()
    world.assert_at_rest()
    assert world.fact(fact.id).content == "From the outage."
    assert "From the outage." in world.note(fact.id)
    assert world.archive.outbox() == []


def test_an_agents_update_in_an_outage_is_merged_afterwards(world: World) -> None:
    fact = world.mirrored(tags=["a"])
    with world.outage():
        values = {"content": AGENTS}
        late = fact_work.update(world.ctx, fact.id, values, agent="indy", add_tags=["b"])
        assert (late.content, late.tags) == (AGENTS, ("a", "b"))
        fact_work.update(world.ctx, fact.id, {"priority": 0}, agent="indy", add_tags=["d"])
        world.person_edits(fact, ALPHA, PERSONS_ALPHA)
        world.sync()
    # Another agent is faster than our outbox.
    world.agent_updates(fact.id, agent="ada", tags=["a", "c"])
    world.assert_at_rest()
    now = world.fact(fact.id)
    assert (now.content, set(now.tags), now.priority) == (MERGED, {"a", "b", "c", "d"}, 0)


def test_what_others_wrote_is_not_overwritten_by_the_outbox(world: World, fact: Fact) -> None:
    with world.outage():
        world.agent_updates(fact.id, content=LINES.replace(ALPHA, "Alpha of the outbox."))
    theirs = LINES.replace(ALPHA, "Alpha of another agent.")
    world.agent_updates(fact.id, agent="ada", content=theirs)
    world.assert_at_rest()
    assert world.fact(fact.id).content == theirs
    assert "Alpha of the outbox." in world.everything_kept()


def test_a_fact_that_replaces_another_in_an_outage_waits_as_well(world: World) -> None:
    first = world.mirrored()
    with world.outage():
        second = fact_work.supersede(world.ctx, first.id, "Second.", agent="indy")
        third = fact_work.supersede(world.ctx, second.id, "Third.", agent="indy")
        assert fact_work.get(world.ctx, third.id, agent="indy").content == "Third."
        with pytest.raises(errors.StoreUnavailableError):
            fact_work.supersede(world.ctx, world.clock.new_id(), "x", agent="indy")
        world.sync()
    world.assert_at_rest()
    chain = [world.fact(each.id) for each in (first, second, third)]
    assert [each.superseded_by_id for each in chain] == [second.id, third.id, None]
    assert [each.supersedes_id for each in chain] == [None, first.id, second.id]


def test_what_an_agent_wrote_without_an_answer_is_written_once(world: World) -> None:
    first = world.mirrored()
    tagged = world.mirrored("Tagged.", title="Tagged", tags=["a"])
    world.store.lose_ack = True
    second = fact_work.supersede(world.ctx, first.id, "Second.", agent="indy")
    fact_work.update(world.ctx, tagged.id, {}, agent="indy", add_tags=["b"])
    new = world.agent_remembers("Once.", title="Once")
    world.store.lose_ack = False
    world.assert_at_rest()
    assert world.fact(first.id).superseded_by_id == second.id
    assert world.fact(second.id).supersedes_id == first.id
    assert world.fact(tagged.id).tags == ("a", "b")
    assert world.fact(new.id).content == "Once."
    assert len(world.facts()) == 4


def test_a_pass_tells_what_helps_a_store(
    world: World, fact: Fact, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full() -> StoreState:
        raise errors.StoreUnavailableError("its disk is full", helps="make room on its disk")

    monkeypatch.setattr(world.store, "state", full)
    (told,) = world.sync().attention
    assert told.message.startswith("the store does not answer: its disk is full")
    assert told.hint == (
        "make room on its disk; the next run after it is available syncs everything"
    )


def test_a_deletion_in_an_outage_waits_as_well(world: World, fact: Fact) -> None:
    world.mirrored("Stays.", title="A bystander")
    with world.outage():
        world.agent_forgets(fact.id)
        with pytest.raises(errors.FactNotFoundError):
            fact_work.get(world.ctx, fact.id, agent="indy")
        world.sync()
        assert LINES in world.note(fact.id)
    world.assert_at_rest()
    assert not world.is_alive(fact.id)


def test_a_fact_that_waits_can_be_changed_when_the_store_is_back(world: World) -> None:
    with world.outage():
        fact = world.agent_remembers("First.", title="Late", tags=["a"])
        other = world.agent_remembers("Forgotten.", title="Forgotten")
    # No pass has brought them over yet.
    assert fact_work.get(world.ctx, fact.id, agent="indy").content == "First."
    assert world.agent_updates(fact.id, content="Second.").content == "Second."
    fact_work.update(world.ctx, fact.id, {}, agent="indy", add_tags=["b"])
    newer = fact_work.supersede(world.ctx, fact.id, "Third.", agent="indy")
    world.agent_forgets(other.id)
    for unknown in (other.id, world.clock.new_id()):
        with pytest.raises(errors.FactNotFoundError):
            fact_work.get(world.ctx, unknown, agent="indy")
    world.assert_at_rest()
    now = world.fact(fact.id)
    assert (now.content, set(now.tags)) == ("Second.", {"a", "b"})
    assert now.superseded_by_id == newer.id
    assert not world.is_alive(other.id)


def test_a_fact_can_be_read_from_its_base_in_an_outage(world: World, fact: Fact) -> None:
    unknown = world.clock.new_id()
    with world.outage():
        assert fact_work.get(world.ctx, fact.id, agent="indy").content == LINES
        with pytest.raises(errors.StoreUnavailableError):
            fact_work.get(world.ctx, unknown, agent="indy")
        with pytest.raises((errors.FactNotFoundError, errors.StoreUnavailableError)):
            world.agent_updates(unknown, content="x")
        with pytest.raises(errors.StoreUnavailableError):
            world.agent_forgets(unknown)
        with pytest.raises(errors.StoreUnavailableError):
            verify_all(world.ctx)


def _go_away() -> None:
    raise errors.StoreUnavailableError("again")


def test_a_store_that_goes_away_again_keeps_the_rest_in_the_outbox(world: World) -> None:
    with world.outage():
        one = world.agent_remembers("One.", title="One")
        two = world.agent_remembers("Two.", title="Two")
    world.at("write", _go_away, number=2)
    world.sync()
    assert world.is_alive(one.id)
    world.assert_at_rest()
    assert world.is_alive(two.id)


def test_an_answer_that_got_lost_is_found_out_by_the_next_pass(world: World, fact: Fact) -> None:
    gone = world.mirrored("Gone.", title="Gone")
    world.mirrored("Stays.", title="A bystander")
    world.person_deletes_for_good(gone)
    world.person_edits(fact, ALPHA, PERSONS_ALPHA)
    world.agent_updates(fact.id, content=AGENTS)
    world.person_writes(NEW, "Words.\n")
    world.sync_without_answer()
    world.assert_at_rest()
    assert sorted(each.content for each in world.facts()) == [MERGED, "Stays.", "Words."]
    assert world.conflict_notes() == []
    assert len(world.notes()) == 3


def test_an_empty_store_stops_the_pass(world: World) -> None:
    facts = [world.mirrored(f"{n}.", title=f"Fact {n}") for n in range(3)]
    before = _files(world)
    world.store.clear()
    with pytest.raises(errors.StoreRewoundError, match="it is empty") as stopped:
        world.sync()
    assert _files(world) == before
    assert world.facts() == []
    assert "rebuild --from vault" in stopped.value.hint
    world.confirm()
    world.assert_at_rest()
    assert _files(world) == before
    assert {fact.id for fact in world.facts()} == {fact.id for fact in facts}


def _with_backup(world: World) -> tuple[Fact, Fact, StoreBackup]:
    """Two facts, of which a backup knows the first."""
    one = world.mirrored("One.", title="One")
    backup = world.store.snapshot()
    return one, world.mirrored("Two.", title="Two"), backup


def test_a_store_from_an_old_backup_stops_the_pass(world: World) -> None:
    one, two, backup = _with_backup(world)
    world.agent_updates(one.id, content="One, later.")
    world.quiesce()
    before = _files(world)
    world.store.restore(backup)
    with pytest.raises(errors.StoreRewoundError):
        world.sync()
    assert _files(world) == before
    world.confirm()
    world.assert_at_rest()
    assert world.is_alive(two.id)
    assert "One, later." in world.everything_kept()


@pytest.mark.parametrize("writes", [1, 2, 3, 5])
def test_a_backup_that_was_written_to_since_stops_the_pass_too(world: World, writes: int) -> None:
    # After one write by another process, the counter stands where it was; after more, the row
    # that was seen last is not in the feed any more: it must be missed.
    one, two, backup = _with_backup(world)
    before = _files(world)
    world.store.restore(backup)
    for number in range(writes):
        world.agent_updates(one.id, content=f"Another past {number}.")
    with pytest.raises(errors.StoreRewoundError):
        world.sync()
    assert _files(world) == before
    assert not world.is_alive(two.id)
    world.confirm()
    world.assert_at_rest()
    assert world.is_alive(two.id)
    assert f"Another past {writes - 1}." in world.note(one.id)


def test_another_store_stops_the_pass(world: World, fact: Fact) -> None:
    before = _files(world)
    other = MemoryStore(world.clock, "another")
    ctx = SyncContext(other, world.archive, world.clock, vault=world.vault)
    with pytest.raises(errors.StoreMismatchError):
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
    with pytest.raises(errors.GuardError):
        world.sync(SyncRequest(fact_ids=ids))
    assert _files(world) == before
