"""The log file of a vault in its state folder: bounded, and readable only by its owner."""

from __future__ import annotations

from pathlib import Path

from vaultsync.backends.replace_file import append_line

LOG_FOLDER = "log"
LOG_FILE = "vaultsync.log"
MAX_LOG_BYTES = 1_000_000
"""The size at which a log file is rotated; one older file is kept."""


def append_to_log(state_dir: Path, line: str, *, max_bytes: int = MAX_LOG_BYTES) -> None:
    """Append a line, in one write, as any number of processes may; raises `OSError`."""
    path = state_dir / LOG_FOLDER / LOG_FILE
    path.parent.mkdir(mode=0o700, exist_ok=True)
    append_line(path, line, errors="backslashreplace", most=max_bytes)
