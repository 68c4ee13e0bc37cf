"""A plan that is not plausible is not carried out, not even a part of it."""

from __future__ import annotations

import pytest

from tests.world import World
from vaultsync.errors import GuardError
from vaultsync.model.fact import Fact
from vaultsync.sync.decision_table import ActionKind, PlannedAction, guard
from vaultsync.sync.run import sync_once
from vaultsync.sync.status import read_status
from vaultsync.sync.sync_request import SyncRequest


def _many(count: int) -> World:
    world = World()
    for number in range(count):
        world.agent_remembers(f"Number {number}.", title=f"Fact {number}")
    world.quiesce()
    assert len(world.notes()) == count
    return world


def _delete_notes(world: World, count: int) -> None:
    for path in world.notes()[:count]:
        world.vault.delete(path)
    world.sync()
    world.clock.advance(5)


def _seen(world: World) -> tuple[dict[str, bytes], dict[str, str | None], set[str]]:
    return (
        {path: inode.data for path, inode in world.vault.names.items()},
        {key: row.body for key, row in world.store._rows.items()},
        {base.fact.id for base in world.archive.iter_bases()},
    )


def test_too_many_deletions_by_a_person_stop_the_whole_pass() -> None:
    world = _many(30)
    _delete_notes(world, 11)
    world.person_edits(world.notes()[0], "Number", "Edited number")
    before = _seen(world)
    with pytest.raises(GuardError) as stopped:
        world.sync()
    assert _seen(world) == before
    assert "11 of 30" in stopped.value.message
    assert stopped.value.run in stopped.value.hint


def test_status_and_a_dry_run_say_that_the_guard_would_stop_a_pass() -> None:
    world = _many(30)
    _delete_notes(world, 11)
    for look in (read_status, lambda ctx: sync_once(ctx, SyncRequest(dry_run=True))):
        (said,) = look(world.ctx).attention
        assert said.kind == "guard"
        assert "11 of 30" in said.message
        assert "--confirm" in said.hint


def test_too_many_deletions_by_agents_stop_the_whole_pass() -> None:
    world = _many(30)
    for fact in world.facts()[:11]:
        world.agent_forgets(fact.id)
    before = _seen(world)
    with pytest.raises(GuardError):
        world.sync()
    assert _seen(world) == before


def test_ten_deletions_are_plausible() -> None:
    world = _many(30)
    _delete_notes(world, 10)
    world.quiesce()
    assert len(world.facts()) == 20


def test_a_tenth_of_many_facts_is_plausible() -> None:
    deletes = [PlannedAction(ActionKind.DELETE_FACT, str(n), "") for n in range(20)]
    assert guard(deletes, 200) is None
    assert guard([*deletes, PlannedAction(ActionKind.DELETE_NOTE, "x", "")], 200)


def test_a_small_vault_is_never_emptied_without_a_question() -> None:
    world = _many(3)
    _delete_notes(world, 3)
    with pytest.raises(GuardError):
        world.sync()
    assert len(world.facts()) == 3


def test_the_only_fact_may_be_deleted() -> None:
    world = _many(1)
    _delete_notes(world, 1)
    world.quiesce()
    assert world.facts() == []


def test_a_stopped_plan_is_carried_out_when_a_person_confirms_it() -> None:
    world = _many(30)
    _delete_notes(world, 11)
    with pytest.raises(GuardError) as stopped:
        world.sync()
    world.sync(SyncRequest(confirm=stopped.value.run))
    world.quiesce()
    assert len(world.facts()) == 19
    world.assert_at_rest()


@pytest.mark.parametrize("confirm", ["", "another run", None])
def test_only_the_run_that_was_stopped_confirms(confirm: str | None) -> None:
    world = _many(30)
    _delete_notes(world, 11)
    with pytest.raises(GuardError):
        world.sync()
    with pytest.raises(GuardError):
        world.sync(SyncRequest(confirm=confirm))
    assert len(world.facts()) == 30


def test_a_confirmation_is_good_for_one_pass_only() -> None:
    world = _many(30)
    _delete_notes(world, 11)
    with pytest.raises(GuardError) as stopped:
        world.sync()
    world.sync(SyncRequest(confirm=stopped.value.run))
    _delete_notes(world, 11)
    with pytest.raises(GuardError):
        world.sync(SyncRequest(confirm=stopped.value.run))
    assert len(world.facts()) == 19


def test_a_person_may_allow_a_number_of_deletions() -> None:
    world = _many(30)
    _delete_notes(world, 11)
    with pytest.raises(GuardError):
        world.sync(SyncRequest(max_delete=10))
    world.sync(SyncRequest(max_delete=11))
    world.quiesce()
    assert len(world.facts()) == 19


def test_a_person_may_forbid_any_deletion() -> None:
    world = _many(3)
    _delete_notes(world, 1)
    with pytest.raises(GuardError):
        world.sync(SyncRequest(max_delete=0))
    assert len(world.facts()) == 3


def test_too_many_rewrites_are_not_plausible() -> None:
    world = _many(1)
    (fact,) = world.facts()
    rewrites = [
        PlannedAction(ActionKind.UPDATE_VAULT, str(n), "", base=fact, path=world.path(fact.id))
        for n in range(101)
    ]
    assert guard(rewrites, 200)
    assert guard(rewrites, 404) is None
    assert guard(rewrites[:100], 101) is None


def test_facts_that_a_store_lost_are_not_quietly_given_back() -> None:
    world = _many(30)
    (fact, *_) = world.facts()
    lost = [PlannedAction(ActionKind.CREATE_FACT, str(n), "", base=fact) for n in range(11)]
    assert guard(lost, 30)
    assert guard(lost[:10], 30) is None


def test_new_notes_and_facts_are_always_plausible() -> None:
    made = [PlannedAction(ActionKind.CREATE_NOTE, str(n), "") for n in range(500)]
    made += [PlannedAction(ActionKind.CREATE_FACT, str(n), "") for n in range(500)]
    assert guard(made, 0) is None


def test_a_dry_run_of_an_implausible_plan_says_so_and_raises_nothing() -> None:
    world = _many(30)
    _delete_notes(world, 11)
    before = _seen(world)
    report = world.sync(SyncRequest(dry_run=True))
    assert "guard" in [each.kind for each in report.attention]
    assert report.counts["deleted_in_store"] == 11
    assert _seen(world) == before


def test_a_dry_run_shows_what_a_pass_does_and_writes_nothing(world: World, fact: Fact) -> None:
    world.person_edits(world.path(fact.id), "Alpha", "Beta")
    world.person_writes("team-core/notes/new.md", "New.\n")
    with world.nobody_writes():
        dry = world.sync(SyncRequest(dry_run=True))
    wet = world.sync()
    assert dry.dry_run
    assert not wet.dry_run
    assert dict(dry.counts) == dict(wet.counts)
    assert [each.action for each in dry.actions] == [each.action for each in wet.actions]


def test_the_first_pass_may_be_a_dry_run(world: World) -> None:
    world.agent_remembers("New.")
    with world.nobody_writes():
        report = world.sync(SyncRequest(dry_run=True))
    assert report.counts["created_in_vault"] == 1
