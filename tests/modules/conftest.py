"""A world with a folder of modules."""

from __future__ import annotations

import pytest

from tests.module_worlds import ModuleWorld


@pytest.fixture
def modules() -> ModuleWorld:
    return ModuleWorld()
