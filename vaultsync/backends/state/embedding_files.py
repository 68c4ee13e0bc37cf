"""The files of the worker that embeds the texts of a vault: its lock and its progress."""

from __future__ import annotations

import json
import logging
import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from vaultsync.backends.replace_file import read_json, try_replace
from vaultsync.backends.state.engine_lock import file_lock, try_file_lock

_log = logging.getLogger(__name__)

_ASKED_EVERY = 0.02
"""Seconds between two checks whether a worker has ended."""
STOP_SECONDS = 0.8
"""Seconds that a worker has to stop on request before it is killed."""


class EmbeddingFiles:
    """One worker per vault, which holds a lock on a file, and writes its progress to another.

    The operating system releases the lock when the process ends, even by a crash. The last
    progress is kept: it states up to where the vectors are complete.
    """

    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / "embedding.json"
        self._lock_path = state_dir / "embedding.lock"
        self._lock = file_lock(self._lock_path)
        self.release = self._lock.release
        self.background = ""
        """For a background worker: how another one continues its work."""
        self.source = ""
        """Identifies the store and the model whose vectors this process computes."""

    def acquire(self, seconds: float) -> bool:
        """Become the worker once there is no other; False after the timeout."""
        return try_file_lock(self._lock, seconds)

    @property
    def is_there(self) -> bool:
        """Whether the lock is still in the state folder; not after the vault was removed."""
        return self._lock_path.exists()

    def write(self, values: Mapping[str, Any]) -> None:
        """Write the progress and the process id; a full disk is ignored."""
        this = {"pid": os.getpid(), "background": self.background, "source": self.source}
        text = json.dumps({**values, **this}, ensure_ascii=False)
        try_replace(self._path, f"{text}\n".encode())

    def progress(self) -> dict[str, Any]:
        """The progress written last, whether or not the process that wrote it still runs."""
        try:
            values = read_json(self._path)
        except (OSError, ValueError):
            values = None
        return values if isinstance(values, dict) else {}

    def read(self) -> dict[str, Any]:
        """The progress written last, with the `pid` of the running process, or None."""
        values = self.progress()
        return {**values, "pid": self._running(values.get("pid"))}

    def pid(self) -> int | None:
        """The id of the process that embeds; None if there is none."""
        found: int | None = self.read()["pid"]
        return found

    def stop(self, started: int | None = None) -> int | None:
        """Stop the worker, unless it is this process; returns the id of its process.

        Args:
            started: a process that may be about to become the worker.
        """
        pid = self.pid() or started
        if pid is None or pid == os.getpid():
            return None
        until = time.monotonic() + STOP_SECONDS
        with suppress(OSError):  # it has ended
            os.kill(pid, signal.SIGTERM)
            while self.pid() == pid:
                if time.monotonic() > until:
                    os.kill(pid, signal.SIGKILL)
                    break
                time.sleep(_ASKED_EVERY)
        return pid

    def _running(self, pid: object) -> int | None:
        """A process id, if that process is running and is the worker."""
        if not isinstance(pid, int) or pid <= 0:
            return None
        try:
            os.kill(pid, 0)
        except (OSError, OverflowError):
            return None
        # Another process may now have this id; only a worker holds the lock.
        try:
            if not self._lock.is_locked and self.acquire(0):
                self.release()
                return None
        except OSError as error:  # a folder that is read-only has no worker
            _log.debug("%s cannot be locked: %s", self._lock_path, error)
            return None
        return pid
