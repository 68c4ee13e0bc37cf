"""A vault that is away, locked or full: nothing destructive, and the reason is named."""

from __future__ import annotations

import errno
from unittest import mock

import pytest

from tests.world import AGENTS, ALPHA, LINES, MERGED, PERSONS_ALPHA, SCOPE, World, kinds, notice
from vaultsync.errors import UnwritableNoteError, VaultMismatchError, VaultMissingError
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.storage.store import Store
from vaultsync.sync.note_status import why_note_waits
from vaultsync.sync.recovery import OPENING_SECONDS
from vaultsync.sync.status import read_status
from vaultsync.sync.sync_request import SyncRequest


def _facts(store: Store) -> dict[str, str]:
    return {fact.id: fact.revision for fact in store.iter_facts()}


@pytest.mark.parametrize("step", [None, "scan", "vault_id"])
def test_a_missing_root_is_no_deletion(world: World, fact: Fact, step: str | None) -> None:
    before = _facts(world.store)
    if step is None:
        world.vault.vanish()
    for _ in range(3):
        if step is not None:
            world.vault.return_()
            world.at(step, world.vault.vanish)
        with pytest.raises(VaultMissingError):
            world.sync()
    assert _facts(world.store) == before
    world.vault.return_()
    world.assert_at_rest()


def test_an_empty_folder_in_the_place_of_the_vault_is_no_deletion(world: World, fact: Fact) -> None:
    before = _facts(world.store)
    world.vault.names.clear()
    with pytest.raises(VaultMissingError):
        world.sync()
    assert _facts(world.store) == before


def test_another_vault_at_the_same_place_stops_the_pass(world: World) -> None:
    world.mirrored()
    before = _facts(world.store)
    world.vault.swap_id("0193f6c2-0000-7000-8000-00000000ffff")
    with pytest.raises(VaultMismatchError, match="0193f6c2-0000-7000-8000-00000000ffff"):
        world.sync()
    assert _facts(world.store) == before
    world.vault.swap_id("")
    with pytest.raises(VaultMissingError):
        world.sync()


@pytest.mark.parametrize("folder", ["team-core/notes", "team-core"])
def test_an_unreadable_folder_is_named_not_deleted(world: World, fact: Fact, folder: str) -> None:
    lesson = world.mirrored("A lesson.", type="lesson", title="A lesson", scope="public")
    world.vault.break_folder(folder)
    world.agent_updates(fact.id, content=AGENTS)
    world.agent_updates(lesson.id, content="A better lesson.")
    for _ in range(3):
        world.clock.advance(60)
        report = world.sync()
        assert kinds(report) == ["unreadable_folder"]
        assert notice(report, "unreadable_folder").path == folder
    assert world.is_alive(fact.id)
    assert "A better lesson." in world.note(lesson.id)
    world.vault.mend_folder(folder)
    world.assert_at_rest()
    assert "what the agent says" in world.note(fact.id)


def test_a_note_that_may_lie_in_an_unreadable_folder_stays(world: World, fact: Fact) -> None:
    gone = world.mirrored("A lesson.", type="lesson", title="A lesson")
    world.mirrored("An idea.", type="observation", title="An idea")
    path, there = world.path(fact.id), "team-core/observations/Moved.md"
    world.person_renames(path, there)
    world.person_deletes(gone)
    world.vault.break_folder("team-core/observations")
    for _ in range(3):
        world.clock.advance(60)
        assert kinds(world.sync()) == ["unreadable_folder"]
        world.clock.advance(60)
        world.sync(SyncRequest(folders=frozenset({VaultPath("team-core/notes")})))
    assert world.is_alive(fact.id)
    assert world.is_alive(gone.id)
    world.vault.mend_folder("team-core/observations")
    world.assert_at_rest()
    assert world.path(fact.id) == there
    assert not world.is_alive(gone.id)


@pytest.mark.parametrize("room", [0, 100, 400])
def test_a_full_disk_loses_nothing(world: World, fact: Fact, room: int) -> None:
    world.person_edits(fact, ALPHA, PERSONS_ALPHA)
    world.agent_updates(fact.id, content=AGENTS)
    new = world.agent_remembers("New.", title="New")
    used = sum(len(inode.data) for inode in world.vault.names.values())
    world.vault.quota = used + room
    with pytest.raises(OSError, match="No space") as full:
        world.sync()
    assert full.value.errno == errno.ENOSPC
    assert PERSONS_ALPHA in world.note(fact.id)
    with pytest.raises(OSError, match="No space"):
        world.sync()
    world.vault.quota = None
    world.assert_at_rest()
    assert world.fact(fact.id).content == MERGED
    assert MERGED in world.note(fact.id)
    assert "New." in world.note(new.id)


def _conflict(world: World, fact: Fact) -> None:
    world.person_edits(fact, ALPHA, "The person's.")
    world.agent_updates(fact.id, content=LINES.replace(ALPHA, "The agent's."), priority=0)


def test_nothing_is_written_where_it_must_not_be(world: World, fact: Fact) -> None:
    _conflict(world, fact)
    world.quiesce()
    world.agent_forgets(fact.id)
    world.quiesce()
    assert {path.split("/")[0] for path in world.vault.names} == {"team-core", ".meta"}


def test_of_each_read_only_note_it_is_told_why_it_waits(world: World) -> None:
    facts = [world.mirrored(title="One"), world.mirrored(title="Two")]
    for each in facts:
        world.agent_updates(each.id, content=AGENTS)
        world.vault.make_read_only(world.path(each.id))
    world.sync()
    for each in facts:
        assert why_note_waits(world.ctx, each.id).startswith(f"{world.path(each.id)}: ")


def test_a_new_note_in_a_read_only_folder_waits_and_the_status_says_why(world: World) -> None:
    world.mirrored(title="Before")
    folder = f"{SCOPE}/notes"
    world.vault.make_read_only(folder)
    fact = world.agent_remembers("Words.", title="Later")
    assert why_note_waits(world.ctx, fact.id).startswith(f"{folder}: the folder is read-only")
    for _ in range(2):
        (said,) = read_status(world.ctx).attention
        assert "its folder is read-only" in said.message
        assert notice(world.sync(), "not_written").message == said.message
        assert [each.message for each in world.archive.notices()] == [said.message]
    assert [each.message for each in read_status(world.ctx).attention] == [said.message]
    world.vault.make_writable(folder)
    world.assert_at_rest()
    assert "Words." in world.note(fact.id)
    assert world.archive.notices() == []


@pytest.mark.parametrize("place", ["the note", "its folder"])
@pytest.mark.parametrize("edits", [False, True])
def test_a_read_only_note_is_left_and_written_once_it_is_writable(
    world: World, fact: Fact, place: str, edits: bool
) -> None:
    path = world.path(fact.id)
    locked = path if place == "the note" else path.rpartition("/")[0]
    if edits:
        world.person_edits(path, ALPHA, PERSONS_ALPHA)
    world.agent_updates(fact.id, content=AGENTS)
    before = world.note(fact.id)
    world.vault.make_read_only(locked)
    runs = set[int]()
    for _ in range(3):
        report = world.sync()
        said = notice(report, "not_written")
        assert f"{path}: {place} is read-only" in said.message
        assert "chmod u+w" in said.hint
        assert why_note_waits(world.ctx, fact.id) == f"{said.message}; {said.hint}"
        assert kinds(world.sync(SyncRequest(dry_run=True))) == ["not_written"]
        assert world.note(fact.id) == before
        assert "what the agent says" in world.fact(fact.id).content
        assert world.vault.ops() == []
        runs.add(len(world.archive.runs(limit=9)))
    assert len(runs) == 1
    world.vault.make_writable(locked)
    world.assert_at_rest()
    assert "what the agent says" in world.note(fact.id)
    assert (PERSONS_ALPHA in world.note(fact.id)) is edits
    assert world.archive.notices() == []


def test_a_note_that_waits_is_unchanged_in_a_dry_run_too(world: World, fact: Fact) -> None:
    world.person_edits(fact, "id: ", "id: [")
    counts = [world.sync(SyncRequest(dry_run=dry)).counts["unchanged"] for dry in (True, False)]
    assert counts == [1, 1]


@pytest.mark.parametrize("edits", [False, True])
def test_an_id_that_was_never_written_does_not_count_as_removed(world: World, edits: bool) -> None:
    path = "team-core/notes/berths.md"
    world.person_writes(path, "Berths are numbered.\n")
    world.vault.make_read_only(path)
    for _ in range(3):
        assert kinds(world.sync()) == ["not_written"]
    world.vault.make_writable(path)
    if edits:
        world.person_edits(path, "numbered", "lettered")
    assert kinds(world.sync()) == []
    assert world.text(path).startswith("---\nid: ")
    world.person_writes(path, "Berths are gone.\n")
    assert kinds(world.sync()) == ["put_back"]


def test_a_read_only_note_stays_though_its_fact_was_forgotten(world: World, fact: Fact) -> None:
    world.mirrored("Stays.", title="A bystander")
    path = world.path(fact.id)
    world.vault.make_read_only(path)
    world.agent_forgets(fact.id)
    for _ in range(3):
        assert notice(world.sync(), "not_written").path == path
    assert path in world.vault.names
    world.vault.make_writable(path)
    world.assert_at_rest()
    assert path not in world.vault.names


def test_a_read_only_notes_notice_goes_with_what_it_waited_for(world: World, fact: Fact) -> None:
    path = world.path(fact.id)
    world.vault.make_read_only(path)
    world.agent_updates(fact.id, content=AGENTS)
    world.sync()
    world.agent_updates(fact.id, content=LINES)
    world.sync()
    assert world.sync().attention == []
    assert world.archive.notices() == []


def test_a_late_save_that_cannot_be_written_is_logged_and_waits(
    world: World, fact: Fact, caplog: pytest.LogCaptureFixture
) -> None:
    path = world.path(fact.id)
    editor = world.vault.open_handle(path)
    before = world.note(fact.id)
    world.agent_updates(fact.id, content=AGENTS)
    world.sync()
    editor.write(before.replace(ALPHA, f"{ALPHA} Saved late.").encode())
    refused = UnwritableNoteError(path, "its folder is read-only")
    with (
        mock.patch.object(type(world.vault), "create", side_effect=refused),
        mock.patch.object(type(world.vault), "exchange", side_effect=refused),
    ):
        world.clock.advance(OPENING_SECONDS)
        world.sync()
    assert f"{path} was saved late, and waits for the next run" in caplog.text
    world.clock.advance(OPENING_SECONDS)
    world.quiesce()
    assert "Saved late." in world.note(fact.id)
