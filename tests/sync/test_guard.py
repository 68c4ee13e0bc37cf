"""A plan that is not plausible is not carried out, not even a part of it."""

from __future__ import annotations

import pytest

from tests.world import World, die, kinds
from vaultsync.errors import GuardError, StoreRewoundError
from vaultsync.model.fact import Fact
from vaultsync.storage.store import StoreWrite
from vaultsync.sync.decision_table import ActionKind, PlannedAction
from vaultsync.sync.plausibility import guard
from vaultsync.sync.run import sync_once
from vaultsync.sync.status import read_status
from vaultsync.sync.sync_request import SyncRequest

pytestmark = pytest.mark.long(5)


def _many(count: int, gone: int = 0) -> World:
    """Facts on both sides, of which some notes are gone and looked for once."""
    world = World()
    for number in range(count):
        world.agent_remembers(f"Number {number}.", title=f"Fact {number}")
    world.quiesce()
    assert len(world.notes()) == count
    _delete_notes(world, gone)
    return world


def _delete_notes(world: World, count: int) -> None:
    for path in world.notes()[:count]:
        world.vault.delete(path)
    world.sync()
    world.clock.advance(5)


@pytest.fixture
def world() -> World:
    return _many(30, gone=11)


def _is_stopped(world: World, request: SyncRequest | None = None) -> GuardError:
    """A pass that the guard stops changes nothing at all."""

    def seen() -> object:
        return (
            {path: inode.data for path, inode in world.vault.names.items()},
            {key: row.body for key, row in world.store._rows.items()},
            {base.fact.id for base in world.archive.iter_bases()},
        )

    before = seen()
    with pytest.raises(GuardError) as stopped:
        world.sync(request)
    assert seen() == before
    return stopped.value


def test_too_many_deletions_by_a_person_stop_the_whole_pass(world: World) -> None:
    world.person_edits(world.notes()[0], "Number", "Edited number")
    stopped = _is_stopped(world)
    assert "11 of 30" in stopped.message
    assert stopped.run in stopped.hint


def test_status_and_a_dry_run_say_that_the_guard_would_stop_a_pass(world: World) -> None:
    for look in (read_status, lambda ctx: sync_once(ctx, SyncRequest(dry_run=True))):
        with world.nobody_writes():
            (said,) = look(world.ctx).attention
        assert said.kind == "guard"
        assert "11 of 30" in said.message
        assert "--confirm" in said.hint
    assert world.sync(SyncRequest(dry_run=True)).counts["deleted_in_store"] == 11


def test_too_many_deletions_by_agents_stop_the_whole_pass() -> None:
    world = _many(30)
    for fact in world.facts()[:11]:
        world.agent_forgets(fact.id)
    _is_stopped(world)


@pytest.mark.parametrize(("facts", "gone"), [(30, 10), (1, 1)])
def test_ten_deletions_and_that_of_the_only_fact_are_plausible(facts: int, gone: int) -> None:
    world = _many(facts, gone)
    world.quiesce()
    assert len(world.facts()) == facts - gone


def test_a_tenth_of_many_facts_is_plausible() -> None:
    deletes = [PlannedAction(ActionKind.DELETE_FACT, str(n), "") for n in range(20)]
    assert guard(deletes, 200) is None
    assert guard([*deletes, PlannedAction(ActionKind.DELETE_NOTE, "x", "")], 200)


def test_a_small_vault_is_never_emptied_without_a_question() -> None:
    _is_stopped(_many(3, gone=3))


def test_a_stopped_plan_is_carried_out_once_when_a_person_confirms_it(world: World) -> None:
    run = _is_stopped(world).run
    world.sync(SyncRequest(confirm=run))
    world.assert_at_rest()
    assert len(world.facts()) == 19
    _delete_notes(world, 11)
    _is_stopped(world, SyncRequest(confirm=run))


@pytest.mark.parametrize("confirm", ["", "another run", None])
def test_only_the_run_that_was_stopped_confirms(world: World, confirm: str | None) -> None:
    first = _is_stopped(world)
    again = _is_stopped(world, SyncRequest(confirm=confirm))
    says_so = f"{confirm!r} confirms another plan" in again.message
    assert says_so is (confirm is not None)
    assert again.run in again.hint
    assert first.run != again.run


def test_a_long_prefix_confirms_too_and_a_short_one_may_be_of_a_newer_plan(world: World) -> None:
    _is_stopped(world, SyncRequest(confirm=_is_stopped(world).run[:12]))
    world.sync(SyncRequest(confirm=_is_stopped(world).run[:13]))
    assert len(world.facts()) == 19


def test_a_person_may_allow_a_number_of_deletions(world: World) -> None:
    _is_stopped(world, SyncRequest(max_delete=10))
    world.sync(SyncRequest(max_delete=11))
    world.quiesce()
    assert len(world.facts()) == 19


def test_a_person_may_forbid_any_deletion() -> None:
    _is_stopped(_many(3, gone=1), SyncRequest(max_delete=0))


@pytest.mark.parametrize(
    ("kind", "count", "facts", "is_plausible"),
    [
        (ActionKind.UPDATE_VAULT, 101, 200, False),
        (ActionKind.UPDATE_VAULT, 101, 404, True),
        (ActionKind.UPDATE_VAULT, 100, 101, True),
        # Facts that a store lost are not quietly given back.
        (ActionKind.CREATE_FACT, 11, 30, False),
        (ActionKind.CREATE_FACT, 10, 30, True),
    ],
)
def test_too_many_rewrites_or_lost_facts_are_not_plausible(
    kind: ActionKind, count: int, facts: int, is_plausible: bool
) -> None:
    actions = [PlannedAction(kind, str(n), "", base=Fact(str(n))) for n in range(count)]
    assert (guard(actions, facts) is None) is is_plausible


def _rewritten(count: int, rewritten: int) -> World:
    """Facts on both sides, of which two agents changed some since."""
    world = _many(count)
    for number, fact in enumerate(world.facts()[:rewritten]):
        world.agent_updates(fact.id, agent=("indy", "ada")[number % 2], content="New.")
    return world


def test_what_agents_were_told_is_written_comes_to_the_notes_however_much_it_is() -> None:
    world = _rewritten(150, 120)
    assert world.sync().counts["updated_in_vault"] == 120
    world.assert_at_rest()


def test_an_agents_change_beside_a_persons_is_merged_however_many_there_are() -> None:
    world = _rewritten(150, 120)
    for path in world.notes():
        world.person_edits(path, "status: active", "status: done")
    assert world.sync().counts["merged"] == 120
    world.assert_at_rest()


@pytest.mark.parametrize("actor", ["vault", "migrate", ""])
def test_too_many_rewrites_that_no_agent_asked_for_stop_the_pass(actor: str) -> None:
    world = _many(150)
    for fact in world.facts()[:101]:
        world.store.write([StoreWrite(fact.id, fact.evolve(content="x"), fact.revision, actor)])
    assert "rewrite 101 of 150" in _is_stopped(world).message


def test_what_a_person_did_to_many_notes_counts_whoever_wrote_them_last() -> None:
    world = _many(150)
    for path in world.notes():
        # The mirror would put each of the ids back.
        world.person_edits(path, "\nid: ", "\nwas: ")
    assert "rewrite 150 of 150" in _is_stopped(world).message


def test_ids_that_read_only_notes_wait_for_stop_no_pass() -> None:
    world = World()
    paths = [f"team-core/notes/{number}.md" for number in range(101)]
    for path in paths:
        world.person_writes(path, f"Number {path}.\n")
        world.vault.make_read_only(path)
    world.clock.advance(60)
    assert set(kinds(world.sync())) == {"not_written"}
    new = world.agent_remembers("New.", title="New")
    world.sync()
    assert world.path(new.id)
    for path in paths:
        world.vault.make_writable(path)
    world.assert_at_rest()
    assert world.text(paths[0]).startswith("---\nid: ")


def test_after_a_confirmed_return_of_an_older_store_its_rows_are_no_news() -> None:
    world = _many(150)
    backup = world.store.snapshot()
    for fact in world.facts()[:101]:
        world.agent_updates(fact.id, content="New.")
    world.quiesce()
    world.store.restore(backup)
    with pytest.raises(StoreRewoundError) as stopped:
        world.sync()
    # The confirmed run dies before it is done: the next one has no confirmation.
    world.at("exchange", die)
    with pytest.raises(KeyboardInterrupt):
        world.sync(SyncRequest(confirm=stopped.value.run))
    world.vault.before = world.store.before = lambda _: None
    with pytest.raises(GuardError):
        world.sync()


def test_new_notes_and_facts_are_always_plausible() -> None:
    made = [PlannedAction(ActionKind.CREATE_NOTE, str(n), "") for n in range(500)]
    made += [PlannedAction(ActionKind.CREATE_FACT, str(n), "") for n in range(500)]
    assert guard(made, 0) is None


def test_a_dry_run_shows_what_a_pass_does_and_writes_nothing() -> None:
    world = World()
    world.agent_remembers("Alpha.", title="The first pass may be a dry run")
    with world.nobody_writes():
        report = world.sync(SyncRequest(dry_run=True))
    assert report.counts["created_in_vault"] == 1
    world.quiesce()
    world.person_edits(world.notes()[0], "Alpha", "Beta")
    world.person_writes("team-core/notes/new.md", "New.\n")
    with world.nobody_writes():
        dry = world.sync(SyncRequest(dry_run=True))
    wet = world.sync()
    assert (dry.dry_run, wet.dry_run) == (True, False)
    assert dict(dry.counts) == dict(wet.counts)
    assert [each.action for each in dry.actions] == [each.action for each in wet.actions]
