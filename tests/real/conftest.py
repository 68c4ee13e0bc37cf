"""What a kill or a fault leaves on a disk is proved on a disk."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def tmp_path(disk: Path) -> Path:
    return disk
