"""What a kill or a fault leaves on a disk is proved on a disk."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.watched_home import Daemon


@pytest.fixture
def tmp_path(disk: Path) -> Path:
    return disk


@pytest.fixture(autouse=True)
def _no_daemon_is_left() -> Iterator[None]:
    yield
    while Daemon.started:
        Daemon.started.pop().stop(signal.SIGKILL)
