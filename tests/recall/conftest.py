"""Stories of recall begin in an empty world that can be asked."""

from __future__ import annotations

import pytest

from tests.recalls import RecallWorld


@pytest.fixture
def world() -> RecallWorld:
    return RecallWorld()
