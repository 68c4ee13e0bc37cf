"""Fixtures for tests of the surfaces: vaults, and a bridge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import vaultsync
from tests.bridges import Client, open_bridge
from tests.mcp_clients import Home, make_home
from tests.world import open_scopes


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return make_home(tmp_path)


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A vault that the environment names."""
    monkeypatch.setenv("VAULTSYNC_EMBEDDER", "none")
    monkeypatch.setenv("VAULTSYNC_VAULT", str(tmp_path / "vault"))
    monkeypatch.setenv("VAULTSYNC_STATE_DIR", str(tmp_path / "state"))
    vaultsync.init(str(tmp_path / "vault"), state_dir=str(tmp_path / "state"))
    open_scopes(tmp_path / "vault")
    return tmp_path / "vault"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with open_bridge(tmp_path_factory.mktemp("bridge")) as opened:
        yield opened
