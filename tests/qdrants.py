"""Empty Qdrant collections of all kinds for tests."""

from __future__ import annotations

import atexit
import os
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from qdrant_client import QdrantClient

from tests.fakes import FakeClock
from tests.qdrant_server import FakeQdrant
from vaultsync.backends.qdrant.client import ClientPointCollection
from vaultsync.backends.qdrant.connection import QdrantConnection, parse_qdrant_settings
from vaultsync.backends.qdrant.edge import EdgePointCollection
from vaultsync.backends.qdrant.isolation import IsolatedCollections
from vaultsync.backends.qdrant.operations import DeletePoints, PointCollection, PointFilter
from vaultsync.backends.qdrant.qdrant_store import QdrantStore
from vaultsync.settings import QdrantSettings
from vaultsync.storage.clock import Clock

PLACE = QdrantConnection("local", "agent_memory_test")
ISOLATED = ("private-*", "public")


def in_memory(client: QdrantClient | None = None, clock: Clock | None = None) -> PointCollection:
    """The local mode, without a folder; several may share one client."""
    client = client or QdrantClient(":memory:", force_disable_check_same_thread=True)
    return ClientPointCollection(PLACE, clock=clock or FakeClock(), client=client)


def in_folder(folder: Path, clock: Clock | None = None) -> PointCollection:
    place = replace(PLACE, path=folder / "qdrant")
    return ClientPointCollection(place, clock=clock or FakeClock())


def in_process(folder: Path, clock: Clock | None = None) -> EdgePointCollection:
    """The engine in this process."""
    place = replace(PLACE, kind="edge", path=folder / "edge")
    return EdgePointCollection(place, clock=clock or FakeClock())


def emptied(clock: Clock | None = None) -> PointCollection:
    """The engine, in one shard for all tests of this process, without its points."""
    opened = lent(clock)
    opened.do([DeletePoints(PointFilter(()))])
    return opened


def lent(clock: Clock | None = None, name: str = "") -> PointCollection:
    """The same shard, with its points."""
    shared = _shard(name)
    opened = _Lent(shared._place, clock=clock or FakeClock())
    opened._shard = shared._shard
    return opened


@cache
def _shard(name: str) -> EdgePointCollection:
    """Creating a shard takes longer than most tests, so there is one per process."""
    folder = TemporaryDirectory(prefix="qdrant-edge-")
    made = in_process(Path(folder.name))
    made.make(3)
    atexit.register(folder.cleanup)
    return made


class _Lent(EdgePointCollection):
    def close(self) -> None:
        self._shard = None
        super().close()


def isolated(client: QdrantClient | None = None, clock: Clock | None = None) -> PointCollection:
    """The local mode, with collections of their own for `public` and all private scopes."""
    client = client or QdrantClient(":memory:", force_disable_check_same_thread=True)

    def open_one(scope: str) -> PointCollection:
        place = PLACE.of_scope(scope)
        return ClientPointCollection(place, clock=clock or FakeClock(), client=client)

    return IsolatedCollections(in_memory(client, clock), ISOLATED, open_one)


def isolated_shards(clock: Clock | None = None) -> PointCollection:
    """The engine, with a shard of its own for `public`."""

    def open_one(scope: str) -> PointCollection:
        return lent(clock, scope)

    open_one("public").do([DeletePoints(PointFilter(()))])
    return IsolatedCollections(emptied(clock), ["public"], open_one)


def over_http(server: FakeQdrant, clock: Clock | None = None, **more: object) -> PointCollection:
    """A server, asked by HTTP; with settings of its own by a client of its own."""
    place = QdrantConnection(
        "server",
        "agent_memory_test",
        host="127.0.0.1",
        port=server.port,
        settings=QdrantSettings(**more),  # type: ignore[arg-type]
    )
    client = None if more else server.asker
    return ClientPointCollection(place, clock=clock or FakeClock(), client=client)


def store_in(points: PointCollection, clock: Clock | None = None) -> QdrantStore:
    """A store in a collection, made when it is asked."""
    return QdrantStore(points, clock=clock or FakeClock(), create=True, dimension=lambda: 3)


SERVER = os.environ.get("VAULTSYNC_TEST_QDRANT_URL", "").rstrip("/")
"""The address of a real server, with which the contracts are also tested."""
needs_server = pytest.mark.skipif(
    not SERVER,
    reason="VAULTSYNC_TEST_QDRANT_URL names no server of Qdrant: neither this nor the"
    " contracts of store and vectors were tried at one",
)


def at_server(clock: Clock | None = None) -> PointCollection:
    """A collection of that server for this process, without its points."""
    place = parse_qdrant_settings(
        f"{SERVER}/test-points-{os.getpid()}", QdrantSettings(), root=Path()
    )
    points = ClientPointCollection(place, clock=clock or FakeClock())
    points.make(3)
    points.do([DeletePoints(PointFilter(()))])
    return points


@cache
def served() -> FakeQdrant:
    """A server for all tests of this process; a test that needs it empty clears it."""
    server = FakeQdrant()
    server.start()
    return server
