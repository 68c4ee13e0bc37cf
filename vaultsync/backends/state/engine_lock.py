"""The lock of the engine of a vault, and that of the files of `.index/`. Reading needs none."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from vaultsync.backends.replace_file import read_json, try_replace
from vaultsync.errors import EngineBusyError

if TYPE_CHECKING:
    import filelock

_log = logging.getLogger(__name__)
_PROBE_SECONDS = 0.2
"""Seconds to wait for the lock of a request, which other processes hold briefly to test it."""


class EngineLock:
    """One engine per vault: a lock on a file of the state folder.

    The operating system releases the lock when its process ends; the file stays. Beside it,
    a process that holds the lock for a run records its id, so that others can find the holder
    without taking the lock.
    """

    def __init__(self, state_dir: Path, vault: str) -> None:
        self._holder = state_dir / "engine.json"
        self._vault = vault
        self._path = state_dir / "engine.lock"
        self._written = False
        self.next = LockRequest(state_dir / "engine.next")
        """Makes `try_lock()` fail in other processes, while this one waits for the lock."""
        self.asked = LockRequest(state_dir / "engine.asked")
        """Asks the process that holds the lock to lend it."""

    @cached_property
    def _lock(self) -> filelock.BaseFileLock:
        return file_lock(self._path)

    def try_lock(self) -> bool:
        """Acquire the lock if it is free; it is reentrant, with one `unlock()` for each time.

        A process that takes it repeatedly and briefly leaves it to one that waits.
        """
        if not self.is_held and (self.next.is_of_another() or self.asked.is_of_another()):
            return False
        return try_file_lock(self._lock)

    def lend(self) -> int:
        """Release the lock completely; returns how often it was acquired."""
        times = self._lock.lock_counter
        while self.is_held:
            self.unlock()
        return times

    def take_back(self, times: int) -> bool:
        """Acquire the lock again as often as before `lend()`; returns whether it was free."""
        if not try_file_lock(self._lock):
            return False
        for _ in range(times - 1):
            self.__enter__()
        return True

    @property
    def is_held(self) -> bool:
        """Whether this object holds the lock."""
        return "_lock" in vars(self) and self._lock.is_locked

    def unlock(self) -> None:
        """Undo one `try_lock()`."""
        if self._written and self._lock.lock_counter == 1:
            self._written = False
            try:
                self._holder.unlink()
            except OSError as error:  # the id of a process that has ended counts as none
                _log.debug("%s stays: %s", self._holder, error)
        self._lock.release()

    def holder(self, unknown: str = "idle") -> str:
        """Describe the process that has the lock.

        Args:
            unknown: the result if no process has recorded that it has it.
        """
        return "this process" if self.is_held else self._record()[0] or unknown

    def busy(self) -> EngineBusyError:
        """The error that another process has the lock."""
        holder, place = self._record()
        # The vault of a daemon may be moved to another folder of the same disk while it runs.
        is_moved = place not in ("", self._vault) and not os.path.lexists(place)
        was_at = place if is_moved else ""
        return EngineBusyError(self._vault, holder, was_at=was_at)

    def _record(self) -> tuple[str, str]:
        """The process that has recorded that it has the lock, and its vault; empty if unknown."""
        try:
            record = read_json(self._holder)
            pid, place = int(record["pid"]), str(record.get("vault", ""))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return "", ""
        return (f"process {pid}", place) if _is_alive(pid) else ("", "")

    def __enter__(self) -> None:
        """Acquire the lock; `EngineBusyError` if another engine has it."""
        if not try_file_lock(self._lock):
            raise self.busy()
        record = {"pid": os.getpid(), "vault": self._vault}
        try:  # without a record, others see "another process"
            self._written = try_replace(self._holder, json.dumps(record).encode())
        except BaseException:
            self.unlock()
            raise

    def __exit__(self, *_: object) -> None:
        """Release the lock."""
        self.unlock()


class LockRequest:
    """A file that a process keeps locked while it waits for the engine."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @cached_property
    def _lock(self) -> filelock.BaseFileLock:
        return file_lock(self._path)

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Lock it within the context; yields whether no other process has locked it."""
        first = try_file_lock(self._lock, _PROBE_SECONDS)
        try:
            yield first
        finally:
            if first:
                self._withdraw()

    def is_of_another(self) -> bool:
        """Whether another process has locked it; a crash may have left the file."""
        if not self._path.exists() or self._lock.is_locked:
            return False
        if not try_file_lock(self._lock):
            return True
        self._withdraw()
        return False

    def _withdraw(self) -> None:
        with suppress(OSError):  # some systems do not remove open files
            self._path.unlink()
        self._lock.release()


@contextmanager
def tables_lock(state_dir: Path, seconds: float = 0.0) -> Iterator[bool]:
    """Hold the lock of `.index/` if it is free within some seconds; yields whether it was.

    Writing those files does not prevent others from writing notes.
    """
    lock = file_lock(state_dir / "tables.lock")
    if not try_file_lock(lock, seconds):
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


def file_lock(path: Path) -> filelock.BaseFileLock:
    """The lock on a file, which only its owner may open."""
    import filelock  # takes half the time of `import click`; readers need no lock

    return filelock.FileLock(path, mode=0o600)


def try_file_lock(lock: filelock.BaseFileLock, seconds: float = 0.0) -> bool:
    """Acquire a lock; False after the timeout."""
    import filelock

    try:
        lock.acquire(timeout=seconds, poll_interval=0.01)
    except filelock.Timeout:
        return False
    return True


def _is_alive(pid: int) -> bool:
    try:
        if pid > 0:  # others are process groups
            os.kill(pid, 0)
    except PermissionError:
        return True  # a process of another user
    except (OSError, OverflowError):
        return False
    return pid > 0
