"""The memory files that a vault syncs, recorded in files of its state folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from vaultsync.backends.replace_file import read_file, read_records, replace_file
from vaultsync.backends.state.vault_marker import MEMORY_FILE_FOLDER
from vaultsync.memory_files.block_edits import BlockBases
from vaultsync.sync.report import BlockState

KNOWN_DIR = f"{MEMORY_FILE_FOLDER}/known"
BLOCKS_DIR = f"{MEMORY_FILE_FOLDER}/blocks"
BASES_DIR = f"{MEMORY_FILE_FOLDER}/bases"


class KnownFile(msgspec.Struct, frozen=True):
    """A file with managed sections or a managed block."""

    path: str
    """The absolute path, without links."""
    agent: str | None = None
    scope: str | None = None
    """The agent and scope of new facts."""
    block: Mapping[str, Any] | None = None
    """How to fill its block, a `ManageRequest`; None for its sections."""
    scopes: tuple[str, ...] = ()
    """The scopes of the facts in its block; empty for all."""


class KnownMemoryFiles:
    """One record file per memory file, so that processes need no lock; others for blocks."""

    def __init__(self, state_dir: Path) -> None:
        self._known, self._blocks = state_dir / KNOWN_DIR, state_dir / BLOCKS_DIR
        self._bases = state_dir / BASES_DIR

    def all(self) -> Sequence[KnownFile]:
        return sorted(read_records(_files(self._known), KnownFile), key=lambda each: each.path)

    def put(self, known: KnownFile) -> None:
        """Register a file; it has only one block, so another agent's is replaced."""
        _write(self._known / _name(known), known)
        if known.block is not None:
            for other in self.all():
                same = other.path == known.path and other.block is not None
                if same and other.agent != known.agent:
                    self.drop(other)

    def drop(self, known: KnownFile) -> None:
        for folder in (self._known, self._blocks, self._bases):
            (folder / _name(known)).unlink(missing_ok=True)

    def put_block(self, known: KnownFile, state: BlockState) -> None:
        _write(self._blocks / _name(known), state)

    def put_bases(self, known: KnownFile, bases: BlockBases) -> None:
        _write(self._bases / _name(known), bases)

    def bases(self, known: KnownFile) -> BlockBases:
        return next(read_records([self._bases / _name(known)], BlockBases), BlockBases())

    def blocks(self) -> Sequence[BlockState]:
        return sorted(read_records(_files(self._blocks), BlockState), key=lambda each: each.file)


def _name(known: KnownFile) -> str:
    parts = (known.path, known.agent or "", "block" if known.block else "sections")
    return sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    return folder.glob("*") if folder.is_dir() else iter(())


def _write(path: Path, value: KnownFile | BlockState | BlockBases) -> None:
    data = msgspec.json.encode(value)
    try:
        if read_file(path) == data:
            return
    except OSError:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_file(path, data, durable=False)
