"""A conflict copy of a sync tool is merged into its note, kept, or dropped; and undone."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from tests.sim import SimVault
from tests.world import World, notice
from vaultsync.errors import NoteChangedError, ReadOnlyNoteError, RevisionMismatchError, UsageError
from vaultsync.facts.service import history
from vaultsync.model.file_names import CONFLICT_COPIES, LIKELY_COPIES, ConflictCopyName
from vaultsync.model.paths import VaultPath
from vaultsync.operations.settle_copies import COPY_DECISIONS, open_copies, settle_copy, undo_copies
from vaultsync.operations.undo import undo_run
from vaultsync.storage.archive import COPY_FIELD, RunRecord
from vaultsync.sync.report import counted
from vaultsync.sync.sync_request import SyncRequest

LINES = "One at dawn.\n\nTwo at the pier.\n\nThree with a lamp."
EXAMPLES = [each.example for each in (*CONFLICT_COPIES, *LIKELY_COPIES)]


class CopyWorld(World):
    """A note, and the copy that a sync tool put beside it."""

    def __init__(self, example: str = EXAMPLES[0]) -> None:
        super().__init__()
        self.fact_id = self.mirrored(LINES, title="Plan", scope="public").id
        self.note_path = self.path(self.fact_id)
        stem = PurePosixPath(self.note_path).stem
        self.copy = VaultPath(
            str(PurePosixPath(self.note_path).with_name(example.replace("Plan", stem, 1)))
        )
        self.person_copies(self.note_path, self.copy)

    def settles(self, take: str = "merge") -> str:
        self.clock.advance(1)
        return settle_copy(self.ctx, self.copy, take=take).run

    def content(self) -> str:
        return self.store.get(self.fact_id).content

    def there(self) -> bool:
        return self.ctx.find_file(self.copy) is not None


def test_open_copies_are_listed_beside_other_notices_while_they_are_there() -> None:
    world = CopyWorld()
    world.person_writes("public/notes/Broken.md", "---\ntags: [a]\ntags: [b]\n---\n")
    world.clock.advance(60)
    world.sync()
    assert {each.kind for each in world.archive.notices()} > {"conflict_copy"}
    (shown,) = open_copies(world.ctx)
    assert (shown.path, shown.fact_id) == (world.copy, world.fact_id)
    world.person_deletes(world.copy)
    assert open_copies(world.ctx) == []


@pytest.mark.parametrize("example", EXAMPLES)
def test_both_sides_are_merged_from_the_last_synced_text_and_undone(example: str) -> None:
    world = CopyWorld(example)
    world.person_edits(world.copy, "at dawn", "at noon")
    world.person_edits(world.copy, "with a lamp.", "with a lamp.\n\nFour.")
    world.person_edits(world.note_path, "Two at the pier.", "Two at the tower.")
    run = world.settles()
    assert world.content() == ("One at noon.\n\nTwo at the tower.\n\nThree with a lamp.\n\nFour.")
    assert "Two at the tower." in world.text(world.note_path)
    assert not world.there()
    assert not world.sync().attention
    undo_run(world.ctx, run)
    assert "One at noon." in world.text(world.note_path.replace(".md", " 2.md"))
    assert world.content() == LINES.replace("the pier", "the tower")
    told = history(world.ctx, world.fact_id, agent=None)
    back = world.note_path.replace(".md", " 2.md")
    copies = [(each.before, each.after) for each in told if each.field == COPY_FIELD]
    assert copies == [(world.copy, None), (None, back)]


@pytest.mark.parametrize("row", CONFLICT_COPIES, ids=lambda row: row.example)
def test_a_copy_belongs_to_its_note_after_the_note_is_renamed(row: ConflictCopyName) -> None:
    world, renamed = CopyWorld(row.example), "public/lessons/Renamed.md"
    world.person_edits(world.copy, "with a lamp.", "with a lamp.\n\nFour.")
    world.person_renames(world.note_path, renamed)
    for _ in range(2):  # the run that sees the new name, and one that knows it
        said = notice(world.sync(), "conflict_copy")
        assert f"made of {renamed};" in said.message
        assert f"--take merge` merges its changes into {renamed}" in said.hint
    assert [(x.path, x.note) for x in open_copies(world.ctx)] == [(world.copy, renamed)]
    run = world.settles()
    assert "Four." in world.text(renamed)
    assert not world.there()
    assert not world.sync().attention
    undo_run(world.ctx, run)
    assert "Four." in world.text(renamed.replace(".md", " 2.md"))


def test_a_copy_whose_id_nobody_can_read_belongs_to_no_renamed_note() -> None:
    world = CopyWorld()
    world.person_writes(world.copy, "---\nid: [\n---\n")
    world.person_renames(world.note_path, "public/lessons/Renamed.md")
    world.sync()
    assert "which does not exist" in notice(world.sync(), "conflict_copy").message
    with pytest.raises(UsageError, match="no conflict copy"):
        world.settles()


def test_the_base_of_a_note_that_was_synced_since_is_its_former_text() -> None:
    world = CopyWorld()
    world.person_edits(world.copy, "at dawn", "at noon")
    world.person_edits(world.note_path, "Two at the pier.", "Two at the tower.")
    world.sync()
    assert not settle_copy(world.ctx, world.copy, take="merge").attention
    assert world.content() == LINES.replace("dawn", "noon").replace("the pier", "the tower")
    assert world.conflicts() == []


def test_without_a_base_both_keep_what_they_have_and_a_clash_is_a_conflict() -> None:
    world = CopyWorld()
    world.person_edits(world.copy, "at dawn", "at noon")
    world.person_edits(world.copy, "Three with a lamp.", "Three with a lamp.\n\nFour.")
    world.person_edits(world.note_path, "Two at the pier.", "Two at the pier.\n\nTwo and a half.")
    world.sync()
    world.archive._rows.history.clear()
    world.settles()
    assert world.content() == (
        "One at dawn.\n\nTwo at the pier.\n\nTwo and a half.\n\nThree with a lamp."
    )
    (conflict,) = world.conflicts()
    (field,) = conflict.fields
    assert (field.field, "at noon" in str(field.store)) == ("content", True)
    assert not world.there()
    assert world.sync().quiet


def test_the_conflict_of_a_merged_copy_goes_and_comes_back_with_the_merge() -> None:
    world = CopyWorld()
    other = world.mirrored("First.", title="Other")
    world.person_edits(other, "First.", "The person's.")
    world.agent_updates(other.id, content="The agent's.")
    world.sync()
    world.person_edits(world.copy, "at dawn", "at noon")
    world.person_edits(world.note_path, "at dawn", "at dusk")
    merged = world.settles()
    opened = world.conflicts()
    assert len(opened) == len(world.conflict_notes()) == 2
    undone = undo_run(world.ctx, merged)
    assert [each.fact_id for each in world.conflicts()] == [other.id]
    assert len(world.conflict_notes()) == 1
    assert "at noon" in world.text(world.note_path.replace(".md", " 2.md"))
    undo_run(world.ctx, undone.run)
    assert [each.id for each in world.conflicts()] == [each.id for each in opened]
    assert len(world.conflict_notes()) == 2
    world.sync()
    assert len(world.conflicts()) == 2


def test_a_copy_that_says_no_more_goes_and_comes_back_by_undo() -> None:
    world = CopyWorld()
    undo_run(world.ctx, world.settles())
    assert not world.there()
    world.copy = VaultPath(world.note_path.replace(".md", " 2.md"))
    assert world.there()
    assert [each.kind for each in world.sync().attention] == ["conflict_copy"]
    run = world.settles("drop")
    found = world.archive.find_run(run)
    assert found is not None
    assert found.report["counts"] == {**counted({}), "unchanged": 1}
    world.archive._rows.blobs.clear()
    undone, kept = undo_copies(world.ctx, world.archive.history(run=run), SyncRequest("undo"))
    assert (undone, [each.action for each in kept]) == ([], ["keep"])


def test_a_dropped_copy_is_put_back_once_and_goes_again_when_that_is_undone() -> None:
    world = CopyWorld()
    run = world.settles("drop")
    report = undo_run(world.ctx, run)
    (last,) = world.archive.runs(limit=1)
    assert (last.run, last.kind) == (report.run, f"undo {run}")
    back = VaultPath(world.note_path.replace(".md", " 2.md"))
    assert world.ctx.find_file(back) is not None
    again = undo_run(world.ctx, run)
    assert [(each.action, each.reason) for each in again.actions] == [
        ("keep", "it is there already")
    ]
    undo_run(world.ctx, report.run)
    assert world.ctx.find_file(back) is None
    assert [each.reason for each in undo_run(world.ctx, report.run).actions] == [
        "it was changed since"
    ]


def test_a_copy_that_is_kept_is_a_note_of_its_own() -> None:
    world = CopyWorld()
    world.person_edits(world.copy, "at dawn", "at noon")
    world.person_writes(world.note_path.replace(".md", " (copy 2).md"), "Taken.")
    before = {each.id for each in world.store.iter_facts()}
    world.settles("keep")
    assert not world.there()
    new = [each for each in world.store.iter_facts() if each.id not in before]
    assert any("at noon" in each.content for each in new)
    assert world.content() == LINES


def assert_nothing_is_logged(world: CopyWorld, runs: list[RunRecord]) -> None:
    assert len(world.notes()) == 2
    assert world.archive.runs(limit=9) == runs
    assert all(each.field != COPY_FIELD for each in history(world.ctx, world.fact_id, agent=None))


@pytest.mark.parametrize("take", COPY_DECISIONS)
def test_of_a_copy_that_cannot_be_removed_no_removal_is_logged(take: str) -> None:
    world = CopyWorld()
    runs = world.archive.runs(limit=9)
    world.vault.make_read_only(world.copy)
    with pytest.raises(ReadOnlyNoteError):
        world.settles(take)
    assert_nothing_is_logged(world, runs)
    world.vault.make_writable(world.copy)
    world.settles(take)
    assert not world.there()


@pytest.mark.parametrize("take", ["merge", "drop"])
def test_a_copy_that_is_saved_while_it_is_settled_stays(
    take: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = CopyWorld()
    runs = world.archive.runs(limit=9)

    def saves(_: SimVault, path: str) -> None:
        monkeypatch.undo()
        world.person_edits(path, "at dawn", "at noon")

    monkeypatch.setattr(SimVault, "check_writable", saves)
    with pytest.raises(NoteChangedError):
        world.settles(take)
    assert "at noon" in world.text(world.copy)
    assert_nothing_is_logged(world, runs)
    world.settles(take)
    assert not world.there()


def test_what_is_no_copy_or_changes_meanwhile_stays() -> None:
    world = CopyWorld()
    missing = VaultPath(world.note_path.replace(".md", " 3.md"))
    for path in (world.note_path, missing):
        with pytest.raises(UsageError, match="there is no conflict copy of a note at this path"):
            settle_copy(world.ctx, path, take="merge")
    world.person_edits(world.copy, "a lamp.", "a lamp.\n\nFour.")
    world.others_write_first(world.fact_id, times=1)
    with pytest.raises(RevisionMismatchError):
        world.settles()
    assert world.there()
