"""What a pass leaves behind in memory when it is over."""

from __future__ import annotations

import gc

from tests.world import World
from vaultsync.sync.decision_table import PlannedAction


def _actions() -> int:
    return sum(isinstance(each, PlannedAction) for each in gc.get_objects())


def test_a_pass_holds_nothing_when_it_is_over(world: World) -> None:
    world.mirrored()
    world.lose_archive()
    gc.collect()
    before = _actions()
    gc.disable()
    try:
        world.sync()
        assert _actions() == before
    finally:
        gc.enable()
