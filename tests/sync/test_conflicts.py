"""Both sides changed one thing differently: nothing is lost, and a person decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from tests.disputes import AGENTS, PERSONS, conflict_in, place_of, tick
from tests.world import ALPHA, LINES, SCOPE, World, kinds, notice, refuse
from vaultsync.errors import ConflictNotFoundError
from vaultsync.facts.service import find_conflict, visible_conflicts
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.notes.conflict_note import ConflictRecord, FieldConflict
from vaultsync.sync.conflicts import ConflictResolution, resolve_conflict
from vaultsync.sync.report import Report
from vaultsync.sync.status import read_status
from vaultsync.sync.sync_request import SyncRequest

Resolve = Callable[[World, ConflictRecord], object]


def _delete_conflict_note(world: World, conflict: ConflictRecord) -> None:
    world.person_deletes(place_of(conflict))


def _command(world: World, conflict: ConflictRecord, *, take: str) -> None:
    fields = tuple(each.field for each in conflict.fields)
    resolve_conflict(world.ctx, ConflictResolution(conflict, take, fields))


TAKE_STORE, TAKE_VAULT = partial(_command, take="store"), partial(_command, take="vault")


def test_the_persons_text_stands_on_both_sides(world: World, conflict: ConflictRecord) -> None:
    assert world.fact(conflict.fact_id).content == LINES.replace(ALPHA, PERSONS)
    assert PERSONS in world.note(conflict.fact_id)
    assert AGENTS not in world.note(conflict.fact_id)
    assert conflict.actor == "indy"
    world.assert_equal_sides()


@pytest.mark.parametrize(
    ("resolve", "outcome"),
    [
        (tick, "store"),
        (TAKE_STORE, "store"),
        (_delete_conflict_note, "vault"),
        (TAKE_VAULT, "vault"),
    ],
)
def test_a_conflict_is_resolved_once_for_all(
    world: World, conflict: ConflictRecord, resolve: Resolve, outcome: str
) -> None:
    note, revision = world.note(conflict.fact_id), world.fact(conflict.fact_id).revision
    resolve(world, conflict)
    world.quiesce()
    words, lost = (AGENTS, PERSONS) if outcome == "store" else (PERSONS, AGENTS)
    now = world.fact(conflict.fact_id)
    assert now.content == LINES.replace(ALPHA, words)
    assert words in world.note(conflict.fact_id)
    if outcome == "vault":
        assert (world.note(conflict.fact_id), now.revision) == (note, revision)
    assert [each.outcome for each in world.archive.conflicts(closed=True)] == [outcome]
    assert f".meta/conflicts/{conflict.id}.json" not in world.vault.names
    assert lost in world.everything_kept()
    world.assert_at_rest()

    world.person_edits(world.path(conflict.fact_id), "Bravo", "Bravissimo")
    world.agent_updates(conflict.fact_id, priority=0)
    world.quiesce()
    assert (world.conflict_notes(), world.conflicts()) == ([], [])


@pytest.mark.parametrize("resolve", [TAKE_STORE, TAKE_VAULT])
@pytest.mark.parametrize("is_folder", [True, False])
def test_a_settled_conflict_note_that_cannot_be_removed_goes_once_it_can(
    world: World, conflict: ConflictRecord, resolve: Resolve, *, is_folder: bool
) -> None:
    note = place_of(conflict)
    locked = note.rpartition("/")[0] if is_folder else note
    world.vault.make_read_only(locked)
    resolve(world, conflict)
    for _ in range(3):
        said = notice(world.sync(), "not_removed")
        assert said.path == note
        assert "is settled, but cannot be removed" in said.message
    world.vault.make_writable(locked)
    world.quiesce()
    assert world.conflict_notes() == []
    assert world.archive.notices() == []
    world.assert_at_rest()


def test_a_settled_note_that_is_another_is_left_be(world: World, conflict: ConflictRecord) -> None:
    note = place_of(conflict)
    world.vault.make_read_only(note)
    TAKE_VAULT(world, conflict)
    world.vault.make_writable(note)
    world.person_writes(note, "Mine now.\n")
    world.quiesce()
    assert world.text(note).endswith("Mine now.\n")
    assert kinds(world.sync()) == []


def test_conflicts_in_unreadable_folders_stay_open(world: World, conflict: ConflictRecord) -> None:
    world.vault.break_folder("team-core/notes")
    world.sync()
    assert [each.id for each in world.conflicts()] == [conflict.id]
    world.vault.mend_folder("team-core/notes")
    world.assert_at_rest()
    assert [each.id for each in world.conflicts()] == [conflict.id]


def _deletion_conflict(world: World, *, deletes: str) -> ConflictRecord:
    """One side deleted a fact that the other one changed."""
    fact = world.mirrored()
    world.mirrored("Stays.", title="A bystander")
    if deletes == "person":
        world.person_deletes(fact)
        world.agent_updates(fact.id, content=LINES.replace(ALPHA, AGENTS))
    else:
        world.person_edits(fact, ALPHA, PERSONS)
        world.agent_forgets(fact.id)
    world.quiesce()
    (conflict,) = world.conflicts()
    return conflict


@pytest.mark.parametrize(
    ("deletes", "resolve", "lives"),
    [
        # The conflict note says: to leave everything as it is now, delete this note,
        ("person", _delete_conflict_note, True),
        ("person", tick, True),
        # and `--take vault` for what you wanted.
        ("person", TAKE_VAULT, False),
        ("agent", _delete_conflict_note, True),
        ("agent", tick, False),
    ],
)
def test_a_deletion_that_an_edit_beat_is_carried_out_if_chosen(
    world: World, deletes: str, resolve: Resolve, lives: bool
) -> None:
    conflict = _deletion_conflict(world, deletes=deletes)
    words = AGENTS if deletes == "person" else PERSONS
    resolve(world, conflict)
    world.quiesce()
    assert (world.conflict_notes(), world.conflicts()) == ([], [])
    assert world.is_alive(conflict.fact_id) is lives
    assert len(world.notes()) == 1 + lives
    assert words in (world.note(conflict.fact_id) if lives else world.everything_kept())
    world.assert_at_rest()


def _looked_at(world: World) -> Report:
    """What a dry run tells, and `status` counts; nothing is written."""
    with world.nobody_writes():
        told = world.sync(SyncRequest(dry_run=True))
        pending = read_status(world.ctx).pending
    assert pending == len(told.actions)
    return told


@pytest.mark.parametrize("moved", [False, True])
def test_a_dry_run_shows_what_a_tick_does(
    world: World, conflict: ConflictRecord, moved: bool
) -> None:
    if moved:
        world.person_renames(place_of(conflict), "public/Elsewhere.conflict.md")
        conflict = replace(conflict, conflict_path=VaultPath("public/Elsewhere.conflict.md"))
    assert _looked_at(world).actions == []

    tick(world, conflict)
    told = _looked_at(world)
    done = world.sync()

    assert [each.action for each in told.actions] == ["update_vault"]
    assert (told.actions, told.counts) == (done.actions, done.counts)


def test_a_dry_run_shows_the_deletion_that_a_tick_would_carry_out(world: World) -> None:
    tick(world, _deletion_conflict(world, deletes="agent"))

    told = _looked_at(world)

    assert [each.action for each in told.actions] == ["delete_note"]
    assert told.actions == world.sync().actions


def test_a_dry_run_shows_no_deletion_that_a_later_edit_keeps_off(world: World) -> None:
    conflict = _deletion_conflict(world, deletes="agent")
    tick(world, conflict)
    world.agent_updates(conflict.fact_id, tags=["later"])

    assert [each.action for each in _looked_at(world).actions] == ["update_vault"]
    world.quiesce()
    assert world.is_alive(conflict.fact_id)


def test_the_conflict_of_a_forgotten_fact_names_its_place_and_closes(world: World) -> None:
    conflict = conflict_in(world)
    world.mirrored("Stays.", title="A bystander")
    world.agent_forgets(conflict.fact_id)
    world.quiesce()
    (shown,) = visible_conflicts(world.ctx, agent=None)
    assert shown.path == conflict.path

    tick(world, conflict)
    assert _looked_at(world).actions == []
    world.quiesce()
    assert world.conflicts() == []
    assert not world.is_alive(conflict.fact_id)


def test_a_conflict_names_its_note_where_it_is_now(world: World, conflict: ConflictRecord) -> None:
    world.person_renames(world.path(conflict.fact_id), f"{SCOPE}/lessons/Elsewhere.md")
    world.quiesce()

    (shown,) = visible_conflicts(world.ctx, agent=None)

    assert shown.path == world.path(conflict.fact_id) != conflict.path
    assert shown.conflict_path == conflict.conflict_path
    assert find_conflict(world.ctx, conflict.id).path == shown.path


def test_two_fields_are_decided_one_by_one_and_only_once(world: World, fact: Fact) -> None:
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
    now = world.fact(fact.id)
    assert (now.status, now.title) == ("dormant", "The person's title")
    world.person_edits(path, "status: dormant", "status: revived")
    world.quiesce()
    assert world.fact(fact.id).status == "revived"
    (left,) = world.conflicts()
    assert [each.field for each in left.fields] == ["title"]
    tick(world, left)
    world.assert_at_rest()
    now = world.fact(fact.id)
    assert (now.status, now.title) == ("revived", "The agent's title")
    assert world.conflicts() == []


def test_a_conflict_is_found_by_the_start_of_its_id(world: World, conflict: ConflictRecord) -> None:
    assert find_conflict(world.ctx, conflict.id[:6]).id == conflict.id
    for wrong in ("", "zzzz"):
        with pytest.raises(ConflictNotFoundError):
            find_conflict(world.ctx, wrong)


def test_a_tick_while_the_store_is_away_waits(world: World, conflict: ConflictRecord) -> None:
    tick(world, conflict)
    with world.outage():
        assert notice(world.sync(), "store_away")
    assert len(world.conflicts()) == 1
    world.quiesce()
    assert AGENTS in world.note(conflict.fact_id)
    assert world.conflicts() == []


def test_without_a_base_two_different_notes_are_a_conflict(world: World, fact: Fact) -> None:
    world.person_edits(fact, ALPHA, PERSONS)
    world.agent_updates(fact.id, content=LINES.replace(ALPHA, AGENTS))
    world.lose_archive()
    world.sync()
    assert PERSONS in world.note(fact.id)
    assert PERSONS in world.fact(fact.id).content
    assert AGENTS in world.text(world.conflict_notes()[0])
    world.assert_at_rest()


@pytest.mark.parametrize("is_refused", [False, True])
def test_a_tick_keeps_what_the_agent_wrote_since(
    world: World, conflict: ConflictRecord, is_refused: bool
) -> None:
    """Also where the system at first does not let the conflict note of it be written."""
    newer = "Alpha, as the agent has it now."
    world.agent_updates(conflict.fact_id, content=LINES.replace(ALPHA, newer))
    tick(world, conflict)
    if is_refused:
        world.at("create", refuse)
        world.sync()
    world.quiesce()
    kept = world.note(conflict.fact_id)
    kept += "".join(map(world.text, world.conflict_notes()))
    assert AGENTS in kept
    assert newer in kept


def test_the_agent_that_lost_is_named_when_the_mirror_wrote_last(world: World, fact: Fact) -> None:
    world.person_edits(fact, ALPHA, AGENTS)
    world.quiesce()
    world.person_edits(fact, AGENTS, PERSONS)
    world.lose_archive()
    world.sync()
    assert [each.actor for each in world.conflicts()] == ["indy"]


def test_a_text_of_both_versions_is_on_both_sides(world: World, conflict: ConflictRecord) -> None:
    (field,) = conflict.fields
    merged = str(field.vault).replace(PERSONS, "Alpha, as both see it.") + "\nBoth."
    resolution = ConflictResolution(conflict, "vault", (field.field,), merged)
    assert resolve_conflict(world.ctx, resolution).outcome == "mixed"
    world.assert_at_rest()
    assert world.conflicts() == []
    assert world.fact(conflict.fact_id).content == merged
    assert "Alpha, as both see it." in world.note(conflict.fact_id)


def test_a_list_made_of_both_versions_has_an_item_in_each_line(world: World) -> None:
    fields = (FieldConflict("tags", [], ["mine"], ["theirs"]),)
    conflict = replace(conflict_in(world), fields=fields)
    resolution = ConflictResolution(conflict, "vault", ("tags",), "mine\n\n theirs \n")
    resolve_conflict(world.ctx, resolution)
    world.assert_at_rest()
    assert set(world.fact(conflict.fact_id).tags) >= {"theirs"}
