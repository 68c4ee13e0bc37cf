"""Every test of a contract of a vault is held against each of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.worlds import WORLDS, World, open_world
from vaultsync.ports import Vault


@pytest.fixture(params=WORLDS)
def world(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    with open_world(request.param, tmp_path / "vault", monkeypatch) as world:
        yield world


@pytest.fixture
def vault(world: World) -> Vault:
    return world.vault
