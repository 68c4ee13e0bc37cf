"""The log file of a vault in its state folder: bounded, and readable only by its owner."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

LOG_FOLDER = "log"
LOG_FILE = "vaultsync.log"
MAX_LOG_BYTES = 1_000_000
"""The size at which a log file is rotated; one older file is kept."""


class LogFile:
    """A log file to which any number of processes append, one write per line."""

    def __init__(self, state_dir: Path, *, max_bytes: int = MAX_LOG_BYTES) -> None:
        self.path = state_dir / LOG_FOLDER / LOG_FILE
        self._max_bytes = max_bytes

    def append(self, line: str) -> None:
        """Append a line; raises `OSError`."""
        data = f"{line}\n".encode(errors="backslashreplace")
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
        self.path.parent.mkdir(mode=0o700, exist_ok=True)
        fd = os.open(self.path, flags, 0o600)
        try:
            os.write(fd, data)
            full = os.fstat(fd).st_size >= self._max_bytes
        finally:
            os.close(fd)
        if full:
            with suppress(FileNotFoundError):  # another process has just put it aside
                self.path.replace(self.path.with_suffix(".log.1"))
