"""The lock that keeps engines apart. Who only asks needs none."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import TracebackType

import filelock

from vaultsync.errors import EngineBusyError


class EngineLock:
    """One engine per vault: a lock on a file of the state folder.

    The lock is the operating system's and goes with its process; the file stays.
    """

    def __init__(self, state_dir: Path, vault: str) -> None:
        self._path = state_dir / "engine.lock"
        self._holder = state_dir / "engine.json"
        self._vault = vault
        self._lock = filelock.FileLock(self._path, mode=0o600)

    def try_lock(self) -> bool:
        """Take the lock if it is free; to be let go once for each time it was taken."""
        try:
            self._lock.acquire(timeout=0)
        except filelock.Timeout:
            return False
        return True

    def unlock(self) -> None:
        """Let go of it."""
        self._lock.release()

    def holder(self) -> str:
        """Who has it: `idle` when nobody has."""
        if self._lock.is_locked:
            return "this process"
        if self.try_lock():
            self.unlock()
            return "idle"
        try:
            said = json.loads(self._holder.read_text(encoding="utf-8"))
            return f"process {int(said['pid'])}"
        except (OSError, ValueError, KeyError, TypeError):
            return "another process"

    def __enter__(self) -> None:
        """Take it.

        Raises:
            EngineBusyError: another engine has it.
        """
        if not self.try_lock():
            raise EngineBusyError(self._vault, self.holder())
        self._holder.write_text(json.dumps({"pid": os.getpid()}), encoding="utf-8")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let go of it."""
        self.unlock()
