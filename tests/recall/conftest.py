"""Fixtures for tests of recall: an empty world that answers questions."""

from __future__ import annotations

import pytest

from tests.recalls import RecallWorld


@pytest.fixture
def world() -> RecallWorld:
    return RecallWorld()
