"""How far something that is derived from the store has followed its feed."""

from __future__ import annotations

from typing import NamedTuple

from vaultsync.storage.store import FeedRow, Store


class FeedBacklog(NamedTuple):
    """What something derived has to take in."""

    rows: list[FeedRow]
    """Of the feed, by seq."""
    store_id: str
    seq: int
    """Where the feed ends."""
    anew: bool
    """It is of another store, schema or past: all that it holds is to be forgotten."""


def feed_backlog(store: Store, version: str | None, schema: str) -> FeedBacklog:
    """What has to be taken in by something that is at a version.

    Raises:
        StoreUnavailableError: the store is away.
    """
    state = store.state()
    since = seq_of_version(store, state.store_id, version, schema)
    rows = [] if since == state.seq else store.feed(since or 0)
    seq = rows[-1].seq if rows else state.seq
    return FeedBacklog(rows, state.store_id, seq, anew=since is None)


def seq_of_version(store: Store, store_id: str, version: str | None, schema: str) -> int | None:
    """How far of the feed a version is; None when it is of another store, schema or past.

    Raises:
        StoreUnavailableError: the store is away.
    """
    seq = store_seq_of_version(version, store_id)
    return seq if version == make_version(store, store_id, seq, schema) else None


def make_version(store: Store, store_id: str, seq: int, schema: str) -> str:
    """The name of a state of a store, as taken in by a schema.

    It holds the revision, too: a store that was restored from a backup and written to
    since counts the same numbers again.
    """
    return f"{store_id}:{seq}:{schema}:{store.revision_at(seq) or ''}"


def store_seq_of_version(version: str | None, store_id: str) -> int:
    """How far of the feed of a store a version is; 0 when it is of another store."""
    if version is None or not version.startswith(f"{store_id}:"):
        return 0
    seq = version[len(store_id) + 1 :].partition(":")[0]
    return int(seq) if seq.isdecimal() else 0
