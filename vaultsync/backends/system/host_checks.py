"""The checks of `doctor` about this machine."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from vaultsync.backends.filesystem import syscalls
from vaultsync.backends.filesystem.syscalls import EntryAt
from vaultsync.errors import system_hint
from vaultsync.sync.report import DoctorCheck

_CLOUDS = ("dropbox", "onedrive", "google drive", "mobile documents", "nextcloud")
_LOW = 100 << 20


def machine_checks(root: Path, state_dir: Path, store: Path | None = None) -> Iterator[DoctorCheck]:
    """Check Python, SQLite, the file system of the vault, permissions and free space."""
    python = sys.version.split()[0]
    yield DoctorCheck("python", ok=True, message=f"Python {python}")
    yield DoctorCheck("sqlite", ok=True, message=f"SQLite {sqlite3.sqlite_version}")
    yield _exchange(root)
    yield _closed("state folder", state_dir)
    if not os.access(state_dir, os.W_OK):
        message, hint = f"{state_dir} is read-only", "make it writable, or use another --state-dir"
        yield DoctorCheck("state folder", ok=False, message=message, hint=hint)
    if store is not None and store.exists():
        yield _closed("store place", store)
    free = shutil.disk_usage(root).free
    hint = "" if free > _LOW else "free some space; nothing is written to a full disk"
    yield DoctorCheck("space", free > _LOW, f"{free >> 20} MiB are free", hint)
    # The archive and the lock break when another program copies them.
    synced = any(name in str(state_dir).casefold() for name in _CLOUDS)
    message = "the state folder is only on this machine"
    if synced:
        message = "the state folder is in a synced folder"
    yield DoctorCheck("state place", not synced, message, "move it with --state-dir" * synced)


def _closed(name: str, path: Path) -> DoctorCheck:
    """Whether other users can access a file or a folder."""
    mode = path.stat().st_mode & 0o777
    ok = not mode & 0o077
    message = f"{path} has the permissions {mode:o}"
    return DoctorCheck(name, ok, message, "" if ok else f"chmod go= {quote(str(path))}")


def _exchange(root: Path) -> DoctorCheck:
    """Whether two files can be exchanged atomically in the file system of the notes."""
    try:
        with tempfile.TemporaryDirectory(prefix="vs-", dir=root / ".meta") as folder:
            one, other = Path(folder, "one"), Path(folder, "other")
            one.write_bytes(b"1")
            other.write_bytes(b"2")
            fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                able = syscalls.exchange(EntryAt(fd, "one"), EntryAt(fd, "other"))
            finally:
                os.close(fd)
    except OSError as error:
        message = f"the vault is not writable: {error.strerror}"
        hint = system_hint(error, "change its permissions so that you can write to it")
        return DoctorCheck("exchange", ok=False, message=message, hint=hint)
    if able:
        return DoctorCheck("exchange", ok=True, message="notes can be replaced atomically")
    message = "this file system cannot exchange files; hard links are used instead"
    hint = "a save within the microseconds of a write may be lost"
    return DoctorCheck("exchange", ok=True, message=message, hint=hint)
