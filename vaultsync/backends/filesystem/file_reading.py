"""Consistent reads of files, and their stamps."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import time
from collections.abc import Callable
from typing import TypeAlias

from vaultsync.backends.filesystem import syscalls
from vaultsync.backends.filesystem.syscalls import EntryAt
from vaultsync.errors import NoteChangedError, NotRegularFileError, UnreadableNoteError
from vaultsync.model.paths import VaultPath
from vaultsync.storage.vault import FileStamp, NoteFile

NO_LIMIT = sys.maxsize
_SPLIT = "make it smaller, or raise max_note_bytes in .meta/config.toml"
FileVisitor: TypeAlias = Callable[[int, os.stat_result], None]
"""Called with an open file and its stat."""
PAUSES = (0.0, 0.001, 0.004, 0.016, 0.064)
"""Seconds before a file that changed while being read is read again."""
_KINDS = (
    (stat.S_ISLNK, "a link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


def stamp_from_stat(found: os.stat_result) -> FileStamp:
    """The stamp in a stat."""
    return FileStamp(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def irregularity(found: os.stat_result, *, links: int = 1) -> str:
    """The kind of a file that is not regular with at most `links` names; empty otherwise."""
    if stat.S_ISREG(found.st_mode):
        return "a hard link" if found.st_nlink > links else ""
    return next((name for test, name in _KINDS if test(found.st_mode)), "a device")


def read_stable(
    place: EntryAt,
    path: str,
    *,
    limit: int = NO_LIMIT,
    links: int = NO_LIMIT,
    look: FileVisitor | None = None,
) -> NoteFile:
    """Read a file consistently; errors call it `path`.

    Raises:
        NotRegularFileError: it is not a regular file with at most `links` names.
        UnreadableNoteError: it is larger than `limit` bytes.
        NoteChangedError: it kept changing.
        OSError: any other error of the system.
    """
    for pause in PAUSES:
        try:
            fd = syscalls.open_to_read(place)
        except OSError as error:
            if kind := irregularity(syscalls.stat_of(place), links=links):
                raise NotRegularFileError(path, kind) from error
            raise
        found = read_once(fd, path, limit=limit, links=links, look=look)
        if found:
            return found
        time.sleep(pause)
    raise NoteChangedError(path)


def read_once(
    fd: int,
    path: str,
    *,
    limit: int = NO_LIMIT,
    links: int = NO_LIMIT,
    look: FileVisitor | None = None,
    hashes: bool = True,
) -> NoteFile | None:
    """Read and close an open file; None if it changed meanwhile. Raises as `read_stable()`.

    Unless it `hashes`, the sha is empty.
    """
    try:
        before = os.fstat(fd)
        if kind := irregularity(before, links=links):
            raise NotRegularFileError(path, kind)
        size = before.st_size
        if size > limit:
            why = f"it is larger than {limit:,} bytes"
            raise UnreadableNoteError(path, why, hint=_SPLIT)
        data = os.read(fd, size + 1)
        while 0 < len(data) < size and (more := os.read(fd, 1 << 20)):
            data += more
        if look is not None:
            look(fd, before)
        stamp = stamp_from_stat(before)
        if len(data) == size and stamp_from_stat(os.fstat(fd)) == stamp:
            return NoteFile(data, hashlib.sha256(data).hexdigest() if hashes else "", stamp)
    finally:
        os.close(fd)
    return None


def stamp_after(place: EntryAt, before: FileStamp) -> FileStamp:
    """The stamp of a file that was just renamed to `place`.

    Only the ctime is read, because a save since `before` must look like a change.
    """
    with contextlib.suppress(FileNotFoundError):  # removed meanwhile
        now = syscalls.stat_of(place)
        if now.st_ino == before.inode:
            return before._replace(ctime_ns=now.st_ctime_ns)
    return before


def os_error_text(error: OSError) -> str:
    """The message of the system."""
    return error.strerror or str(error)


def unreadable_error(path: VaultPath, error: OSError) -> UnreadableNoteError:
    """The error for a note that the system cannot read."""
    hint = "change its permissions so that you can read it; the next run tries again"
    if not isinstance(error, PermissionError):
        hint = "check the disk and the file; the next run tries again"
    return UnreadableNoteError(path, os_error_text(error), hint=hint)
