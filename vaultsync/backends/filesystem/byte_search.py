"""Search every byte of the files of a memory: its state folder, its store, its vault."""

from __future__ import annotations

import mmap
import os
import stat
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from vaultsync.storage.erasure import UNREADABLE, Remnant, Traces
from vaultsync.storage.packed_bytes import packed_in

_HEAD = 4096
"""Number of bytes at the beginning of a note that contain its id, if it has one."""
_DATABASES = (".sqlite3", ".sqlite")
_LOCKED = "-shm"
"""The end of the names of files that only have the locks and the index of a log, and no text."""
_OURS = (".meta", ".index")
"""Folders of the vault whose files vaultsync writes."""


class DatabaseReader(Protocol):
    """Reads the pages of a file of SQLite; None if it is none."""

    def __call__(self, path: Path, *, settled: bool) -> bytes | None:
        """With `settled`, as they are on disk; `OSError` if they cannot be read."""


class FileByteSearch:
    """A `ByteSearch` over folders and files.

    Args:
        places: folders and files that vaultsync writes: the state folder, the store.
        vault: the vault, most of which is the user's.
        index_folder: the visible copy of `.index/`; empty for none.
        skip: files that may name the facts: the intent of the purge.
        compressed: folders whose formats hide their content from a search of bytes.
        packed: file -> the unpacked data of its packed rows.
        tombstones: a store's file or folder -> how often it may contain the id of an erased
            fact.
        read_database: for the files of SQLite: to open and close one here would drop the locks
            of this process on it.
        shared: further files, which other vaults may also write: of what they hold, only ids
            count as left behind.
    """

    def __init__(
        self,
        places: Sequence[Path],
        *,
        vault: Path,
        index_folder: str = "",
        skip: Path,
        compressed: Sequence[Path] = (),
        packed: Mapping[Path, Callable[[], Iterable[bytes]]] = MappingProxyType({}),
        tombstones: Mapping[Path, int] = MappingProxyType({}),
        read_database: DatabaseReader | None = None,
        shared: Collection[Path] = (),
    ) -> None:
        self._places = (*places, *shared)
        self._vault = vault
        self._ours = [vault / each for each in (*_OURS, index_folder) if each]
        self._skip = skip
        self._compressed = compressed
        self._packed = packed
        self._tombstones = tombstones
        self._read_database = read_database
        self._shared = shared

    def find(self, traces: Traces, *, erased: bool) -> Iterator[Remnant]:
        seen: set[Path] = set()
        unreadable: list[Path] = []
        for place in (*self._places, self._vault):
            for path in _files(place, unreadable):
                if path in seen or path == self._skip or path.name.endswith(_LOCKED):
                    continue
                seen.add(path)
                try:
                    found = self._search(path, traces, settled=erased)
                    found = found or self._search_rows(path, traces)
                except OSError:
                    unreadable.append(path)
                    continue
                if found:
                    yield from self._remnants(path, found, traces.fact_ids)
        for path in dict.fromkeys(unreadable):
            yield Remnant(str(path), UNREADABLE, of_user=not self._is_ours(path))
        if erased:
            yield from self._old_compressed()

    def _remnants(
        self, path: Path, found: Mapping[str, int], fact_ids: Collection[str]
    ) -> Iterator[Remnant]:
        ours = self._is_ours(path)
        held = (n for place, n in self._tombstones.items() if path.is_relative_to(place))
        allowed = next(held, 0)
        ids = sum(max(0, n - allowed) for name, n in found.items() if name in fact_ids)
        texts = sum(n for name, n in found.items() if name not in fact_ids)
        if ids:
            copy = path.suffix.lower() == ".md" and _names_in_head(path, fact_ids)
            yield Remnant(str(path), "id", ids, of_user=not (ours or copy))
        if texts:
            is_shared = path in self._shared
            yield Remnant(str(path), "text", texts, of_user=is_shared or not ours)

    def _is_ours(self, path: Path) -> bool:
        """Whether vaultsync writes a file, and not the user."""
        return not path.is_relative_to(self._vault) or any(
            path.is_relative_to(each) for each in (*self._ours, *self._places)
        )

    def _search(self, path: Path, traces: Traces, *, settled: bool) -> Mapping[str, int]:
        is_database = path.suffix in _DATABASES or path in self._places
        try:
            if self._read_database and is_database and self._is_ours(path) and path.stat().st_size:
                pages = self._read_database(path, settled=settled)
                if pages is not None:
                    return _search_bytes(pages, traces)
            return _search_file(path, traces)
        except FileNotFoundError:
            return {}  # another process removed it

    def _search_rows(self, path: Path, traces: Traces) -> Mapping[str, int]:
        """Search unpacked rows: SQLite may split a packed row over several pages of the file."""
        unpacked = self._packed[path]() if path in self._packed else ()
        return _total(map(traces.found_in, unpacked))

    def _old_compressed(self) -> Iterator[Remnant]:
        began = self._skip.stat().st_mtime_ns
        for folder in self._compressed:
            for path in _files(folder, []):
                if path.stat().st_mtime_ns < began and path.stat().st_size:
                    yield Remnant(str(path), "compressed and older than the purge")


def _files(place: Path, unreadable: list[Path]) -> Iterator[Path]:
    """All regular files of a folder, without following links, or a file and its log.

    Folders that cannot be read are added to `unreadable`.
    """
    if place.is_file():
        beside = (each for each in place.parent.iterdir() if each.name.startswith(place.name))
        yield from sorted(filter(Path.is_file, beside))
        return

    def missed(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):  # another process removed it
            unreadable.append(Path(error.filename))

    for folder, _, names in os.walk(place, onerror=missed):
        for name in sorted(names):
            path = Path(folder, name)
            try:
                is_regular = stat.S_ISREG(path.lstat().st_mode)
            except OSError as error:
                missed(error)
                continue
            if is_regular:
                yield path


def _search_file(path: Path, traces: Traces) -> Mapping[str, int]:
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return {}
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _search_bytes(data, traces)


def _search_bytes(data: bytes | mmap.mmap, traces: Traces) -> Mapping[str, int]:
    return _total([traces.found_in(data), *map(traces.found_in, packed_in(data))])


def _total(found: Iterable[Mapping[str, int]]) -> Mapping[str, int]:
    total: Counter[str] = Counter()
    for each in found:
        total.update(each)
    return total


def _names_in_head(path: Path, fact_ids: Collection[str]) -> bool:
    """Whether a note has the id of one of the facts, and so is a copy."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    return any(f"\nid: {each}".encode() in head for each in fact_ids)
