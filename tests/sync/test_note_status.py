"""The status of one note says whether it is synced, and if not, why and what to do."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.world import World
from vaultsync.errors import NoteMissingError
from vaultsync.model.paths import VaultPath
from vaultsync.operations.adopt import adopt_notes
from vaultsync.operations.undo import undo_run
from vaultsync.sync.note_status import read_note_status
from vaultsync.sync.report import NoteStatus


def status(world: World, path: str, agent: str | None = None) -> NoteStatus:
    with world.nobody_writes():
        return read_note_status(world.ctx, VaultPath(path), agent=agent)


def test_a_note_that_equals_its_fact_is_synced(world: World) -> None:
    fact = world.mirrored("One line.")
    world.clock.advance(60)
    found = status(world, world.path(fact.id))
    assert (found.state, found.fact_id, found.hint) == ("synced", fact.id, "")


def test_changes_on_either_side_are_pending(world: World) -> None:
    fact = world.mirrored("One line.")
    path = world.path(fact.id)
    world.person_edits(path, "One line.", "Two lines.")
    world.clock.advance(60)
    found = status(world, path)
    assert (found.state, found.fact_id) == ("pending", fact.id)
    assert "changed in the vault" in found.message
    world.quiesce()
    world.agent_updates(fact.id, content="Three lines.")
    assert "changed in the store" in status(world, path).message


def test_a_deleted_note_is_pending_and_an_unknown_path_is_an_error(world: World) -> None:
    fact = world.mirrored("One line.")
    path = world.path(fact.id)
    world.person_deletes(path)
    assert status(world, path).fact_id == fact.id
    with pytest.raises(NoteMissingError):
        status(world, "public/notes/nothing.md")


def test_a_new_note_in_a_scope_is_pending(world: World) -> None:
    world.person_writes("public/notes/new.md", "New.\n")
    world.clock.advance(60)
    assert status(world, "public/notes/new.md").state == "pending"


def test_a_note_outside_scopes_is_not_adopted_and_the_hint_names_it(world: World) -> None:
    world.person_writes("Old stuff/my note.md", "Mine.\n")
    world.clock.advance(60)
    found = status(world, "Old stuff/my note.md")
    assert (found.state, found.fact_id) == ("not_adopted", None)
    assert "`vaultsync adopt 'Old stuff/my note.md'`" in found.hint


def test_a_note_whose_adoption_was_undone_says_so(world: World) -> None:
    world.person_writes("Old/mine.md", "Mine.\n")
    world.clock.advance(60)
    undo_run(world.ctx, adopt_notes(world.ctx, [VaultPath("Old")]).run)
    world.clock.advance(60)
    found = status(world, "Old/mine.md")
    assert (found.state, found.message) == ("not_adopted", "its adoption was undone")


def test_a_conflict_and_how_to_resolve_it_are_named(world: World) -> None:
    fact = world.mirrored("One line.")
    world.person_edits(fact, "One line.", "A person's line.")
    world.agent_updates(fact.id, content="An agent's line.")
    world.quiesce()
    (conflict,) = world.conflicts()
    found = status(world, world.path(fact.id))
    assert (found.state, found.fact_id) == ("conflict", fact.id)
    assert f"vaultsync resolve {conflict.id}" in found.hint


def test_an_invalid_note_shows_its_notice(world: World) -> None:
    fact = world.mirrored("One line.")
    path = world.path(fact.id)
    world.person_edits(path, "priority: 2", "priority: often")
    world.clock.advance(60)
    found = status(world, path)
    assert (found.state, found.fact_id) == ("attention", fact.id)
    assert "priority" in found.message
    assert found.hint


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        ("Old/empty.md", " \n", "it is empty"),
        ("Old/photo.png", "PNG", "it is not a note"),
        ("Old/mine.conflict.md", "Mine.", "conflict note"),
        ("Old/Trip.sync-conflict-20260102-030405-ABCDEFG.md", "Trip.", "sync tool"),
        ("Old/kept.md", "---\nvaultsync: conflict\nconflict: 553e86205e95802e\n---\n", "conflict"),
        ("Old/table.md", "---\nvaultsync: index\n---\n", "table of contents"),
    ],
)
def test_a_file_that_cannot_become_a_fact_is_excluded(
    world: World, path: str, text: str, why: str
) -> None:
    world.person_writes(path, text)
    world.clock.advance(60)
    found = status(world, path)
    assert (found.state, found.fact_id) == ("excluded", None)
    assert why in found.message
    assert found.hint


@pytest.mark.parametrize(
    ("path", "then"), [("Old/a.md", "then adopt it"), ("public/a.md", "the next sync adopts it")]
)
def test_an_empty_note_is_adopted_by_a_sync_only_in_an_adopted_folder(
    world: World, path: str, then: str
) -> None:
    world.person_writes(path, "")
    assert status(world, path).hint == f"write something; {then}"


def test_an_ignored_note_is_excluded(world: World) -> None:
    world.person_writes("Templates/daily.md", "Today.\n")
    world.vault.ignore = frozenset({"Templates"})
    world.clock.advance(60)
    found = status(world, "Templates/daily.md")
    assert (found.state, found.fact_id) == ("excluded", None)
    assert "`ignore`" in found.message


def test_an_edit_in_a_folder_that_is_ignored_now_is_not_synced(world: World) -> None:
    fact = world.mirrored()
    path = world.path(fact.id)
    assert status(world, path).state == "synced"
    world.vault.ignore = frozenset({path.partition("/")[0]})
    found = status(world, path)
    assert (found.state, found.fact_id) == ("attention", fact.id)
    assert "`ignore`" in found.message
    assert "`ignore`" in found.hint


def test_a_note_that_is_being_written_is_pending(world: World) -> None:
    world.person_writes("public/notes/half.md", "---\ntags: [a, b")
    found = status(world, "public/notes/half.md")
    assert (found.state, found.fact_id) == ("pending", None)
    assert "cut off" in found.message
    assert "30 seconds" in found.hint


def test_a_note_that_waits_is_not_promised_to_be_synced(world: World) -> None:
    fact = world.mirrored("One line.")
    path = world.path(fact.id)
    world.clock.advance(60)
    text = world.vault.read(path).data.decode()
    world.person_writes(path, text[:60])
    found = status(world, path)
    assert (found.state, found.fact_id) == ("pending", fact.id)
    assert "partly saved" in found.message
    assert found.hint == "complete it, or sync again when it has not changed for 30 seconds"
    world.person_writes(path, text.replace("One", "Two"))
    world.clock.advance(60)
    world.store.away = True
    assert status(world, path).hint == "run `vaultsync sync` again later"


def test_an_agent_learns_nothing_about_notes_that_it_may_not_read(world: World) -> None:
    fact = world.mirrored("Mine alone.", scope="private-indy")
    path = world.path(fact.id)
    world.clock.advance(60)
    assert status(world, path, agent="indy").state == "synced"
    with pytest.raises(NoteMissingError):
        status(world, path, agent="other")


def test_the_status_writes_nothing_while_a_run_is_due(world: World) -> None:
    fact = world.mirrored("One line.")
    world.agent_updates(fact.id, content="Changed.")
    world.clock.advance(timedelta(days=1).total_seconds())
    assert status(world, world.path(fact.id)).state == "pending"
    assert "Changed." not in world.text(fact)


def test_a_private_note_that_was_moved_is_hidden_in_its_new_folder_too(world: World) -> None:
    fact = world.mirrored("Mine alone.", scope="private-indy")
    world.person_renames(fact, "public/notes/moved.md")
    world.clock.advance(60)
    assert status(world, "public/notes/moved.md").state == "attention"
    with pytest.raises(NoteMissingError):
        status(world, "public/notes/moved.md", agent="other")
