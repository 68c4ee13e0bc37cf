"""Entries in memory, and the inputs of the tables of a world."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext

from tests.doubles.sqlite import MemoryEntries
from tests.packs import words
from vaultsync.index_files.entry import IndexEntry, ListedEntry
from vaultsync.index_files.index_pages import render_listed
from vaultsync.index_files.ports import EntryTable
from vaultsync.index_files.service import TableInputs
from vaultsync.model.paths import VaultPath


class EntriesInMemory(MemoryEntries):
    """Entries that count how often they are updated."""

    def __init__(self) -> None:
        super().__init__()
        self.saves = 0

    def set_version(self, version: str) -> None:
        super().set_version(version)
        self.saves += 1


def render_index(entries: Iterable[IndexEntry], paths: Mapping[str, VaultPath]) -> dict[str, str]:
    """Name of an index file -> its text, for all facts with a path."""
    listed = (ListedEntry.of(each, paths[each.id]) for each in entries if each.id in paths)
    return render_listed(listed, MemoryEntries())


def making(entries: EntryTable | None = None) -> TableInputs:
    """The inputs of tables; each word is a token."""
    return TableInputs(entries or EntriesInMemory(), in_memory, words)


def in_memory() -> AbstractContextManager[EntryTable]:
    """An empty table, for the block."""
    return nullcontext(MemoryEntries())
