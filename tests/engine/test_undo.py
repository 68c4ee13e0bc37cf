"""A run can be taken back, on both sides, without taking back what came after it."""

from __future__ import annotations

import pytest

from tests.world import AGENTS, LINES, MERGED, PERSONS, World
from vaultsync.core.paths import VaultPath
from vaultsync.engine import facts as fact_work
from vaultsync.engine.adopt import adopt
from vaultsync.engine.undo import undo
from vaultsync.errors import RunNotFoundError, StoreUnavailableError

ALPHA, PERSONS_ALPHA = LINES.split("\n")[0], PERSONS.split("\n")[0]


def _undo(world: World, run: str) -> None:
    world.clock.advance(1)
    undo(world.mirror, run)
    world.quiesce()
    world.assert_at_rest()


def test_a_persons_edit_is_taken_back_on_both_sides() -> None:
    world = World()
    fact = world.mirrored()
    before = world.note(fact.id)
    world.person_edits(world.path(fact.id), ALPHA, PERSONS_ALPHA)
    run = world.sync().run
    _undo(world, run)
    assert world.fact(fact.id).content == LINES
    now = [x for x in world.note(fact.id).split("\n") if "updatedAt" not in x]
    assert now == [x for x in before.split("\n") if "updatedAt" not in x]


def test_an_agents_edit_is_taken_back_on_both_sides() -> None:
    world = World()
    fact = world.mirrored(tags=["a"])
    world.agent_updates(fact.id, content=AGENTS, tags=["b"], priority=0)
    run = world.sync().run
    _undo(world, run)
    now = world.fact(fact.id)
    assert (now.content, now.tags, now.priority) == (LINES, ("a",), 2)
    assert "Charlie says more." in world.note(fact.id)


def test_what_was_changed_since_stays() -> None:
    world = World()
    fact = world.mirrored()
    world.person_edits(world.path(fact.id), ALPHA, PERSONS_ALPHA)
    run = world.sync().run
    world.agent_updates(fact.id, content=MERGED, status="archived")
    world.quiesce()
    _undo(world, run)
    now = world.fact(fact.id)
    assert now.content == AGENTS
    assert now.status == "archived"


def test_a_line_that_was_changed_again_since_stays() -> None:
    world = World()
    fact = world.mirrored()
    world.person_edits(world.path(fact.id), ALPHA, PERSONS_ALPHA)
    run = world.sync().run
    world.person_edits(world.path(fact.id), PERSONS_ALPHA, "Alpha, once more.")
    world.quiesce()
    _undo(world, run)
    assert "Alpha, once more." in world.fact(fact.id).content


def test_an_undone_undo_is_the_edit() -> None:
    world = World()
    fact = world.mirrored()
    world.person_edits(world.path(fact.id), ALPHA, PERSONS_ALPHA)
    run = world.sync().run
    back = undo(world.mirror, run).run
    world.quiesce()
    assert world.fact(fact.id).content == LINES
    _undo(world, back)
    assert world.fact(fact.id).content == PERSONS


def test_a_fact_that_an_agent_made_goes_with_its_note() -> None:
    world = World()
    world.mirrored("Stays.", title="A bystander")
    fact = world.agent_remembers("Made.", title="Made")
    run = world.sync().run
    _undo(world, run)
    assert not world.is_alive(fact.id)
    assert len(world.notes()) == 1
    assert "Made." in world.everything_kept()


def test_a_note_that_became_a_fact_only_loses_its_id() -> None:
    world = World()
    path, text = "Journal/today.md", "# Today\n\nDear diary.\n"
    world.person_writes(path, text)
    run = adopt(world.mirror, [VaultPath(path)]).run
    world.quiesce()
    assert world.text(path) != text
    _undo(world, run)
    assert world.text(path) == text
    assert world.facts() == []


def test_an_adopted_folder_that_is_given_back_is_not_taken_again() -> None:
    world = World()
    path, text = "Journal/today.md", "# Today\n\nDear diary.\n"
    world.person_writes(path, text)
    run = adopt(world.mirror, [VaultPath("Journal")]).run
    world.quiesce()
    _undo(world, run)
    assert world.text(path) == text
    assert world.facts() == []


def test_a_note_that_a_person_deleted_comes_back() -> None:
    world = World()
    fact = world.mirrored()
    world.mirrored("Stays.", title="A bystander")
    path, data = world.path(fact.id), world.note(fact.id)
    world.person_deletes_for_good(path)
    run = world.sync().run
    assert not world.is_alive(fact.id)
    _undo(world, run)
    assert world.is_alive(fact.id)
    assert world.path(fact.id) == path
    assert LINES in world.text(path)
    kept = [x for x in data.split("\n") if "updatedAt" not in x]
    assert [x for x in world.text(path).split("\n") if "updatedAt" not in x] == kept


def test_a_fact_that_an_agent_deleted_comes_back() -> None:
    world = World()
    fact = world.mirrored()
    world.mirrored("Stays.", title="A bystander")
    world.agent_forgets(fact.id)
    run = world.sync().run
    _undo(world, run)
    assert world.fact(fact.id).content == LINES
    assert LINES in world.note(fact.id)


def test_a_merge_is_taken_back_on_both_sides() -> None:
    world = World()
    fact = world.mirrored()
    world.person_edits(world.path(fact.id), ALPHA, PERSONS_ALPHA)
    world.agent_updates(fact.id, content=AGENTS)
    run = world.sync().run
    _undo(world, run)
    assert world.fact(fact.id).content == LINES
    assert LINES in world.note(fact.id)


def test_an_unknown_run_is_refused() -> None:
    world = World()
    with pytest.raises(RunNotFoundError):
        undo(world.mirror, "no-such-run")


def test_undo_without_the_store_does_nothing() -> None:
    world = World()
    fact = world.mirrored()
    world.person_edits(world.path(fact.id), ALPHA, PERSONS_ALPHA)
    run = world.sync().run
    note = world.note(fact.id)
    world.store.away = True
    with pytest.raises(StoreUnavailableError):
        undo(world.mirror, run)
    assert world.note(fact.id) == note
    world.store.away = False
    world.assert_at_rest()
    assert world.fact(fact.id).content == PERSONS


def test_a_taken_back_property_and_own_field_are_gone_again() -> None:
    world = World()
    fact = world.mirrored(type="decision")
    world.person_edits(
        world.path(fact.id),
        "priority:",
        "mood: sunny\ndecisionOutcome: done\npriority:",
    )
    run = world.sync().run
    assert world.fact(fact.id).properties == {"mood": "sunny"}
    _undo(world, run)
    now = world.fact(fact.id)
    assert not now.properties
    assert not now.own
    assert "sunny" not in world.note(fact.id)


def test_a_rename_is_named_in_the_history_and_undo_keeps_the_persons_name() -> None:
    world = World()
    fact = world.mirrored()
    to = "team-core/notes/By hand.md"
    world.person_renames(world.path(fact.id), to)
    run = world.sync().run
    _undo(world, run)
    assert world.is_alive(fact.id)
    assert len(world.notes()) == 1


def _edit_of_two(world: World) -> tuple[str, str, str]:
    """Two facts that a person edited in one run; their ids, and the run."""
    one, two = world.mirrored(title="One"), world.mirrored(title="Two")
    for fact in (one, two):
        world.person_edits(world.path(fact.id), ALPHA, PERSONS_ALPHA)
    return one.id, two.id, world.sync().run


def test_a_fact_that_is_gone_since_stays_gone_when_its_edit_is_taken_back() -> None:
    world = World()
    one, two, run = _edit_of_two(world)
    world.agent_forgets(one)
    world.quiesce()
    _undo(world, run)
    assert not world.is_alive(one)
    assert world.fact(two).content == LINES


def test_a_fact_that_came_back_since_stays_as_it_is() -> None:
    world = World()
    fact = world.mirrored()
    world.mirrored("Stays.", title="A bystander")
    world.agent_forgets(fact.id)
    run = world.sync().run
    fact_work.restore(world.mirror, fact.id, agent="indy")
    world.agent_updates(fact.id, content=AGENTS)
    world.quiesce()
    _undo(world, run)
    assert world.fact(fact.id).content == AGENTS


def test_a_fact_that_was_made_and_is_gone_since_stays_gone() -> None:
    world = World()
    world.mirrored("Stays.", title="A bystander")
    fact = world.agent_remembers("New.", title="New")
    run = world.sync().run
    world.agent_forgets(fact.id)
    world.quiesce()
    _undo(world, run)
    assert not world.is_alive(fact.id)
    assert len(world.notes()) == 1


def _adopted(world: World) -> tuple[str, str, str]:
    """A note that became a fact: its path, its fact and the run."""
    world.mirrored("Stays.", title="A bystander")
    path = "team-core/notes/mine.md"
    world.person_writes(path, "Words.\n")
    run = world.sync().run
    world.quiesce()
    fact_id = world.archive.paths()[VaultPath(path)]
    return path, fact_id, run


def test_an_adoption_cannot_be_taken_back_while_its_note_cannot_be_read() -> None:
    world = World()
    path, fact_id, run = _adopted(world)
    broken = b"---\na: [\n---\nWords.\n"
    world.person_writes(path, broken)
    undo(world.mirror, run)
    world.quiesce()
    assert world.is_alive(fact_id)
    assert world.data(path) == broken


def test_an_adoption_is_taken_back_though_a_person_took_out_the_id() -> None:
    world = World()
    path, fact_id, run = _adopted(world)
    world.person_writes(path, "Words, mine again.\n")
    _undo(world, run)
    assert world.text(path) == "Words, mine again.\n"
    assert not world.is_alive(fact_id)


def test_an_adoption_whose_note_nobody_knows_is_not_taken_back() -> None:
    world = World()
    path, fact_id, run = _adopted(world)
    text = world.text(path)
    with world.archive.transaction():
        world.archive.drop_bases([fact_id])
    _undo(world, run)
    assert world.is_alive(fact_id)
    assert world.text(path) == text
