"""The entries of the tables in one file, replaced in one step."""

from __future__ import annotations

import os
from pathlib import Path
from zlib import crc32

import msgspec

from vaultsync.index_files.entry import IndexEntry
from vaultsync.index_files.ports import CachedEntries

ENTRIES_FORMAT = 1
"""Changes with what is written; a file of another one is none."""


class _Checksum(msgspec.Struct):
    """The first line; tells whether the rest is whole."""

    format: int
    version: str
    sum: int


_SEAL = msgspec.json.Decoder(_Checksum)
_ENTRIES = msgspec.json.Decoder(list[IndexEntry])


class FileEntryCache:
    """An `EntryFile`. A file that is damaged counts as none: it is derived.

    It is not waited for until the disk has it: after a power cut its sum tells.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def load(self) -> CachedEntries | None:
        try:
            head, _, body = self._path.read_bytes().partition(b"\n")
            seal = _SEAL.decode(head)
            if (seal.format, seal.sum) != (ENTRIES_FORMAT, crc32(body)):
                return None
            return CachedEntries(seal.version, {each.id: each for each in _ENTRIES.decode(body)})
        except (OSError, msgspec.MsgspecError):
            return None

    def save(self, held: CachedEntries) -> None:
        body = msgspec.json.encode(list(held.entries.values()))
        head = msgspec.json.encode(_Checksum(ENTRIES_FORMAT, held.version, crc32(body)))
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = self._path.with_suffix(".draft")
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(head + b"\n" + body)
        draft.replace(self._path)
