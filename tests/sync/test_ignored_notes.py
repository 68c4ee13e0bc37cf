"""Notes of facts that the setting `ignore` excludes later."""

from __future__ import annotations

import pytest

from tests.world import World
from vaultsync.model.paths import VaultPath
from vaultsync.operations.verify import verify_all
from vaultsync.storage.vault import IGNORED
from vaultsync.sync.note_status import read_note_status, why_note_waits
from vaultsync.sync.status import read_status

OTHER = "Other text, of another note."


@pytest.mark.parametrize("whole_folder", [True, False])
def test_ignored_notes_and_their_facts_stay_the_same(world: World, *, whole_folder: bool) -> None:
    fact, other = world.mirrored(), world.mirrored(OTHER, type="lesson")
    path, text = world.path(fact.id), world.note(fact.id)
    world.person_writes("Journal/today.md", "# Today\n")
    world.vault.ignore = frozenset({path.rpartition("/")[0] if whole_folder else path})
    for _ in range(3):
        world.clock.advance(60)
        report = world.sync()
        assert not [each for each in report.actions if each.action == "wait"]
        (notice,) = report.attention
        assert notice.kind == "ignored"
        assert "`ignore` excludes it" in notice.message
        status = read_status(world.ctx)
        assert (status.facts, status.notes, status.foreign) == (2, 1, 1)
    world.agent_updates(fact.id, content="What an agent says.")
    world.person_deletes(other)
    for _ in range(3):
        world.clock.advance(60)
        world.sync()
    assert world.text(path) == text
    assert not world.is_alive(other.id)
    note = read_note_status(world.ctx, VaultPath(path))
    assert note.state == "attention"
    assert IGNORED in note.message
    assert why_note_waits(world.ctx, fact.id).startswith(f"{path}: `ignore` excludes it")
    (difference,) = verify_all(world.ctx).differences
    assert difference.why.startswith("`ignore` excludes it")

    world.vault.ignore = frozenset()
    world.quiesce()
    assert "What an agent says." in world.text(path)
    world.assert_equal_sides()


def test_a_new_fact_whose_note_would_be_ignored_says_so(world: World) -> None:
    world.vault.ignore = frozenset({"team-core/lessons"})
    lesson, note = world.agent_remembers("New.", type="lesson"), world.agent_remembers("Other.")
    assert why_note_waits(world.ctx, lesson.id).startswith("team-core/lessons: `ignore` excludes")
    assert why_note_waits(world.ctx, note.id) == ""
    why = {each.fact_id: each.why for each in verify_all(world.ctx).differences}
    assert why == {lesson.id: why_note_waits(world.ctx, lesson.id), note.id: "it has no note yet"}
    with world.outage():
        assert why_note_waits(world.ctx, lesson.id) == ""


def test_facts_of_ignored_notes_that_are_moved_away_are_deleted(world: World) -> None:
    fact = world.mirrored()
    path = world.path(fact.id)
    world.vault.ignore = frozenset({path.rpartition("/")[0]})
    world.sync()
    world.person_deletes(path)
    world.quiesce()
    assert not world.is_alive(fact.id)


@pytest.mark.parametrize("whole_folder", [True, False])
@pytest.mark.parametrize("copied", [True, False])
def test_notes_that_leave_an_ignored_folder_are_synced_again(
    world: World, *, copied: bool, whole_folder: bool
) -> None:
    facts = [world.mirrored(), world.mirrored(OTHER)]
    paths = [world.path(each.id) for each in facts]
    folders = {path.rpartition("/")[0] for path in paths}
    world.vault.ignore = frozenset(folders if whole_folder else paths)
    world.sync()
    (world.person_copies if copied else world.person_renames)(paths[1], "moved/note.md")
    world.person_edits("moved/note.md", OTHER, "What a person says.")
    for _ in range(3):
        world.clock.advance(60)
        assert {each.kind for each in world.sync().attention} == {"ignored"}
    assert world.fact(facts[1].id).content == (OTHER if copied else "What a person says.")
    assert len(world.facts()) == (3 if copied else 2)
    assert "What a person says." in world.text("moved/note.md")
