"""Accepting proposals and undoing their run gives both sides back."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import example, given
from hypothesis import strategies as st

from tests.proofs import texts
from tests.proofs.agents import CHANGES
from tests.proofs.world import World, mirrored
from vaultsync.model import serialization as wire
from vaultsync.model.compare import differing_keys
from vaultsync.operations.undo import undo_run
from vaultsync.proposals.service import accept_proposals

SHARED = [each for each in CHANGES if each.__name__ not in ("source", "access")]
"""What undo gives back: what only the store knows is not in the note."""


def notes(world: World) -> dict[str, tuple[list[str], str]]:
    """The notes by their paths: the lines of the frontmatter in any order, and the body.

    A key that was gone comes back below the others; `updatedAt` says when that was.
    """
    found = {}
    for path in world.notes():
        _, front, body = world.data(path).decode().split("---\n", 2)
        lines = [each for each in front.split("\n") if not each.startswith("updatedAt:")]
        found[path] = sorted(lines), body
    return found


@given(
    edits=st.lists(st.integers(0, 11), min_size=2, max_size=2),
    wanted=st.lists(st.integers(-1, len(SHARED) - 1), min_size=1, max_size=2),
)
@example([0, 10], [5])
def test_accept_and_undo_is_the_identity(edits: Sequence[int], wanted: Sequence[int]) -> None:
    world = mirrored(2)
    for path, how in zip(world.notes(), edits, strict=True):
        world.edit(path, texts.EDITS[how % len(texts.EDITS)])
    world.quiesce()
    before, facts = notes(world), world.facts()
    for fact_id, how in zip(list(facts), wanted, strict=False):
        world.propose(fact_id, SHARED[how] if how >= 0 else None)
    world.turn()
    done = accept_proposals(world.ctx, world.archive.proposals())
    assert {each.outcome for each in done.proposals} == {"accepted"}
    if done.run is not None:
        undo_run(world.ctx, done.run)
    world.quiesce()

    now = world.facts()
    assert now.keys() == facts.keys()
    for key, fact in facts.items():
        assert not differing_keys(fact, now[key]), wire.fact_to_json(now[key])
    assert notes(world) == before
