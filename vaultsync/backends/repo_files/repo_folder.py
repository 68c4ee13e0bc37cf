"""The folder of one repository and branch: `memory.json`, `summaries.jsonl`, and indexes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from vaultsync.backends.contended_files import locked_file
from vaultsync.backends.filesystem.memory_file import DiskMemoryFile
from vaultsync.backends.replace_file import append_bytes, read_file, replace_file, sync_folder
from vaultsync.errors import (
    LockTimeoutError,
    MemoryFileChangedError,
    RepoFileError,
    UnreadableMemoryFileError,
)

MEMORY_FILE, SUMMARIES_FILE, INDEXES = "memory.json", "summaries.jsonl", "indexes"
MEMORY_SECONDS, SUMMARIES_SECONDS = 5.0, 1.0
"""Seconds to wait for each lock."""
_MOST_VERSIONS = 8
"""Maximum number of versions of `memory.json` kept as merge bases for edits."""


class RepoFolder:
    """The files of one repository and branch; other programs may read and write them, too.

    They are in a folder with the hash of both, in that of all repositories, `root`.
    """

    def __init__(self, root: Path, repo_hash: str) -> None:
        self.path = root / repo_hash
        self.indexes = self.path / INDEXES

    @property
    def exists(self) -> bool:
        """Whether anything was ever written to it."""
        return self.path.is_dir()

    def memory_lock(self) -> AbstractContextManager[None]:
        """Lock `memory.json` for up to five seconds; raises LockTimeoutError after these."""
        return self._lock(MEMORY_FILE, MEMORY_SECONDS)

    def summaries_lock(self) -> AbstractContextManager[None]:
        """Lock `summaries.jsonl` for up to a second; raises LockTimeoutError after that."""
        return self._lock(SUMMARIES_FILE, SUMMARIES_SECONDS)

    @contextlib.contextmanager
    def _lock(self, name: str, seconds: float) -> Iterator[None]:
        with contextlib.ExitStack() as held:
            with _naming("lock", self.path / name):
                self.indexes.mkdir(mode=0o700, parents=True, exist_ok=True)
                lock = self.path / f"{name}.lock"
                held.enter_context(locked_file(lock, seconds, LockTimeoutError(str(lock), seconds)))
            yield

    def memory(self) -> bytes | None:
        """The bytes of `memory.json`; None if there is none."""
        return self._read(self.path / MEMORY_FILE)

    def put_memory(self, data: bytes, expect: bytes | None) -> bool:
        """Replace `memory.json` atomically and durably; requires its lock.

        What another program without the lock saves meanwhile stays in the file. If that program
        saves again in the same moment, `displaced()` has the former version.

        Args:
            data: the new content.
            expect: the content that was read; None for no file.

        Returns:
            False if the file was saved, or deleted, meanwhile.
        """
        with _naming("write", self.path / MEMORY_FILE):
            try:
                self._memory_file().replace(data, expect, mode=0o600)
            except MemoryFileChangedError:
                return False
            return True

    def displaced(self) -> Sequence[bytes]:
        """What a write or a crash displaced from `memory.json`, unless it is in the file again."""
        with _naming("read", self.path / MEMORY_FILE):
            return [data for data, _ in self._memory_file().displaced()]

    def drop_displaced(self, data: bytes) -> None:
        """Forget a version whose edits are recorded; idempotent. Requires the lock."""
        self._memory_file().drop_leftovers(data)

    def displaced_paths(self) -> list[Path]:
        """The files of `displaced()`, and what else a write that crashed left of `memory.json`."""
        return self._memory_file().staged_paths()

    def _place(self, name: str) -> Path:
        """The user may have linked a file to a synced folder, so the link is kept."""
        return Path(os.path.realpath(self.path / name))

    def _memory_file(self) -> DiskMemoryFile:
        path = self._place(MEMORY_FILE)
        return DiskMemoryFile(path, str(path))

    def versions(self) -> list[int]:
        """The numbers of the stored versions of `memory.json`, oldest first."""
        with _naming("read", self.indexes), contextlib.suppress(FileNotFoundError):
            found = (each.name.split(".")[1] for each in self.indexes.glob("memory.*.json"))
            return sorted(int(each) for each in found if each.isdecimal())
        return []

    def version(self, number: int) -> bytes | None:
        """A version of `memory.json`; None if it is not stored."""
        return self.state(f"memory.{number}.json")

    def keep_version(self, data: bytes) -> int:
        """Store a version of `memory.json` durably, unless it is the newest; returns its number."""
        known = self.versions()
        if known and self.version(known[-1]) == data:
            return known[-1]
        number = known[-1] + 1 if known else 1
        self.put_state(f"memory.{number}.json", data)
        for old in [*known, number][:-_MOST_VERSIONS]:
            (self.indexes / f"memory.{old}.json").unlink(missing_ok=True)
        return number

    def drop_version(self, number: int) -> None:
        """Delete a version of `memory.json` that was not written after all."""
        with _naming("write", self.indexes):
            (self.indexes / f"memory.{number}.json").unlink(missing_ok=True)

    def summaries(self) -> Sequence[bytes]:
        """The complete lines of `summaries.jsonl`, oldest first, without a truncated one."""
        data = self._read(self.path / SUMMARIES_FILE) or b""
        return [line for line in data.split(b"\n")[:-1] if line.strip()]

    def append_summary(self, line: bytes) -> None:
        """Append a line to `summaries.jsonl` durably; requires its lock.

        A line that was truncated by a crash is ended first.
        """
        path = self._place(SUMMARIES_FILE)
        before = self._read(path) or b""
        with _naming("write", path):
            gap = b"" if before[-1:] in (b"", b"\n") else b"\n"
            append_bytes(path, gap + line + b"\n", durable=True)
            if not before:
                sync_folder(path.parent)

    def put_summaries(self, lines: Sequence[bytes]) -> None:
        """Replace all lines atomically and durably; requires the lock."""
        path = self._place(SUMMARIES_FILE)
        with _naming("write", path):
            replace_file(path, b"".join(line + b"\n" for line in lines))

    def state(self, name: str) -> bytes | None:
        """A file in `indexes/`; None if there is none."""
        return self._read(self.indexes / name)

    def put_state(self, name: str, data: bytes, *, durable: bool = True) -> None:
        """Replace a file in `indexes/` atomically."""
        with _naming("write", self.indexes / name):
            self.indexes.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(self.indexes / name, data, durable=durable)

    def _read(self, path: Path) -> bytes | None:
        with _naming("read", path):
            try:
                return read_file(Path(os.path.realpath(path)))
            except FileNotFoundError:
                return None


@contextlib.contextmanager
def _naming(verb: str, path: Path) -> Iterator[None]:
    """Turn a system error into one that names the file."""
    try:
        yield
    except OSError as error:
        raise RepoFileError(verb, str(path), error.errno, error.strerror or str(error)) from error
    except UnreadableMemoryFileError as error:
        number = error.__cause__.errno if isinstance(error.__cause__, OSError) else None
        raise RepoFileError(verb, str(path), number, error.why) from error
