"""Both sides changed one thing differently: nothing is lost, and a person decides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.disputes import AGENTS, ALPHA, PERSONS, conflict_in, place_of, tick
from tests.world import LINES, SCOPE, World, notice
from vaultsync.errors import ConflictNotFoundError
from vaultsync.facts.service import find_conflict, visible_conflicts
from vaultsync.model.paths import VaultPath
from vaultsync.notes.conflict_note import Conflict, FieldConflict
from vaultsync.sync.conflicts import ConflictResolution, resolve_conflict
from vaultsync.sync.report import Report
from vaultsync.sync.status import read_status
from vaultsync.sync.sync_request import SyncRequest


def test_the_persons_text_stands_on_both_sides() -> None:
    world = World()
    conflict = conflict_in(world)
    assert world.fact(conflict.fact_id).content == LINES.replace(ALPHA, PERSONS)
    assert PERSONS in world.note(conflict.fact_id)
    assert AGENTS not in world.note(conflict.fact_id)
    world.assert_equal_sides()


def test_the_conflict_names_the_agent_that_lost() -> None:
    world = World()
    assert conflict_in(world).actor == "indy"


def test_ticking_the_box_takes_the_agents_version() -> None:
    world = World()
    conflict = conflict_in(world)
    tick(world, conflict)
    world.quiesce()
    assert world.fact(conflict.fact_id).content == LINES.replace(ALPHA, AGENTS)
    assert AGENTS in world.note(conflict.fact_id)
    assert world.conflict_notes() == []
    assert world.conflicts() == []
    assert PERSONS in world.everything_kept()
    world.assert_at_rest()


def test_a_conflict_stays_open_while_its_note_is_in_a_folder_that_cannot_be_read() -> None:
    world = World()
    conflict = conflict_in(world)
    world.vault.break_folder("team-core/notes")
    world.sync()
    assert [each.id for each in world.conflicts()] == [conflict.id]
    world.vault.mend_folder("team-core/notes")
    world.assert_at_rest()
    assert [each.id for each in world.conflicts()] == [conflict.id]


def _looked_at(world: World) -> Report:
    """What a dry run tells, and `status` counts; nothing is written."""
    with world.nobody_writes():
        told = world.sync(SyncRequest(dry_run=True))
        pending = read_status(world.ctx).pending
    assert pending == len(told.actions)
    return told


@pytest.mark.parametrize("moved", [False, True])
def test_a_dry_run_shows_what_a_tick_would_do(*, moved: bool) -> None:
    world = World()
    conflict = conflict_in(world)
    if moved:
        world.person_renames(place_of(conflict), "public/Elsewhere.conflict.md")
        conflict = replace(conflict, conflict_path=VaultPath("public/Elsewhere.conflict.md"))
    assert _looked_at(world).actions == []

    tick(world, conflict)
    told = _looked_at(world)
    done = world.sync()

    assert [each.action for each in told.actions] == ["update_vault"]
    assert told.actions == done.actions
    assert told.counts == done.counts


def test_a_dry_run_shows_the_deletion_that_a_tick_would_carry_out() -> None:
    world = World()
    fact = world.mirrored()
    world.mirrored("Stays.", title="A bystander")
    world.person_edits(world.path(fact.id), ALPHA, PERSONS)
    world.agent_forgets(fact.id)
    world.sync()
    (conflict,) = world.conflicts()
    tick(world, conflict)

    told = _looked_at(world)

    assert [each.action for each in told.actions] == ["delete_note"]
    assert told.actions == world.sync().actions


def test_a_dry_run_shows_nothing_of_a_tick_that_changes_nothing() -> None:
    world = World()
    conflict = conflict_in(world)
    world.mirrored("Stays.", title="A bystander")
    world.agent_forgets(conflict.fact_id)
    world.quiesce()
    tick(world, conflict)

    assert _looked_at(world).actions == []


def test_a_dry_run_does_not_show_a_deletion_that_a_later_edit_keeps_off() -> None:
    world = World()
    fact = world.mirrored()
    world.mirrored("Stays.", title="A bystander")
    world.person_edits(world.path(fact.id), ALPHA, PERSONS)
    world.agent_forgets(fact.id)
    world.sync()
    (conflict,) = world.conflicts()
    tick(world, conflict)
    world.agent_updates(fact.id, tags=["later"])

    assert [each.action for each in _looked_at(world).actions] == ["update_vault"]
    world.quiesce()
    assert world.is_alive(fact.id)


def test_a_conflict_names_its_note_where_it_lies_now() -> None:
    world = World()
    conflict = conflict_in(world)
    world.person_renames(world.path(conflict.fact_id), f"{SCOPE}/lessons/Elsewhere.md")
    world.quiesce()

    (shown,) = visible_conflicts(world.ctx, agent=None)

    assert shown.path == world.path(conflict.fact_id) != conflict.path
    assert shown.conflict_path == conflict.conflict_path
    assert find_conflict(world.ctx, conflict.id).path == shown.path


def test_the_conflict_of_a_note_that_is_gone_names_where_it_was() -> None:
    world = World()
    conflict = conflict_in(world)
    world.mirrored("Stays.", title="A bystander")
    world.agent_forgets(conflict.fact_id)
    world.quiesce()

    (shown,) = visible_conflicts(world.ctx, agent=None)

    assert shown.path == conflict.path


def test_deleting_the_conflict_note_keeps_things_as_they_are() -> None:
    world = World()
    conflict = conflict_in(world)
    note = world.note(conflict.fact_id)
    revision = world.fact(conflict.fact_id).revision
    world.person_deletes(place_of(conflict))
    world.quiesce()
    assert world.note(conflict.fact_id) == note
    assert world.fact(conflict.fact_id).revision == revision
    assert world.conflicts() == []
    (closed,) = world.archive.conflicts(closed=True)
    assert closed.outcome == "vault"
    assert f".meta/conflicts/{conflict.id}.json" not in world.vault.names
    assert AGENTS in world.everything_kept()
    world.assert_at_rest()


def test_two_fields_are_decided_one_by_one() -> None:
    world = World()
    fact = world.mirrored()
    path = world.path(fact.id)
    world.person_edits(path, "status: active", "status: archived")
    world.person_edits(path, "# A plain fact", "# The person's title")
    world.agent_updates(fact.id, status="dormant", title="The agent's title")
    world.sync()
    (conflict,) = world.conflicts()
    assert {each.field for each in conflict.fields} == {"status", "title"}
    text = world.text(place_of(conflict))
    line = next(x for x in text.split("\n") if "[ ]" in x and "status" in x)
    world.person_edits(place_of(conflict), line, line.replace("[ ]", "[x]"))
    world.sync()
    assert world.fact(fact.id).status == "dormant"
    assert world.fact(fact.id).title == "The person's title"
    (left,) = world.conflicts()
    assert [each.field for each in left.fields] == ["title"]
    world.person_edits(place_of(left), "- [ ]", "- [x]")
    world.quiesce()
    assert world.fact(fact.id).title == "The agent's title"
    assert world.conflicts() == []
    world.assert_at_rest()


def test_a_decided_field_is_not_decided_again() -> None:
    world = World()
    fact = world.mirrored()
    path = world.path(fact.id)
    world.person_edits(path, "status: active", "status: archived")
    world.person_edits(path, "# A plain fact", "# The person's title")
    world.agent_updates(fact.id, status="dormant", title="The agent's title")
    world.sync()
    (conflict,) = world.conflicts()
    text = world.text(place_of(conflict))
    line = next(x for x in text.split("\n") if "[ ]" in x and "status" in x)
    world.person_edits(place_of(conflict), line, line.replace("[ ]", "[x]"))
    world.quiesce()
    world.person_edits(path, "status: dormant", "status: revived")
    world.quiesce()
    assert world.fact(fact.id).status == "revived"


def test_a_settled_conflict_does_not_come_back() -> None:
    world = World()
    conflict = conflict_in(world)
    world.person_deletes(place_of(conflict))
    world.quiesce()
    world.person_edits(world.path(conflict.fact_id), "Bravo", "Bravissimo")
    world.agent_updates(conflict.fact_id, priority=0)
    world.quiesce()
    assert world.conflicts() == []
    assert world.conflict_notes() == []


def test_resolving_by_command_is_the_same_as_ticking() -> None:
    world = World()
    conflict = conflict_in(world)
    resolve_conflict(world.ctx, ConflictResolution(conflict, "store", ("content",)))
    world.sync(SyncRequest.for_facts([conflict.fact_id], "resolve"))
    assert AGENTS in world.note(conflict.fact_id)
    assert world.conflict_notes() == []
    world.assert_at_rest()


def test_resolving_for_the_vault_changes_nothing_but_the_conflict() -> None:
    world = World()
    conflict = conflict_in(world)
    note = world.note(conflict.fact_id)
    resolve_conflict(world.ctx, ConflictResolution(conflict, "vault", ("content",)))
    world.quiesce()
    assert world.note(conflict.fact_id) == note
    assert world.conflict_notes() == []
    world.assert_at_rest()


def test_a_conflict_is_found_by_the_beginning_of_its_id() -> None:
    world = World()
    conflict = conflict_in(world)
    assert find_conflict(world.ctx, conflict.id[:6]).id == conflict.id
    for wrong in ("", "zzzz"):
        with pytest.raises(ConflictNotFoundError):
            find_conflict(world.ctx, wrong)


def test_the_agents_wish_to_delete_is_carried_out_when_a_person_ticks_it() -> None:
    world = World()
    fact = world.mirrored()
    world.mirrored("Stays.", title="A bystander")
    world.person_edits(world.path(fact.id), ALPHA, PERSONS)
    world.agent_forgets(fact.id)
    world.sync()
    (conflict,) = world.conflicts()
    tick(world, conflict)
    world.quiesce()
    assert not world.is_alive(fact.id)
    assert world.conflict_notes() == []
    assert len(world.notes()) == 1
    assert PERSONS in world.everything_kept()
    world.assert_at_rest()


def test_keeping_a_note_that_the_agent_wanted_to_delete_is_deleting_its_conflict() -> None:
    world = World()
    fact = world.mirrored()
    world.person_edits(world.path(fact.id), ALPHA, PERSONS)
    world.agent_forgets(fact.id)
    world.sync()
    (conflict,) = world.conflicts()
    world.person_deletes(place_of(conflict))
    world.quiesce()
    assert PERSONS in world.fact(fact.id).content
    assert world.conflicts() == []
    world.assert_at_rest()


def _back_from_deletion(world: World) -> Conflict:
    """A person deleted the note of a fact that an agent changed: it came back."""
    fact = world.mirrored()
    world.mirrored("Stays.", title="A bystander")
    world.person_deletes(world.path(fact.id))
    world.agent_updates(fact.id, content=LINES.replace(ALPHA, AGENTS))
    world.quiesce()
    (conflict,) = world.conflicts()
    return conflict


def test_deleting_the_conflict_of_a_note_that_came_back_keeps_the_note() -> None:
    # The conflict note says: to leave everything as it is now, delete this note.
    world = World()
    conflict = _back_from_deletion(world)
    world.person_deletes(place_of(conflict))
    world.quiesce()
    assert world.is_alive(conflict.fact_id)
    assert AGENTS in world.note(conflict.fact_id)
    assert world.conflicts() == []
    world.assert_at_rest()


def test_ticking_the_conflict_of_a_note_that_came_back_keeps_the_note() -> None:
    world = World()
    conflict = _back_from_deletion(world)
    tick(world, conflict)
    world.quiesce()
    assert AGENTS in world.note(conflict.fact_id)
    assert world.conflicts() == []
    assert world.conflict_notes() == []
    world.assert_at_rest()


def test_resolving_for_the_vault_deletes_what_the_person_deleted() -> None:
    # The conflict note says: `--take vault` for what you wanted.
    world = World()
    conflict = _back_from_deletion(world)
    resolve_conflict(world.ctx, ConflictResolution(conflict, "vault", ("note",)))
    world.quiesce()
    assert not world.is_alive(conflict.fact_id)
    world.assert_at_rest()


def test_a_conflict_whose_fact_is_gone_can_still_be_closed() -> None:
    world = World()
    conflict = conflict_in(world)
    world.mirrored("Stays.", title="A bystander")
    world.agent_forgets(conflict.fact_id)
    world.quiesce()
    tick(world, conflict)
    world.quiesce()
    assert world.conflicts() == []
    assert not world.is_alive(conflict.fact_id)


def test_a_tick_while_the_store_is_away_waits() -> None:
    world = World()
    conflict = conflict_in(world)
    tick(world, conflict)
    world.store.away = True
    report = world.sync()
    assert notice(report, "store_away")
    assert len(world.conflicts()) == 1
    world.store.away = False
    world.quiesce()
    assert AGENTS in world.note(conflict.fact_id)
    assert world.conflicts() == []


def test_without_a_base_two_different_notes_are_a_conflict() -> None:
    world = World()
    fact = world.mirrored()
    world.person_edits(world.path(fact.id), ALPHA, PERSONS)
    world.agent_updates(fact.id, content=LINES.replace(ALPHA, AGENTS))
    with world.archive.transaction():
        world.archive.drop_bases([fact.id])
        world.archive.set_folders(dict.fromkeys(world.archive.folders()))
    world.sync()
    assert PERSONS in world.note(fact.id)
    assert PERSONS in world.fact(fact.id).content
    assert AGENTS in world.text(world.conflict_notes()[0])
    world.assert_at_rest()


def test_without_a_base_two_equal_sides_agree() -> None:
    world = World()
    fact = world.mirrored()
    with world.archive.transaction():
        world.archive.drop_bases([fact.id])
        world.archive.set_folders(dict.fromkeys(world.archive.folders()))
    world.sync()
    assert world.conflicts() == []
    assert world.fact(fact.id).revision == fact.revision
    world.assert_at_rest()


def test_a_tick_does_not_run_over_what_the_agent_wrote_since() -> None:
    world = World()
    conflict = conflict_in(world)
    newer = "Alpha, as the agent has it now."
    world.agent_updates(conflict.fact_id, content=LINES.replace(ALPHA, newer))
    tick(world, conflict)
    world.quiesce()
    kept = world.note(conflict.fact_id)
    kept += "".join(map(world.text, world.conflict_notes()))
    assert AGENTS in kept
    assert newer in kept


def test_the_agent_that_lost_is_named_though_the_mirror_wrote_last() -> None:
    world = World()
    fact = world.mirrored()
    world.person_edits(world.path(fact.id), ALPHA, AGENTS)
    world.quiesce()
    world.person_edits(world.path(fact.id), AGENTS, PERSONS)
    world.lose_archive()
    world.sync()
    (conflict,) = world.conflicts()
    assert conflict.actor == "indy"


def test_a_text_made_of_both_versions_stands_on_both_sides() -> None:
    world = World()
    conflict = conflict_in(world)
    (field,) = conflict.fields
    merged = str(field.vault).replace(PERSONS, "Alpha, as both see it.") + "\nBoth."
    settled = resolve_conflict(
        world.ctx, ConflictResolution(conflict, "vault", (field.field,), merged)
    )
    assert settled.outcome == "mixed"
    world.quiesce()
    assert world.conflicts() == []
    assert world.fact(conflict.fact_id).content == merged
    assert "Alpha, as both see it." in world.note(conflict.fact_id)
    world.assert_at_rest()


def test_a_list_made_of_both_versions_has_an_item_in_each_line() -> None:
    world = World()
    conflict = replace(
        conflict_in(world), fields=(FieldConflict("tags", [], ["mine"], ["theirs"]),)
    )
    resolution = ConflictResolution(conflict, "vault", ("tags",), "mine\n\n theirs \n")
    resolve_conflict(world.ctx, resolution)
    world.quiesce()
    assert set(world.fact(conflict.fact_id).tags) >= {"theirs"}
    world.assert_at_rest()
