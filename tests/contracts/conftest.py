"""Run every test of a contract on each implementation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.archives import ARCHIVES
from tests.worlds import APPLYING, WORLDS, World, open_world
from vaultsync.storage.archive import Archive
from vaultsync.storage.vault import Vault

EVERYWHERE = ("sim", "fs")
"""The other worlds differ from `fs` only in how they change existing notes."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "vault" not in metafunc.fixturenames:
        return
    marks = {mark.name for mark in metafunc.definition.iter_markers()}
    kinds: tuple[str, ...] = EVERYWHERE
    if "swaps" in marks:
        kinds = WORLDS
    elif "changes" in marks:
        kinds = (*WORLDS, APPLYING)
    metafunc.parametrize("world", kinds, indirect=True)


@pytest.fixture
def world(
    request: pytest.FixtureRequest, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    with open_world(request.param, disk / "vault", monkeypatch) as world:
        yield world


@pytest.fixture
def vault(world: World) -> Vault:
    return world.vault


@pytest.fixture(params=ARCHIVES)
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Archive]:
    opened = ARCHIVES[request.param](tmp_path)
    yield opened
    opened.close()
