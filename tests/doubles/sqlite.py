"""Indexes of SQLite in memory, which need not be closed."""

from __future__ import annotations

from vaultsync.backends.sqlite.database import IN_MEMORY
from vaultsync.backends.sqlite.derived_file import DerivedFile
from vaultsync.backends.sqlite.links import SqliteLinks
from vaultsync.backends.sqlite.listed_entries import SqliteEntries
from vaultsync.backends.sqlite.symbol_cache import SqliteCodeIndex


class _InMemory(DerivedFile):
    def __init__(self) -> None:
        super().__init__(IN_MEMORY)  # type: ignore[call-arg]

    def __del__(self) -> None:
        self.close()


class MemoryLinks(_InMemory, SqliteLinks):
    """A `LinkIndex` for a test."""


class MemoryEntries(_InMemory, SqliteEntries):
    """An `EntryTable` for a test."""


class MemoryCodeIndex(_InMemory, SqliteCodeIndex):
    """A `CodeIndex` for a test."""
