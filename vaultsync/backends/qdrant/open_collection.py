"""Choose the kind of a collection."""

from __future__ import annotations

from vaultsync.backends.qdrant.connection import QdrantConnection
from vaultsync.backends.qdrant.operations import PointCollection
from vaultsync.storage.clock import Clock


def open_collection(place: QdrantConnection, clock: Clock) -> PointCollection:
    """The collection, including those of isolated scopes; opened lazily."""
    one: PointCollection
    if place.kind == "edge":
        from vaultsync.backends.qdrant.edge import EdgePointCollection

        one = EdgePointCollection(place, clock=clock)

        def open_one(scope: str) -> PointCollection:
            return EdgePointCollection(place.of_scope(scope), clock=clock)
    else:
        from vaultsync.backends.qdrant.client import ClientPointCollection

        one = shared = ClientPointCollection(place, clock=clock)

        def open_one(scope: str) -> PointCollection:
            return ClientPointCollection(place.of_scope(scope), clock=clock, beside=shared)

    isolated = place.settings.isolated_scopes
    if not isolated:
        return one
    from vaultsync.backends.qdrant.isolation import IsolatedCollections

    return IsolatedCollections(one, isolated, open_one)
