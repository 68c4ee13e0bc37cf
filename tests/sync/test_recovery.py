"""Displaced files: what an editor still writes into them is found and kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from tests.world import AGENTS, ALPHA, PERSONS_ALPHA, World
from vaultsync.model.fact import Fact


def test_saves_into_a_displaced_file_and_the_note_are_both_kept(world: World, fact: Fact) -> None:
    path = world.path(fact.id)
    editor, data = world.vault.open_handle(path), world.data(path)
    world.agent_updates(fact.id, content=AGENTS)
    world.sync()
    editor.write(data.replace(ALPHA.encode(), PERSONS_ALPHA.encode()))
    world.person_edits(path, "Bravo says that.", "Bravo, by another editor.")
    world.quiesce()
    kept = "\n".join(world.text(each) for each in world.notes())
    assert PERSONS_ALPHA in kept
    assert "Bravo, by another editor." in kept
    world.assert_at_rest()


def test_a_displaced_file_that_was_emptied_waits_for_its_editor(world: World, fact: Fact) -> None:
    path = world.path(fact.id)
    editor, data = world.vault.open_handle(path), world.data(path)
    world.agent_updates(fact.id, content=AGENTS)
    world.sync()
    editor.write(b"")
    world.sync()
    editor.write(data.replace(ALPHA.encode(), PERSONS_ALPHA.encode()))
    world.quiesce()
    assert PERSONS_ALPHA in world.fact(fact.id).content
    assert "what the agent says" in world.fact(fact.id).content
    world.assert_at_rest()


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


def _forgotten_while_open(world: World) -> Callable[[], None]:
    """A fact is forgotten whose note an editor has open: how the editor saves."""
    fact = world.mirrored()
    world.mirrored("Stays.", title="A bystander")
    path = world.path(fact.id)
    editor, data = world.vault.open_handle(path), world.data(path)
    world.agent_forgets(fact.id)
    return lambda: editor.write(data.replace(ALPHA.encode(), PERSONS_ALPHA.encode()))


def _assert_saved(world: World) -> None:
    world.quiesce()
    kept = "\n".join(world.text(each) for each in world.notes())
    assert PERSONS_ALPHA in kept
    world.assert_at_rest()


def test_a_save_into_the_file_of_a_deleted_note_is_kept(world: World) -> None:
    save = _forgotten_while_open(world)
    world.sync()
    save()
    _assert_saved(world)


def test_a_save_into_the_file_of_a_note_that_was_just_being_deleted_is_kept(world: World) -> None:
    save = _forgotten_while_open(world)
    world.dies_at("stage_removal.examine", keep=lambda _: True)
    world.sync()
    save()
    _assert_saved(world)


@pytest.mark.parametrize("step", ["stage_removal.take", "stage_removal.examine"])
def test_a_save_in_the_moment_of_a_deletion_that_ends_early_is_kept(step: str) -> None:
    world = World()
    save = _forgotten_while_open(world)

    def before(now: str) -> None:
        if now == step:
            save()
        if now == "stage_removal.examine":
            raise KeyboardInterrupt

    world.vault.before = before
    with suppress(KeyboardInterrupt):
        world.sync()
    world.vault.before = lambda _: None
    _assert_saved(world)


def test_staged_files_that_nothing_rests_on_are_swept_away(world: World) -> None:
    world.mirrored()
    world.vault.stage("left-behind", b"x")
    world.sync()
    assert world.vault.ops() == []


def test_an_intent_waits_until_the_store_can_be_asked(world: World, fact: Fact) -> None:
    world.person_edits(world.path(fact.id), ALPHA, PERSONS_ALPHA)
    world.agent_updates(fact.id, content=AGENTS)

    def crash(step: str) -> None:
        if step == "exchange":
            raise KeyboardInterrupt

    world.vault.before = crash
    try:
        world.sync()
    except KeyboardInterrupt:
        world.vault.before = lambda _: None
    assert world.archive.intents()
    world.store.away = True
    world.sync()
    world.sync()
    world.store.away = False
    world.quiesce()
    assert PERSONS_ALPHA in world.fact(fact.id).content
    assert "what the agent says" in world.note(fact.id)
    assert world.archive.intents() == []
    assert world.conflicts() == []
    world.assert_at_rest()


@pytest.mark.parametrize("step", ["exchange", "discard"])
def test_a_new_note_whose_fact_was_changed_before_its_base_gets_the_change(step: str) -> None:
    world = World()
    path = "team-core/notes/new.md"
    world.person_writes(path, "Words.\n")

    def crash(happening: str) -> None:
        if happening == step:
            raise KeyboardInterrupt

    world.vault.before = crash
    with suppress(KeyboardInterrupt):
        world.sync()
    world.vault.before = lambda _: None
    (fact,) = world.facts()
    world.agent_updates(fact.id, content="What the agent says.")
    world.quiesce()
    assert "What the agent says." in world.text(path)
    assert [each.id for each in world.facts()] == [fact.id]
    world.assert_at_rest()


def test_a_save_into_a_displaced_file_waits_for_an_open_intent(world: World, fact: Fact) -> None:
    path = world.path(fact.id)
    editor, data = world.vault.open_handle(path), world.data(path)
    world.agent_updates(fact.id, content=AGENTS)
    world.sync()
    world.person_edits(path, "Bravo says that.", "Bravo, by another editor.")
    world.agent_updates(fact.id, tags=["tides"])
    with _crash_at(world, "exchange"):
        world.sync()
    assert world.archive.intents()
    editor.write(data.replace(ALPHA.encode(), PERSONS_ALPHA.encode()))
    world.store.away = True
    world.sync()
    assert world.archive.displaced_files()
    world.store.away = False
    world.quiesce()
    kept = "\n".join(world.text(each) for each in world.notes())
    assert PERSONS_ALPHA in kept
    assert "Bravo, by another editor." in kept
    world.assert_at_rest()


@pytest.mark.parametrize("step", ["stage", "exchange", "discard"])
def test_a_repaired_note_that_has_the_place_of_another_marks_that_as_gone(step: str) -> None:
    world = World()
    one, other = world.mirrored(), world.mirrored("Another.", title="Another")
    world.person_renames(world.path(one.id), "team-core/decisions/a.md")
    world.sync()
    world.person_renames("team-core/decisions/a.md", "Inbox/A.md")
    world.person_renames(world.path(other.id), "team-core/decisions/a.md")
    with _crash_at(world, step):
        world.sync()
    world.sync()
    world.person_renames("team-core/decisions/a.md", "team-core/notes/B.md")
    world.quiesce()
    assert {one.id, other.id} == {each.id for each in world.store.iter_facts()}
    world.assert_at_rest()


@contextmanager
def _crash_at(world: World, step: str) -> Iterator[None]:
    def crash(now: str) -> None:
        if now == step:
            raise KeyboardInterrupt

    world.vault.before = crash
    with suppress(KeyboardInterrupt):
        yield
    world.vault.before = lambda _: None
