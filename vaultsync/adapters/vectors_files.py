"""The files of the matrix: parts that only grow, and a header that says how far they count.

A part is written behind what counts of it and flushed before the header is replaced in
one step; so a reader in any process sees all of a write or nothing, a crash leaves bytes
that nobody counts, and the next write goes over them.
"""

from __future__ import annotations

import json
import mmap
import os
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from zlib import crc32

_FORMAT = 1
_HEADER = "header.json"
PARTS = ("vectors", "rows", "tags", "dead", "words")
_SPARE = 1 << 20
"""Bytes of which a part grows by at least: what is mapped then lasts for a while."""


@dataclass(frozen=True, slots=True)
class Header:
    """What counts."""

    identity: str
    record: str | None = None
    dimension: int = 0
    """0 until the first row."""
    series: str = ""
    """In the names of the parts: another one after each rewriting, never one again."""
    copied: tuple[int, int] = (0, 0)
    """How many rows and dead rows their owner has copied elsewhere."""
    sizes: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(PARTS, 0))
    """Bytes of each part that count."""
    sums: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(PARTS, 0))
    """Their CRC-32."""


class DamagedError(Exception):
    """The files are not what the header says."""


class MatrixFiles:
    """The header and the parts in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / _HEADER
        self._stamp: tuple[int, int, int] | None = None
        self._header: Header | None = None

    def header(self) -> Header | None:
        """The header as it is now; the same object while nobody has written."""
        try:
            found = os.stat(self._path)  # noqa: PTH116 - before every search, 5 × faster
            stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
            if stamp != self._stamp:
                self._header = _parse(self._path.read_bytes())
                self._stamp = stamp
        except FileNotFoundError:
            self._header = self._stamp = None
        return self._header

    def forget(self) -> None:
        """Read the header again at the next asking."""
        self._stamp = None

    def begin(self, identity: str) -> Header:
        """The header of an empty matrix; nothing is written yet."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Header(identity, series=secrets.token_hex(4))

    def append(self, header: Header, blocks: Mapping[str, bytes]) -> Header:
        """Write behind what counts, and flush; the header that would count it too.

        Raises:
            OSError: the disk is full or broken; nothing counts that did not before.
        """
        sizes, sums = dict(header.sizes), dict(header.sums)
        for part, block in blocks.items():
            if not block:
                continue
            fd = os.open(self._part(header, part), os.O_RDWR | os.O_CREAT, 0o600)
            try:
                _write(fd, block, sizes[part])
                sizes[part] += len(block)
                sums[part] = crc32(block, sums[part])
                if os.fstat(fd).st_size <= sizes[part]:
                    os.ftruncate(fd, sizes[part] + max(_SPARE, sizes[part] // 4))
                os.fsync(fd)
            finally:
                os.close(fd)
        return replace(header, sizes=sizes, sums=sums)

    def publish(self, header: Header) -> None:
        """Replace the header in one step, durably.

        Raises:
            OSError: the disk is full or broken; the old one counts.
        """
        body = json.dumps(asdict(header), sort_keys=True).encode()
        text = json.dumps({"format": _FORMAT, "sum": crc32(body)}).encode()
        draft = self._path.with_suffix(".draft")
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            _write(fd, text + b"\n" + body, 0)
            os.fsync(fd)
        finally:
            os.close(fd)
        draft.replace(self._path)
        self._flush_folder()

    def map(self, header: Header, part: str) -> mmap.mmap | bytes:
        """A part, all of its file, what does not count too.

        Raises:
            DamagedError: it is missing or too short.
        """
        if not header.sizes[part]:
            return b""
        try:
            fd = os.open(self._part(header, part), os.O_RDONLY)
        except FileNotFoundError:
            raise DamagedError(part) from None
        try:
            if os.fstat(fd).st_size < header.sizes[part]:
                raise DamagedError(part)
            return mmap.mmap(fd, 0, access=mmap.ACCESS_READ)
        finally:
            os.close(fd)

    def remove_others(self, header: Header) -> None:
        """Remove the parts of other series; whoever has one mapped can go on."""
        for path in self._folder.glob("*.part"):
            if not path.name.startswith(f"{header.series}-"):
                path.unlink(missing_ok=True)

    def _part(self, header: Header, part: str) -> str:
        return f"{self._folder}/{header.series}-{part}.part"

    def _flush_folder(self) -> None:
        fd = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _write(fd: int, block: bytes, at: int) -> None:
    view = memoryview(block)
    while view:
        done = os.pwrite(fd, view, at)
        view, at = view[done:], at + done


def _parse(text: bytes) -> Header | None:
    """The header of a file; None when it is damaged, or of another format."""
    first, _, body = text.partition(b"\n")
    try:
        if json.loads(first) != {"format": _FORMAT, "sum": crc32(body)}:
            return None
        held = json.loads(body)
        return Header(**(held | {"copied": tuple(held["copied"])}))
    except (ValueError, TypeError):
        return None
