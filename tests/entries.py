"""Entries kept in memory, and what the tables of a world are made with."""

from __future__ import annotations

from tests.packs import words
from vaultsync.index_files.ports import CachedEntries
from vaultsync.index_files.service import TableInputs


class EntriesInMemory:
    """An `EntryFile` that forgets everything in the end."""

    def __init__(self) -> None:
        self.held: CachedEntries | None = None
        self.saves = 0

    def load(self) -> CachedEntries | None:
        return self.held

    def save(self, held: CachedEntries) -> None:
        self.held = CachedEntries(held.version, dict(held.entries))
        self.saves += 1


def making(entries: EntriesInMemory | None = None) -> TableInputs:
    """What tables are made with; a word is a token."""
    return TableInputs(entries or EntriesInMemory(), words)
