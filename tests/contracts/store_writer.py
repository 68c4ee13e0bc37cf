"""A process that writes to a store: `python -m tests.contracts.store_writer URL …`."""

from __future__ import annotations

import sys
from pathlib import Path

from vaultsync.backends.sqlite.sqlite_store import SqliteStore
from vaultsync.backends.system.system_clock import SystemClock
from vaultsync.errors import StoreUnavailableError
from vaultsync.model.fact import make_fact
from vaultsync.settings import QdrantSettings
from vaultsync.storage.store import Store, StoreWrite

PATIENCE = 60.0
"""Seconds that a writer waits for the others."""


def open_store(url: str, *, patience: float = PATIENCE) -> Store:
    """The store of a URL, as the wiring opens it; made if it is not there."""
    kind, _, path = url.partition(":")
    clock = SystemClock()
    if kind == "sqlite":
        return SqliteStore(path, clock=clock, create=True)
    from vaultsync.backends.qdrant.connection import parse_qdrant_settings
    from vaultsync.backends.qdrant.isolation import open_collection
    from vaultsync.backends.qdrant.qdrant_store import QdrantStore

    settings = QdrantSettings(patience_seconds=patience)
    place = parse_qdrant_settings(url, settings, root=Path())
    points = open_collection(place, clock)
    return QdrantStore(points, clock=clock, create=True, dimension=lambda: 3)


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(url: str, name: str, count: str, manner: str, patience: str) -> None:
    """Write facts, and acknowledge each that the store took.

    Args:
        url: of the store.
        name: of this writer, in each text.
        count: how many facts; refused ones are tried again.
        manner: `session` keeps the store open, `in turn` opens it for each fact.
        patience: seconds to wait for others.
    """
    store, clock = open_store(url, patience=float(patience)), SystemClock()
    say("ready")
    sys.stdin.readline()
    written = 0
    while written < int(count):
        fact_id, text = clock.new_id(), f"{name} wrote number {written}."
        fact = make_fact({"id": fact_id, "title": text, "content": text})
        try:
            (answer,) = store.write([StoreWrite(fact_id, fact, None, name)])
        except StoreUnavailableError as error:
            say(f"refused {error.message}; {error.hint}")
            clock.sleep(0.05)
        else:
            assert isinstance(answer, str)
            say(f"wrote {text}")
            written += 1
        if manner == "in turn":
            store.close()
            store = open_store(url, patience=float(patience))
    store.close()
    say("done")


if __name__ == "__main__":
    main(*sys.argv[1:])
