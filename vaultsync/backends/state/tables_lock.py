"""The lock of the files of `.index/`: who writes them does not keep others from notes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock


@contextmanager
def tables_lock(state_dir: Path) -> Iterator[bool]:
    """Hold the lock if it is free; says whether it was."""
    lock = filelock.FileLock(state_dir / "tables.lock", mode=0o600)
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()
