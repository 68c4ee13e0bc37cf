"""Notes of facts that the setting `ignore` excludes later."""

from __future__ import annotations

import pytest

from tests.world import World

OTHER = "Other text, of another note."


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.parametrize("whole_folder", [True, False])
def test_ignored_notes_and_their_facts_stay_as_they_are(
    world: World, *, whole_folder: bool
) -> None:
    fact, other = world.mirrored(), world.mirrored(OTHER, type="lesson")
    path, text = world.path(fact.id), world.note(fact.id)
    world.vault.ignore = frozenset({path.rpartition("/")[0] if whole_folder else path})
    for _ in range(3):
        world.clock.advance(60)
        report = world.sync()
        assert not [each for each in report.actions if each.action == "wait"]
        (notice,) = report.attention
        assert notice.kind == "ignored"
        assert "`ignore` excludes it" in notice.message
    world.agent_updates(fact.id, content="What an agent says.")
    world.person_deletes(world.path(other.id))
    for _ in range(3):
        world.clock.advance(60)
        world.sync()
    assert world.text(path) == text
    assert not world.is_alive(other.id)

    world.vault.ignore = frozenset()
    world.quiesce()
    assert "What an agent says." in world.text(path)
    world.assert_equal_sides()


def test_facts_of_ignored_notes_that_are_moved_away_are_deleted(world: World) -> None:
    fact = world.mirrored()
    path = world.path(fact.id)
    world.vault.ignore = frozenset({path.rpartition("/")[0]})
    world.sync()
    world.person_deletes(path)
    world.quiesce()
    assert not world.is_alive(fact.id)
