"""A vault that is away, locked or full: nothing destructive, and the reason is named."""

from __future__ import annotations

import errno

import pytest

from tests.world import AGENTS, ALPHA, LINES, MERGED, PERSONS_ALPHA, World, kinds, notice
from vaultsync.errors import VaultMismatchError, VaultMissingError
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.storage.store import Store
from vaultsync.sync.sync_request import SyncRequest


def _facts(store: Store) -> dict[str, str]:
    return {fact.id: fact.revision for fact in store.iter_facts()}


def test_a_missing_root_is_no_deletion(world: World) -> None:
    world.mirrored()
    before = _facts(world.store)
    world.vault.vanish()
    for _ in range(3):
        with pytest.raises(VaultMissingError):
            world.sync()
    assert _facts(world.store) == before
    world.vault.return_()
    world.assert_at_rest()


def test_an_empty_folder_in_the_place_of_the_vault_is_no_deletion(world: World) -> None:
    world.mirrored()
    before = _facts(world.store)
    world.vault.names.clear()
    with pytest.raises(VaultMissingError):
        world.sync()
    assert _facts(world.store) == before


def test_a_root_that_goes_in_the_middle_of_a_pass_is_no_deletion(world: World) -> None:
    world.mirrored()
    before = _facts(world.store)

    def vanish(step: str) -> None:
        if step == "scan":
            world.vault.vanish()

    world.vault.before = vanish
    with pytest.raises(VaultMissingError):
        world.sync()
    assert _facts(world.store) == before
    world.vault.before = lambda _: None
    world.vault.return_()
    world.assert_at_rest()


def test_another_vault_at_the_same_place_stops_the_pass(world: World) -> None:
    world.mirrored()
    before = _facts(world.store)
    world.vault.swap_id("0193f6c2-0000-7000-8000-00000000ffff")
    with pytest.raises(VaultMismatchError) as stopped:
        world.sync()
    assert "0193f6c2-0000-7000-8000-00000000ffff" in stopped.value.message
    assert _facts(world.store) == before
    world.vault.swap_id("")
    with pytest.raises(VaultMissingError):
        world.sync()


def test_an_unreadable_folder_is_no_deletion_and_is_named(world: World, fact: Fact) -> None:
    lesson = world.mirrored("A lesson.", type="lesson", title="A lesson")
    world.vault.break_folder("team-core/notes")
    world.agent_updates(fact.id, content=AGENTS)
    world.agent_updates(lesson.id, content="A better lesson.")
    for _ in range(3):
        world.clock.advance(60)
        report = world.sync()
        assert kinds(report) == ["unreadable_folder"]
        assert notice(report, "unreadable_folder").path == "team-core/notes"
    assert world.is_alive(fact.id)
    assert "A better lesson." in world.note(lesson.id)
    world.vault.mend_folder("team-core/notes")
    world.quiesce()
    assert "what the agent says" in world.note(fact.id)
    world.assert_at_rest()


def test_a_note_that_may_lie_in_an_unreadable_folder_stays(world: World, fact: Fact) -> None:
    gone = world.mirrored("A lesson.", type="lesson", title="A lesson")
    world.mirrored("An idea.", type="observation", title="An idea")
    path, there = world.path(fact.id), "team-core/observations/Moved.md"
    world.person_renames(path, there)
    world.person_deletes(world.path(gone.id))
    world.vault.break_folder("team-core/observations")
    for _ in range(3):
        world.clock.advance(60)
        assert kinds(world.sync()) == ["unreadable_folder"]
        world.clock.advance(60)
        world.sync(SyncRequest(folders=frozenset({VaultPath("team-core/notes")})))
    assert world.is_alive(fact.id)
    assert world.is_alive(gone.id)
    world.vault.mend_folder("team-core/observations")
    world.quiesce()
    assert world.path(fact.id) == there
    assert not world.is_alive(gone.id)
    world.assert_at_rest()


def test_an_unreadable_root_is_no_deletion(world: World, fact: Fact) -> None:
    world.vault.break_folder("team-core")
    for _ in range(3):
        world.sync()
    assert world.is_alive(fact.id)
    world.vault.mend_folder("team-core")
    world.assert_at_rest()


def test_a_note_deleted_in_an_unreadable_folder_is_deleted_later(world: World, fact: Fact) -> None:
    world.mirrored("Stays.", title="A bystander")
    path = world.path(fact.id)
    world.vault.break_folder("team-core/notes")
    world.sync()
    world.vault.delete(path)
    world.sync()
    assert world.is_alive(fact.id)
    world.vault.mend_folder("team-core/notes")
    world.quiesce()
    assert not world.is_alive(fact.id)


def test_a_fact_whose_folder_is_locked_gets_its_note_later(world: World) -> None:
    world.mirrored()
    world.vault.break_folder("team-core/notes")
    fact = world.agent_remembers("New.", title="New")
    lesson = world.agent_remembers("A lesson.", type="lesson", title="A lesson")
    # One folder that refuses is no reason to stop the others.
    world.sync()
    assert "A lesson." in world.note(lesson.id)
    world.vault.mend_folder("team-core/notes")
    world.quiesce()
    assert "New." in world.note(fact.id)
    world.assert_at_rest()


@pytest.mark.parametrize("room", [0, 100, 400])
def test_a_full_disk_loses_nothing(world: World, fact: Fact, room: int) -> None:
    world.person_edits(world.path(fact.id), ALPHA, PERSONS_ALPHA)
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
    world.quiesce()
    assert world.fact(fact.id).content == MERGED
    assert MERGED in world.note(fact.id)
    assert "New." in world.note(new.id)
    world.assert_at_rest()


def test_a_full_disk_with_a_conflict_loses_nothing(world: World, fact: Fact) -> None:
    world.person_edits(world.path(fact.id), ALPHA, "The person's.")
    world.agent_updates(fact.id, content=LINES.replace(ALPHA, "The agent's."))
    world.vault.quota = 0
    with pytest.raises(OSError, match="No space"):
        world.sync()
    world.vault.quota = None
    world.quiesce()
    assert "The person's." in world.note(fact.id)
    assert "The agent's." in world.text(world.conflict_notes()[0])
    assert len(world.conflict_notes()) == 1
    world.assert_at_rest()


_STEPS = (
    "ops",
    "scan",
    "read",
    "stage",
    "sync",
    "exchange",
    "exchange.swap",
    "exchange.examine",
    "folder",
    "create",
    "discard",
    "write_meta",
)


@pytest.mark.parametrize("step", _STEPS)
@pytest.mark.parametrize("number", [1, 2])
def test_a_crash_at_any_step_is_repaired(world: World, fact: Fact, step: str, number: int) -> None:
    other = world.mirrored(title="Another")
    world.person_edits(world.path(fact.id), ALPHA, PERSONS_ALPHA)
    world.agent_updates(fact.id, content=AGENTS)
    world.person_edits(world.path(other.id), ALPHA, "The person's.")
    world.agent_updates(other.id, content=LINES.replace(ALPHA, "The agent's."), priority=0)
    new = world.agent_remembers("New.", title="New")
    met = 0

    def crash(now: str) -> None:
        nonlocal met
        met += now == step
        if now == step and met == number:
            raise KeyboardInterrupt

    world.vault.before = crash
    for _ in range(3):
        try:
            world.sync()
        except KeyboardInterrupt:
            break
    world.vault.before = lambda _: None
    world.quiesce()
    assert world.fact(fact.id).content == MERGED
    assert MERGED in world.note(fact.id)
    assert "The person's." in world.note(other.id)
    assert "The agent's." in world.text(world.conflict_notes()[0])
    assert len(world.conflict_notes()) == 1
    assert "New." in world.note(new.id)
    assert len(world.notes()) == 3
    assert world.vault.ops() == []
    world.assert_at_rest()


@pytest.mark.parametrize("number", range(1, 12))
def test_a_crash_at_any_write_of_the_archive_is_repaired(number: int) -> None:
    world = World()
    fact = world.mirrored()
    gone = world.mirrored("Gone.", title="Gone")
    world.mirrored("Stays.", title="A bystander")
    world.person_edits(world.path(fact.id), ALPHA, PERSONS_ALPHA)
    world.agent_updates(fact.id, content=AGENTS)
    world.agent_forgets(gone.id)
    world.person_writes("team-core/notes/new.md", "Words.\n")
    met = 0

    def crash(step: str) -> None:
        nonlocal met
        met += 1
        if met == number:
            raise KeyboardInterrupt

    world.archive.before = crash
    for _ in range(3):
        try:
            world.sync()
        except KeyboardInterrupt:
            break
    world.archive.before = lambda _: None
    world.quiesce()
    assert world.fact(fact.id).content == MERGED
    assert not world.is_alive(gone.id)
    assert sorted(fact.content for fact in world.facts()) == sorted([MERGED, "Stays.", "Words."])
    assert world.vault.ops() == []
    world.assert_at_rest()


def test_nothing_is_written_where_it_must_not_be(world: World, fact: Fact) -> None:
    world.person_edits(world.path(fact.id), ALPHA, "The person's.")
    world.agent_updates(fact.id, content=LINES.replace(ALPHA, "The agent's."))
    world.quiesce()
    world.agent_forgets(fact.id)
    world.quiesce()
    for path in world.vault.names:
        top = path.split("/")[0]
        assert top in ("team-core", ".meta"), path
