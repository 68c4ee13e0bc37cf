"""Versions of data derived from the store: how far each has followed the feed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from vaultsync.errors import IndexChangedError
from vaultsync.storage.store import FeedRow, Store, StoreState

T = TypeVar("T")
_TRIES = 5
"""How often an index is read and written again if others keep writing it without progress."""


class FeedBacklog(NamedTuple):
    """The changes that derived data has not followed yet."""

    rows: list[FeedRow]
    """The rows of the feed, by seq."""
    store_id: str
    end: FeedRow | StoreState
    """Where the feed ends."""
    is_full: bool
    """Whether it belongs to another store, schema or history, and has to be rebuilt."""


def feed_backlog(store: Store, version: str | None, schema: str) -> FeedBacklog:
    """The changes that derived data at a version has not followed yet.

    Raises:
        StoreUnavailableError: the store is unavailable.
    """
    state = store.state()
    if version == version_of(state.store_id, state, schema):
        return FeedBacklog([], state.store_id, state, is_full=False)
    since = seq_of_version(store, state.store_id, version, schema)
    rows = store.feed(since or 0)
    return FeedBacklog(rows, state.store_id, rows[-1] if rows else state, is_full=since is None)


def seq_of_version(store: Store, store_id: str, version: str | None, schema: str) -> int | None:
    """The row up to which a version has followed the feed; None if it cannot be continued.

    Raises:
        StoreUnavailableError: the store is unavailable.
    """
    seq = store_seq_of_version(version, store_id)
    return seq if version == make_version(store, store_id, seq, schema) else None


def make_version(store: Store, store_id: str, seq: int, schema: str) -> str:
    """`version_of()` a row of which only the number is known."""
    return f"{store_id}:{seq}:{schema}:{store.revision_at(seq) or ''}"


def version_of(store_id: str, end: FeedRow | StoreState, schema: str) -> str:
    """The version of data derived up to a row of the store's feed, by a schema.

    It includes the revision: a store that was restored from a backup and written to since
    uses the same numbers again.
    """
    return f"{store_id}:{end.seq}:{schema}:{end.revision}"


def store_seq_of_version(version: str | None, store_id: str) -> int:
    """The row up to which a version has followed a store's feed; 0 for another store."""
    if version is None or not version.startswith(f"{store_id}:"):
        return 0
    seq = version[len(store_id) + 1 :].partition(":")[0]
    return int(seq) if seq.isdecimal() else 0


def retry_changed(update: Callable[[], T], left: Callable[[], int]) -> T:
    """Read and write an index with `update`, again where another process wrote it in between.

    It does not give up while others reduce the number of changes that are `left`.

    Raises:
        IndexChangedError: others wrote it each time, without making progress.
    """
    fewest, tries = sys.maxsize, _TRIES
    while True:
        try:
            return update()
        except IndexChangedError:
            lacking = left()
            tries = _TRIES if lacking < fewest else tries - 1
            fewest = min(fewest, lacking)
            if not tries:
                raise
