"""Fixtures for tests of memory files."""

from __future__ import annotations

import pytest

from tests.memory_file_worlds import ALL, MemoryWorld


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


@pytest.fixture
def synced(world: MemoryWorld) -> MemoryWorld:
    """A world whose file, `ALL`, was synced."""
    world.takes(ALL)
    return world
