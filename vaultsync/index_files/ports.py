"""The entries that the tables of `.index/` are made of. Derived; they can be rebuilt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from vaultsync.index_files.entry import IndexEntry


class CachedEntries(NamedTuple):
    """What is kept between two passes."""

    version: str
    """What the entries were brought up to; see `NoteIndex.version()`."""
    entries: Mapping[str, IndexEntry]
    """By the ids of their facts; only those of facts that are listed."""


class EntryCache(Protocol):
    """The entries of all facts, kept so that no fact is read and counted twice."""

    def load(self) -> CachedEntries | None:
        """What was saved last; None when there is nothing, or it is damaged."""
        ...

    def save(self, held: CachedEntries) -> None:
        """Replace it in one step.

        Raises:
            OSError: the disk is full or broken; what was there is there.
        """
        ...
