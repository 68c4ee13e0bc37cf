"""The log file of a vault in its state folder: bounded, and readable only by its owner."""

from __future__ import annotations

from pathlib import Path

from vaultsync.backends.replace_file import append_line

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
        self.path.parent.mkdir(mode=0o700, exist_ok=True)
        append_line(self.path, line, errors="backslashreplace", most=self._max_bytes)
