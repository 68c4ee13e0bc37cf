"""Displaced files: what an editor still writes into them is found and kept."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.world import AGENTS, ALPHA, LINES, PERSONS_ALPHA, World, die, refuse
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath

Save = Callable[[], None]


@pytest.fixture
def save(world: World, fact: Fact) -> Save:
    """How an editor saves that has had the note open from the beginning."""
    path = world.path(fact.id)
    editor, data = world.vault.open_handle(path), world.data(path)
    return lambda: editor.write(data.replace(ALPHA.encode(), PERSONS_ALPHA.encode()))


def _assert_saved(world: World, *more: str) -> None:
    world.assert_at_rest()
    kept = "\n".join(world.text(each) for each in world.notes())
    assert all(words in kept for words in (PERSONS_ALPHA, *more))


@pytest.mark.parametrize("intent", [False, True])
def test_saves_into_both_files_are_kept(world: World, fact: Fact, save: Save, intent: bool) -> None:
    world.agent_updates(fact.id, content=AGENTS)
    world.sync()
    world.person_edits(fact, "Bravo says that.", "Bravo, by another editor.")
    if intent:  # the save waits while it is open
        world.agent_updates(fact.id, tags=["tides"])
        world.dies_at("exchange")
        assert world.archive.intents()
    save()
    if intent:
        with world.outage():
            world.sync()
        assert world.archive.displaced_files()
    _assert_saved(world, "Bravo, by another editor.")


def test_a_save_waits_while_nobody_may_write_there(world: World, fact: Fact, save: Save) -> None:
    world.agent_updates(fact.id, content=AGENTS)
    world.sync()
    world.person_edits(fact, "Bravo says that.", "Bravo, by another editor.")
    save()
    for seconds in (0, world.ctx.policy.linger_seconds):
        world.clock.advance(seconds)
        world.at("create", refuse)
        world.sync()
    _assert_saved(world, "Bravo, by another editor.")


def test_a_save_beside_a_note_with_the_longest_name_is_kept(world: World) -> None:
    path = f"team-core/notes/{'n' * 252}.md"
    world.person_writes(path, LINES)
    world.sync()
    fact_id = world.archive.paths()[VaultPath(path)]
    editor, data = world.vault.open_handle(path), world.data(path)
    world.agent_updates(fact_id, content=AGENTS)
    world.sync()
    world.person_edits(path, "Bravo says that.", "Bravo, by another editor.")
    editor.write(data.replace(ALPHA.encode(), PERSONS_ALPHA.encode()))
    _assert_saved(world, "Bravo, by another editor.")


def test_a_displaced_file_that_was_emptied_waits_for_its_editor(world: World, fact: Fact) -> None:
    path = world.path(fact.id)
    editor, data = world.vault.open_handle(path), world.data(path)
    world.agent_updates(fact.id, content=AGENTS)
    world.sync()
    editor.write(b"")
    world.sync()
    editor.write(data.replace(ALPHA.encode(), PERSONS_ALPHA.encode()))
    _assert_saved(world, "what the agent says")


def test_a_displaced_file_goes_when_its_time_is_up(world: World, fact: Fact) -> None:
    world.agent_updates(fact.id, content=AGENTS)
    world.sync()
    assert world.vault.ops()
    world.clock.advance(30)
    world.sync()
    assert world.vault.ops()
    world.clock.advance(61)
    world.sync()
    assert world.vault.ops() == []
    assert world.archive.displaced_files() == []


@pytest.mark.parametrize("dies", [False, True])
def test_a_save_into_a_deleted_note_stays(world: World, fact: Fact, save: Save, dies: bool) -> None:
    world.mirrored("Stays.", title="A bystander")
    world.agent_forgets(fact.id)
    if dies:
        world.dies_at("stage_removal.examine", keep=lambda _: True)
    world.sync()
    save()
    _assert_saved(world)


@pytest.mark.parametrize("step", ["stage_removal.take", "stage_removal.examine"])
def test_a_save_in_the_moment_of_a_deletion_that_ends_early_is_kept(
    world: World, fact: Fact, save: Save, step: str
) -> None:
    world.mirrored("Stays.", title="A bystander")
    world.agent_forgets(fact.id)

    def saves_and_dies() -> None:
        save()
        if step == "stage_removal.examine":
            die()
        world.at("stage_removal.examine", die)

    world.at(step, saves_and_dies)
    with pytest.raises(KeyboardInterrupt):
        world.sync()
    _assert_saved(world)


def test_staged_files_that_nothing_rests_on_are_swept_away(world: World, fact: Fact) -> None:
    world.vault.stage("left-behind", b"x")
    world.sync()
    assert world.vault.ops() == []
