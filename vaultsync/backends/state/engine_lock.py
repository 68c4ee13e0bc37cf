"""The lock of the engine of a vault. Reading needs none."""

from __future__ import annotations

import json
import os
from pathlib import Path

import filelock

from vaultsync.errors import EngineBusyError


class EngineLock:
    """One engine per vault: a lock on a file of the state folder.

    The operating system releases the lock when its process ends; the file stays.
    """

    def __init__(self, state_dir: Path, vault: str) -> None:
        self._holder = state_dir / "engine.json"
        self._vault = vault
        self._lock = filelock.FileLock(state_dir / "engine.lock", mode=0o600)
        self.unlock = self._lock.release

    def try_lock(self) -> bool:
        """Acquire the lock if it is free; it is reentrant, with one `unlock()` for each time."""
        try:
            self._lock.acquire(timeout=0)
        except filelock.Timeout:
            return False
        return True

    def holder(self) -> str:
        """Which process has the lock, in words; `idle` when none has."""
        if self._lock.is_locked:
            return "this process"
        if self.try_lock():
            self.unlock()
            return "idle"
        try:
            values = json.loads(self._holder.read_text(encoding="utf-8"))
            return f"process {int(values['pid'])}"
        except (OSError, ValueError, KeyError, TypeError):
            return "another process"

    def __enter__(self) -> None:
        """Acquire the lock; `EngineBusyError` if another engine has it."""
        if not self.try_lock():
            raise EngineBusyError(self._vault, self.holder())
        self._holder.write_text(json.dumps({"pid": os.getpid()}), encoding="utf-8")

    def __exit__(self, *_: object) -> None:
        """Release the lock."""
        self.unlock()
