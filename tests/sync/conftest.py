"""Fixtures for tests of sync: an empty world, one with a fact, one with a conflict."""

from __future__ import annotations

import pytest

from tests.disputes import conflict_in
from tests.world import World
from vaultsync.model.fact import Fact
from vaultsync.notes.conflict_note import ConflictRecord


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def fact(world: World) -> Fact:
    return world.mirrored()


@pytest.fixture
def conflict(world: World) -> ConflictRecord:
    return conflict_in(world)
