"""Fixtures for tests of kills and faults, which need a real disk."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.real.home import Home
from tests.real.test_kill import Calls, calls_of, everything
from tests.real.watched_home import Daemon


@pytest.fixture
def tmp_path(disk: Path) -> Path:
    return disk


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.make(tmp_path / "home")


@pytest.fixture(autouse=True)
def _no_daemon_is_left() -> Iterator[None]:
    yield
    while Daemon.started:
        Daemon.started.pop().stop(signal.SIGKILL)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """The vault of which each kill and fault gets a copy."""
    home = everything(tmp_path_factory.mktemp("struck") / "template")
    yield home
    shutil.rmtree(home.where)


@pytest.fixture(scope="session")
def calls(template: Home, tmp_path_factory: pytest.TempPathFactory) -> Calls:
    return cache(lambda work: calls_of(template, work, tmp_path_factory.mktemp("calls")))
