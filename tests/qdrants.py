"""Qdrants of all kinds for tests, each empty."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from qdrant_client import QdrantClient

from tests.fakes import FakeClock
from tests.qdrant_server import FakeQdrant
from vaultsync.adapters.qdrant_client_points import ClientPoints
from vaultsync.adapters.qdrant_edge_points import EdgePoints
from vaultsync.adapters.qdrant_place import QdrantPlace
from vaultsync.adapters.qdrant_points import Points
from vaultsync.adapters.qdrant_store import QdrantStore
from vaultsync.ports import Clock

PLACE = QdrantPlace("local", "agent_memory_test")


def in_memory(client: QdrantClient | None = None, clock: Clock | None = None) -> Points:
    """The local mode, without a folder; several may share one client."""
    client = client or QdrantClient(":memory:", force_disable_check_same_thread=True)
    return ClientPoints(PLACE, clock=clock or FakeClock(), client=client)


def in_folder(folder: Path, clock: Clock | None = None) -> Points:
    """The local mode, in a folder."""
    place = replace(PLACE, path=folder / "qdrant")
    return ClientPoints(place, clock=clock or FakeClock())


def in_process(folder: Path, clock: Clock | None = None) -> Points:
    """The engine in this process."""
    place = replace(PLACE, kind="edge", path=folder / "edge")
    return EdgePoints(place, clock=clock or FakeClock())


def over_http(server: FakeQdrant, clock: Clock | None = None, **more: object) -> Points:
    """A server, asked by HTTP."""
    place = QdrantPlace(
        "server", "agent_memory_test", host="127.0.0.1", port=server.port
    )
    return ClientPoints(replace(place, **more), clock=clock or FakeClock())  # type: ignore[arg-type]


def store_in(points: Points, clock: Clock | None = None) -> QdrantStore:
    """A store in a collection, made when it is asked."""
    return QdrantStore(
        points, clock=clock or FakeClock(), create=True, dimension=lambda: 3
    )


class ServedStore(QdrantStore):
    """A store behind a server of its own, which goes when it is closed."""

    def __init__(self, clock: Clock) -> None:
        self._server = FakeQdrant()
        self._server.start()
        points = over_http(self._server, clock)
        super().__init__(points, clock=clock, create=True, dimension=lambda: 3)

    def close(self) -> None:
        super().close()
        self._server.stop()
