"""Entries kept in memory, and what the tables of a world are made with."""

from __future__ import annotations

from tests.packs import words
from vaultsync.index_files.ports import Held
from vaultsync.index_files.service import Making


class EntriesInMemory:
    """An `EntryFile` that forgets everything in the end."""

    def __init__(self) -> None:
        self.held: Held | None = None
        self.saves = 0

    def load(self) -> Held | None:
        return self.held

    def save(self, held: Held) -> None:
        self.held = Held(held.version, dict(held.entries))
        self.saves += 1


def making(entries: EntriesInMemory | None = None) -> Making:
    """What tables are made with; a word is a token."""
    return Making(entries or EntriesInMemory(), words)
