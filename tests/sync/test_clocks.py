"""The clock of the files may differ from that of the machine, as on a network drive."""

from __future__ import annotations

import pytest

from tests.world import AGENTS, ALPHA, MERGED, PERSONS_ALPHA, World
from vaultsync.model.fact import Fact


@pytest.mark.parametrize("ahead", [40.0, 3600.0, -3600.0])
def test_a_run_waits_for_no_clock(world: World, fact: Fact, ahead: float) -> None:
    world.vault.files_ahead = ahead
    before = world.clock.monotonic()
    world.agent_updates(fact.id, content=AGENTS)
    world.sync()
    acts = 10  # each act of this story takes about a second
    assert world.clock.monotonic() - before < acts
    world.person_edits(fact, ALPHA, PERSONS_ALPHA)
    world.quiesce()
    assert world.store.get(fact.id).content == MERGED


def test_a_note_gone_before_the_clock_was_set_back_is_deleted(world: World, fact: Fact) -> None:
    world.person_deletes(fact)
    world.sync()
    world.clock.set_back(365 * 86_400)
    before = world.clock.monotonic()
    for _ in range(2):
        assert world.is_alive(fact.id)
        world.sync()
    assert not world.is_alive(fact.id)
    assert world.clock.monotonic() - before < 10
    world.assert_at_rest()


def test_a_save_is_found_whose_stamp_hides_in_a_fast_clock(world: World, fact: Fact) -> None:
    world.vault.files_ahead = 3600.0
    world.agent_updates(fact.id, content=AGENTS)
    world.sync()
    world.vault.files_ahead -= 2  # the next save has a stamp that is no newer
    world.person_edits(fact, "Alpha", "Omega")
    world.quiesce()
    assert world.store.get(fact.id).content.startswith("Omega")
