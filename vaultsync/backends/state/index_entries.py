"""The entries of the index files in one file, replaced in one step."""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

import msgspec

from vaultsync.backends.replace_file import read_file, replace_file
from vaultsync.index_files.entry import IndexEntry
from vaultsync.index_files.ports import CachedEntries

ENTRIES_FORMAT = 1
"""Changes with what is written; a file of another format is ignored."""


class _Checksum(msgspec.Struct):
    """The first line, which says whether the rest is whole."""

    format: int
    version: str
    sum: int


_SEAL = msgspec.json.Decoder(_Checksum)
_ENTRIES = msgspec.json.Decoder(list[IndexEntry])


class FileEntryCache:
    """An `EntryCache` in one file. A damaged file counts as none: it is derived.

    It is not flushed: after a power cut its checksum tells whether it is whole.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def load(self) -> CachedEntries | None:
        try:
            head, _, body = read_file(self._path).partition(b"\n")
            seal = _SEAL.decode(head)
            if (seal.format, seal.sum) != (ENTRIES_FORMAT, crc32(body)):
                return None
            return CachedEntries(seal.version, {each.id: each for each in _ENTRIES.decode(body)})
        except (OSError, msgspec.MsgspecError, RecursionError):
            return None

    def save(self, held: CachedEntries) -> None:
        body = msgspec.json.encode(list(held.entries.values()))
        head = msgspec.json.encode(_Checksum(ENTRIES_FORMAT, held.version, crc32(body)))
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(self._path, head + b"\n" + body, durable=False)
