"""The lock of a store folder that only one process at a time can have open.

The engine locks its log and the client a file of its own, but neither holds its lock around all
of its work in the folder: two processes that open it in turn corrupt its files, and lose facts
that were acknowledged to both.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import msgspec

from vaultsync.backends.qdrant.connection import QdrantConnection, close_to_others
from vaultsync.backends.qdrant.retry import RequestFailure, RequestRefusedError, RetryPolicy
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


class FolderLock:
    """A lock held from the first request until it is closed, and released by the system at a crash.

    The file stays, and names the holder. Each process first takes a second lock, which a waiting
    process holds, so that a process that repeatedly opens and closes the folder lets others in.
    """

    def __init__(self, place: QdrantConnection, clock: Clock) -> None:
        one = f"{place.collection}.lock" if place.kind == "edge" else "vaultsync.lock"
        self._path = place.path / one
        self._clock = clock
        self._held: int | None = None
        self._next: int | None = None

    def hold(self, retry: RetryPolicy) -> None:
        """Take the lock, waiting for it as long as for a response; idempotent.

        Raises:
            StoreUnavailableError: another process has it, or the folder is not writable.
        """
        if self._held is not None:
            return
        try:
            retry.ask(self._try)
        finally:
            if self._next is not None:
                os.close(self._next)
            self._next = None

    def _try(self) -> None:
        close_to_others(self._path.parent)
        if self._next is None:
            self._next = _try_lock(self._path.with_name(f"{self._path.name}.next"))
        fd = None if self._next is None else _try_lock(self._path)
        if fd is None:
            raise self._refusal()
        holder = os.getpid(), self._clock.now().isoformat()
        try:
            os.ftruncate(fd, 0)
            os.pwrite(fd, msgspec.json.encode(holder), 0)
        except BaseException:  # the disk may be too full to record the holder
            os.close(fd)
            raise
        self._held = fd

    def release(self) -> None:
        """Release the lock, if it is held."""
        fd, self._held = self._held, None
        if fd is not None:
            os.close(fd)

    def _refusal(self) -> RequestRefusedError:
        """The failure of the request, which is transient unless the holder stays."""
        name, stays = "another process", False
        with suppress(ValueError, TypeError, OSError):  # the holder may not be recorded yet
            pid, since = msgspec.json.decode(read_file(self._path), type=tuple[int, str])
            age = self._clock.now() - datetime.fromisoformat(since)
            name = "this process" if pid == os.getpid() else f"process {pid}"
            stays = age.total_seconds() > STAYS_SECONDS
        why = f"{name} has it open, and only one process at a time can"
        failure = RequestFailure(why, passing=not stays, wait=POLL_SECONDS, hint=_WAYS_OUT)
        return RequestRefusedError(failure)


def _try_lock(path: Path) -> int | None:
    """Open and lock a file until it is closed; None if another process has locked it."""
    fd, locked = os.open(path, _OPEN, 0o600), False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        locked = os.path.samestat(os.fstat(fd), path.stat())  # otherwise the file was removed
    except (BlockingIOError, FileNotFoundError):
        return None
    finally:
        if not locked:
            os.close(fd)
    return fd if locked else None
