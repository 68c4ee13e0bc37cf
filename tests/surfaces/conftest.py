"""What tests of the surfaces begin with: a home with a vault, and a bridge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bridges import Client, open_bridge
from tests.mcp_clients import Home, make_home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return make_home(tmp_path)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with open_bridge(tmp_path_factory.mktemp("bridge")) as opened:
        yield opened
