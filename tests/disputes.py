"""A conflict about one line, and the user's edits of its note."""

from __future__ import annotations

from tests.world import ALPHA, LINES, World
from vaultsync.notes.conflict_note import ConflictRecord

PERSONS, AGENTS = "Alpha, as the person has it.", "Alpha, as the agent has it."


def conflict_in(world: World) -> ConflictRecord:
    """Both sides changed the first line."""
    fact = world.mirrored()
    world.person_edits(fact, ALPHA, PERSONS)
    world.agent_updates(fact.id, content=LINES.replace(ALPHA, AGENTS))
    assert world.sync().counts["conflicts"] == 1
    (conflict,) = world.conflicts()
    assert conflict.fact_id == fact.id
    return conflict


def place_of(conflict: ConflictRecord) -> str:
    assert conflict.conflict_path is not None
    return conflict.conflict_path


def tick(world: World, conflict: ConflictRecord) -> None:
    """Take the store's version."""
    world.person_edits(place_of(conflict), "- [ ]", "- [x]")
