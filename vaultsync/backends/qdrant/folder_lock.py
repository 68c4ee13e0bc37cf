"""The lock of a store folder that only one process at a time can have open.

The engine locks its log and the client a file of its own, but neither holds its lock around all
of its work in the folder: two processes that open it in turn corrupt its files, and lose facts
that were acknowledged to both.
"""

from __future__ import annotations

import fcntl
import os
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from vaultsync.backends.qdrant.connection import QdrantConnection, close_to_others
from vaultsync.backends.qdrant.retry import RequestFailure, RetryPolicy
from vaultsync.backends.replace_file import read_file
from vaultsync.storage.clock import Clock

POLL_SECONDS = 0.05
"""Seconds between two attempts."""
STAYS_SECONDS = 5.0
"""Seconds after which a lock is not waited for, because its holder is not a short command."""
_OPEN = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_WAYS_OUT = (
    "`vaultsync watch` or the next sync delivers the changes in the outbox; to use several"
    " processes, move the facts to SQLite or a server: `vaultsync migrate --to sqlite`"
)


class LockHolder(NamedTuple):
    """The process that holds a lock."""

    pid: int
    since: str


class FolderLockedError(Exception):
    """Another process has the lock."""

    def __init__(self, holder: str, *, stays: bool) -> None:
        super().__init__(holder)
        self.stays = stays
        """Whether it has had the lock for so long that waiting is useless."""

    def failure(self) -> RequestFailure:
        """The failure of a request, which is transient unless the holder stays."""
        why = f"{self} has it open, and only one process at a time can"
        return RequestFailure(why, passing=not self.stays, wait=POLL_SECONDS, hint=_WAYS_OUT)


class FolderLock:
    """A lock held from the first request until it is closed, and released by the system at a crash.

    The file stays, and names the holder. Each process first takes a second lock, which a waiting
    process holds, so that a process that repeatedly opens and closes the folder lets others in.
    """

    def __init__(self, place: QdrantConnection, clock: Clock) -> None:
        one = f"{place.collection}.lock" if place.kind == "edge" else "vaultsync.lock"
        self._path = place.path / one
        self._clock = clock
        self._held = _LockFile(self._path)
        self._next = _LockFile(self._path.with_name(f"{one}.next"))

    def hold(self, retry: RetryPolicy) -> None:
        """Take the lock, waiting for it as long as for a response; idempotent.

        Raises:
            StoreUnavailableError: another process has it, or the folder is not writable.
        """
        if self._held.is_locked:
            return
        try:
            retry.ask(self._try)
        except BaseException:
            self._held.unlock()  # the disk may be too full to record the holder
            raise
        finally:
            self._next.unlock()

    def _try(self) -> None:
        close_to_others(self._path.parent)
        if not (self._next.try_lock() and self._held.try_lock()):
            raise self._refusal()
        holder = LockHolder(os.getpid(), self._clock.now().isoformat())
        self._held.write(msgspec.json.encode(holder))

    def release(self) -> None:
        """Release the lock, if it is held."""
        self._held.unlock()

    def _refusal(self) -> FolderLockedError:
        try:
            holder = msgspec.json.decode(read_file(self._path), type=LockHolder)
            age = self._clock.now() - datetime.fromisoformat(holder.since)
        except (ValueError, TypeError, OSError):  # the holder is not recorded yet
            return FolderLockedError("another process", stays=False)
        name = "this process" if holder.pid == os.getpid() else f"process {holder.pid}"
        return FolderLockedError(name, stays=age.total_seconds() > STAYS_SECONDS)


class _LockFile:
    """A file that is locked by `flock`, at most until its process ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None

    @property
    def is_locked(self) -> bool:
        return self._fd is not None

    def try_lock(self) -> bool:
        """Take the lock if it is free; returns whether this has it."""
        if self._fd is not None:
            return True
        fd = os.open(self._path, _OPEN, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(fd), self._path.stat()):  # otherwise the file was removed
                self._fd = fd
        except (BlockingIOError, FileNotFoundError):
            return False
        finally:
            if self._fd is None:
                os.close(fd)
        return self._fd is not None

    def write(self, data: bytes) -> None:
        """Replace the content of the file."""
        assert self._fd is not None  # noqa: S101 - it is locked
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, data, 0)

    def unlock(self) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)
