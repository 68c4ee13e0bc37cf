"""A pass that ended anywhere: the next one finds out how far it came, and goes on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.world import AGENTS, ALPHA, LINES, MERGED, PERSONS, PERSONS_ALPHA, World, die
from vaultsync.errors import ArchiveError
from vaultsync.facts.lookup import last_undoable_run
from vaultsync.model.fact import Fact
from vaultsync.operations.undo import undo_run
from vaultsync.sync.context import SyncPolicy
from vaultsync.sync.report import counted

NEW = "team-core/notes/new.md"


def _all(_: int) -> bool:
    """The names of files survive a power cut, and not what was not synced of them."""
    return True


def _edit(world: World, path: str, new: str = PERSONS_ALPHA) -> bytes:
    return world.data(path).replace(ALPHA.encode(), new.encode())


@pytest.mark.parametrize(("number", "keep"), [(2, None), (1, _all)])
def test_a_new_note_that_a_crash_left_or_tore_is_not_made_twice(
    world: World, number: int, keep: Callable[[int], bool] | None
) -> None:
    fact = world.agent_remembers(LINES, title="New")
    world.dies_at("sync", number=number, keep=keep)
    assert len(world.notes()) == number - 1
    world.assert_at_rest()
    assert len(world.notes()) == 1
    assert LINES in world.note(fact.id)


@pytest.mark.parametrize(
    ("who", "step", "counts"),
    [
        ("agent", "sync", {"updated_in_vault": 1}),
        ("person", "state", {"updated_in_store": 1}),
        ("both", "sync", {"updated_in_store": 1, "updated_in_vault": 1}),
    ],
)
def test_what_a_run_that_ended_early_did_is_reported_and_undone_by_default(
    world: World, fact: Fact, who: str, step: str, counts: dict[str, int]
) -> None:
    if who != "person":
        world.agent_updates(fact.id, content=AGENTS)
    if who != "agent":
        world.person_edits(fact, ALPHA, PERSONS_ALPHA)
    world.dies_at(step, number=2 if step == "sync" else 3)
    report = world.sync()
    assert {name: n for name, n in report.counts.items() if n} == counts
    assert last_undoable_run(world.ctx) == report.run
    undo_run(world.ctx, report.run)
    assert world.fact(fact.id).content == LINES


def test_a_run_that_ended_in_its_second_batch_is_on_record() -> None:
    world = World(SyncPolicy(batch=1))
    for title in ("One", "Two"):
        world.agent_remembers(LINES, title=title)
    world.dies_at("create", number=2)
    (run,) = world.archive.runs(limit=2)
    assert run.report["counts"] == counted({"created_in_vault": 1})
    assert last_undoable_run(world.ctx) == run.run


@pytest.mark.parametrize("edited", [False, True])
def test_a_rewrite_that_a_power_cut_tore_is_done_again(world: World, edited: bool) -> None:
    fact = world.mirrored()
    if edited:
        world.person_edits(fact, ALPHA, PERSONS_ALPHA)
    world.agent_updates(fact.id, content=AGENTS)
    world.dies_at("sync", keep=_all)
    world.assert_at_rest()
    assert world.fact(fact.id).content == (MERGED if edited else AGENTS)
    assert world.conflicts() == []


def test_a_rewrite_without_a_base_that_a_power_cut_tore_is_done_again(world: World) -> None:
    world.person_writes(NEW, "Words.\n")
    world.sync()
    (fact,) = world.facts()  # nothing proves its first version
    world.agent_updates(fact.id, confidence=0.5)
    world.quiesce()
    path = world.path(fact.id)
    world.lose_archive()
    # What is not a person's is put back, so that only the note has to be written.
    world.person_edits(path, "confidence: 0.5", "confidence: 0.9")
    world.dies_at("sync", keep=_all)
    world.assert_at_rest()
    assert len(world.facts()) == 1
    assert world.notes() == [path]
    assert "confidence: 0.5" in world.note(fact.id)


def _dies_after_a_save(world: World, path: str, data: bytes) -> None:
    """A pass that ends right after it replaced what an editor had just saved."""

    def save() -> None:
        world.vault.save_by_rename(path, data)
        world.at("exchange.examine", die)

    world.at("exchange.swap", save)
    with pytest.raises(KeyboardInterrupt):
        world.sync()


@pytest.mark.parametrize("both", [False, True])
def test_a_save_that_a_dying_pass_ran_over_is_put_back(world: World, both: bool) -> None:
    fact = world.mirrored()
    path = world.path(fact.id)
    if both:
        world.person_edits(path, "Bravo says that.", "Bravo says it again.")
    world.agent_updates(fact.id, content=AGENTS)
    _dies_after_a_save(world, path, _edit(world, path))
    assert PERSONS_ALPHA not in world.text(path)
    world.assert_at_rest()
    now = world.fact(fact.id).content
    assert PERSONS_ALPHA in now
    assert "what the agent says" in now
    assert ("Bravo says it again." in now) is both


def test_a_late_save_over_an_unreadable_one_becomes_another_note(world: World, fact: Fact) -> None:
    path = world.path(fact.id)
    world.agent_updates(fact.id, content=AGENTS)
    editors = []

    def save_again() -> None:
        world.vault.save_by_rename(path, _edit(world, path, "never"))

    def save() -> None:
        world.vault.save_by_rename(path, b"---\nbroken: [\n---\n")
        editors.append(world.vault.open_handle(path))
        world.at("exchange.back", save_again)

    world.at("exchange.swap", save)
    world.sync()
    (editor,) = editors
    editor.write(b"Saved late, by an editor that saw none of all this.\n")
    world.assert_at_rest()
    assert any("Saved late" in text for text in [world.text(each) for each in world.notes()])


def test_a_save_is_put_beside_its_note_only_once_whatever_crashes(world: World, fact: Fact) -> None:
    path = world.path(fact.id)
    editor, late = world.vault.open_handle(path), _edit(world, path)
    world.agent_updates(fact.id, content=AGENTS)
    world.sync()
    editor.write(late)
    world.person_edits(path, "Bravo says that.", "Bravo, by another editor.")

    def crash(_: str) -> None:
        raise KeyboardInterrupt

    # The archive fails as soon as the note was made.
    world.at("create", lambda: setattr(world.archive, "before", crash))
    with pytest.raises(KeyboardInterrupt):
        world.sync()
    world.archive.before = lambda _: None
    assert len(world.notes()) == 2
    world.assert_at_rest()
    assert len(world.notes()) == 2
    assert "\n".join(map(world.text, world.notes())).count(PERSONS_ALPHA) == 1


def test_an_archive_that_lost_bytes_says_so_and_how_to_go_on(world: World, fact: Fact) -> None:
    world.archive._rows.blobs.clear()
    world.person_edits(fact, ALPHA, PERSONS_ALPHA)
    with pytest.raises(ArchiveError) as lost:
        world.sync()
    assert world.path(fact.id) in lost.value.message
    assert "move the archive away" in lost.value.hint
    assert world.fact(fact.id).content == LINES
    world.lose_archive()
    world.assert_at_rest()
    assert world.fact(fact.id).content == PERSONS
