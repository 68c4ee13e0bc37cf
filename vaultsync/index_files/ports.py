"""Contract of the cache of index entries, which is derived and can be rebuilt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from vaultsync.index_files.entry import IndexEntry


class CachedEntries(NamedTuple):
    """What is cached between two runs."""

    version: str
    """The version of the store that the entries are of; see `NoteIndex.version()`."""
    entries: Mapping[str, IndexEntry]
    """Fact id -> entry, of the facts that are listed."""


class EntryCache(Protocol):
    """Caches the entries of all facts, so that no fact is read and counted twice."""

    def load(self) -> CachedEntries | None:
        """What was saved last; None when nothing was, or it is damaged."""
        ...

    def save(self, held: CachedEntries) -> None:
        """Replace the cache atomically.

        Raises:
            OSError: the disk is full or broken; the cache is unchanged.
        """
        ...
