"""Every test of a contract of a vault is held against each of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.worlds import APPLYING, WORLDS, World, open_world
from vaultsync.storage.vault import Vault


@pytest.fixture(params=[*WORLDS, APPLYING])
def world(
    request: pytest.FixtureRequest, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    swaps = request.node.get_closest_marker("swaps") is not None
    if swaps and request.param == APPLYING:
        pytest.skip("nothing is swapped: test_vault_app.py says what happens instead")
    with open_world(request.param, disk / "vault", monkeypatch) as world:
        yield world


@pytest.fixture
def vault(world: World) -> Vault:
    return world.vault
