"""A folder and all below it: opened, listed, read and flushed.

No link is followed. Only the root stays open between two calls: a folder that was
renamed meanwhile must not receive a file for the folder that has its name now.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from vaultsync.backends.filesystem import folder_listing as vault_list
from vaultsync.backends.filesystem import syscalls
from vaultsync.backends.filesystem.folder_listing import IgnoreRules
from vaultsync.backends.filesystem.syscalls import EntryAt
from vaultsync.errors import (
    NoteChangedError,
    NoteError,
    NoteMissingError,
    NotRegularFileError,
    UnreadableNoteError,
    UnsafePathError,
    VaultMissingError,
)
from vaultsync.model.paths import VaultPath
from vaultsync.storage.vault import FileStamp, FolderListing, NoteFile, VaultScan

NO_LIMIT = sys.maxsize
_SPLIT = "make it smaller, or raise max_note_bytes in .meta/config.toml"
FileVisitor: TypeAlias = Callable[[int, os.stat_result], None]
"""Called with an open file and its stat."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_PAUSES = (0.0, 0.001, 0.004, 0.016, 0.064)
"""Seconds before a file that changed while being read is read again."""
_TICK_NS = 10_000_000
"""Stamps come from a clock that lags by up to one tick, at worst of 100 a second."""
_FEW = 24
"""Up to this number of files and folders, flushing each is faster than flushing the disk."""


class FolderTree:
    """The tree at a path.

    It stays the folder that it was when it was opened: while another one has its path,
    everything fails until `close()` is called.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        self._root = -1
        self._touched: set[str] = set()
        self._failed: OSError | None = None

    def close(self) -> None:
        """Close the root; harmless when repeated."""
        if self._root >= 0:
            os.close(self._root)
            self._root = -1

    def verify(self) -> None:
        """Check that the root is there.

        Raises:
            VaultMissingError: it is not, or another folder has its path.
        """
        try:
            if self._root < 0:
                self._root = os.open(self.where, os.O_RDONLY | os.O_DIRECTORY)
            if os.path.samestat(Path(self.where).stat(), os.fstat(self._root)):
                return
        except OSError as error:
            raise VaultMissingError(self.where, os_error_text(error)) from error
        raise VaultMissingError(self.where, "another folder stands there")

    def missing(self, path: str) -> NoteMissingError:
        """The error for a missing file.

        Raises:
            VaultMissingError: the root itself is missing.
        """
        self.verify()
        return NoteMissingError(path)

    @contextlib.contextmanager
    def place(self, path: str, *, make: bool = False) -> Iterator[EntryAt]:
        """The last name of a path, and its folder, which is open inside the block.

        Raises:
            NoteMissingError: a folder is missing, and must not be made.
            UnsafePathError: a folder of the path is a link.
        """
        if self._root < 0:
            self.verify()
        way, _, name = path.rpartition("/")
        if not way:
            yield EntryAt(self._root, name)
            return
        here = syscalls.open_below(self._root, way, _FOLDER)
        if here < 0:
            here = self._walk(path, way.split("/"), make=make)
        try:
            yield EntryAt(here, name)
        finally:
            os.close(here)

    def _walk(self, path: str, folders: Sequence[str], *, make: bool) -> int:
        """Open the folders of a path one after the other; the last one."""
        here = os.dup(self._root)
        try:
            for depth, folder in enumerate(folders, 1):
                try:
                    below = os.open(folder, _FOLDER, dir_fd=here)
                except OSError as error:
                    below = self._enter(path, EntryAt(here, folder), error, make=make)
                    self.touch("/".join(folders[:depth]))
                os.close(here)
                here = below
        except BaseException:
            os.close(here)
            raise
        return here

    def open_file(self, path: str) -> int:
        """A file, open for reading; -1 when only `place()` can tell why not."""
        if self._root < 0:
            self.verify()
        return syscalls.open_below(self._root, path, syscalls.READ_NOATIME_FLAGS)

    def _enter(self, path: str, folder: EntryAt, error: OSError, *, make: bool) -> int:
        """Make the folder that could not be opened, or raise why not."""
        if error.errno in {errno.ELOOP, errno.ENOTDIR}:
            kind = vault_list.irregularity(syscalls.stat_of(folder)) or "a file"
            if kind == "a link" or make:
                raise UnsafePathError(path, f"{folder.name} is {kind}, not a folder")
            raise NoteMissingError(path)
        if error.errno != errno.ENOENT:
            raise error
        missing = self.missing(path)
        if not make:
            raise missing
        with contextlib.suppress(FileExistsError):  # made meanwhile
            os.mkdir(folder.name, 0o755, dir_fd=folder.folder)
        return os.open(folder.name, _FOLDER, dir_fd=folder.folder)

    def scan(self, ignore: IgnoreRules) -> VaultScan:
        """List all folders; `at_ns` is one tick early, so as not to be late."""
        self.verify()
        at_ns = time.time_ns() - _TICK_NS
        folders: dict[VaultPath, FolderListing] = {}
        unreadable: dict[VaultPath, str] = {}
        pending = [""]
        while pending:
            path = pending.pop()
            if vault_list.is_unusable_name(path):
                unreadable[VaultPath(vault_list.printable_name(path))] = "no path can hold its name"
                continue
            try:
                fd = os.open(path or ".", _FOLDER, dir_fd=self._root)
                try:
                    folder, below = vault_list.list_folder(fd, path, ignore)
                finally:
                    os.close(fd)
            except OSError as error:
                if not path:
                    raise VaultMissingError(self.where, os_error_text(error)) from error
                unreadable[VaultPath(path)] = os_error_text(error)
            else:
                folders[folder.path] = folder
                pending += [name for name in below if not ignore.folder(name)]
        self.verify()
        return VaultScan(dict(sorted(folders.items())), unreadable, at_ns)

    def list_one(self, path: VaultPath, ignore: IgnoreRules) -> FolderListing | None:
        """One folder; None when it is not there or cannot be listed."""
        unseen = any(name[-3:].lower() == ".md" for name in path.split("/"))
        if unseen or ignore.path(path):
            return None
        try:
            with self.place(f"{path}/." if path else ".") as place:
                return vault_list.list_folder(place.folder, path, ignore)[0]
        except (NoteMissingError, UnsafePathError, OSError):
            return None

    def names(self, path: str) -> list[str]:
        """The names of the regular files in a folder, sorted; none when it is not there."""
        with (
            contextlib.suppress(NoteError, OSError),
            self.place(f"{path}/.") as place,
            os.scandir(place.folder) as found,
        ):
            return sorted(e.name for e in found if e.is_file(follow_symlinks=False))
        return []

    def touch(self, *paths: str) -> None:
        """Remember to flush files and their folders."""
        for path in paths:
            self._touched.add(path)
            self._touched.add(path.rpartition("/")[0])

    def forget(self, path: str) -> None:
        """Remember that a file is gone, and to flush its folder."""
        self._touched.discard(path)
        self._touched.add(path.rpartition("/")[0])

    def sync(self) -> None:
        """Flush what was touched, or the whole disk when that is much.

        An error is permanent: the system may have dropped what it could not write, and
        would report the next flush as a success.
        """
        if self._failed:
            raise self._failed
        if not self._touched:
            return
        try:
            few = len(self._touched) <= _FEW
            if not (few and self._sync_each()) and not syscalls.flush_all(self._root):
                self._sync_each()
        except OSError as error:
            self._failed = error
            raise
        self._touched.clear()

    def _sync_each(self) -> bool:
        """Flush each file and folder; False when one was moved away."""
        found = True
        for path in sorted(self._touched):
            try:
                with self.place(path) as place:
                    fd = os.open(place.name or ".", syscalls.READ_FLAGS, dir_fd=place.folder)
            except (NoteError, FileNotFoundError):
                found = False
                continue
            try:
                syscalls.flush(fd)
            finally:
                os.close(fd)
        return found


def read_stable(
    place: EntryAt,
    path: str,
    *,
    limit: int = NO_LIMIT,
    links: int = NO_LIMIT,
    look: FileVisitor | None = None,
) -> NoteFile:
    """The file as it was at one moment; errors name it `path`.

    Raises:
        NotRegularFileError: no regular file with at most `links` names.
        UnreadableNoteError: larger than `limit` bytes.
        NoteChangedError: it kept changing.
        OSError: any other error of the system.
    """
    for pause in _PAUSES:
        try:
            fd = syscalls.open_to_read(place)
        except OSError as error:
            if kind := vault_list.irregularity(syscalls.stat_of(place), links=links):
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
) -> NoteFile | None:
    """Read and close an open file; None if it changed meanwhile. Raises as `read_stable()`."""
    try:
        before = os.fstat(fd)
        if kind := vault_list.irregularity(before, links=links):
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
        if len(data) == size and _is_same_stamp(before, os.fstat(fd)):
            sha = hashlib.sha256(data).hexdigest()
            return NoteFile(data, sha, vault_list.stamp_from_stat(before))
    finally:
        os.close(fd)
    return None


def _is_same_stamp(one: os.stat_result, other: os.stat_result) -> bool:
    """Whether both stats of one open file have the same stamp."""
    return (
        one.st_mtime_ns == other.st_mtime_ns
        and one.st_ctime_ns == other.st_ctime_ns
        and one.st_size == other.st_size
    )


def stamp_after(place: EntryAt, before: FileStamp) -> FileStamp:
    """The stamp of a file that was just renamed to `place`.

    Only the ctime is looked up: a save since `before` must look like a change.
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
    """The error for a note that the system cannot read; its text is not at fault."""
    hint = "give yourself the right to read it; the next run tries again"
    if not isinstance(error, PermissionError):
        hint = "check the disk and the file; the next run tries again"
    return UnreadableNoteError(path, os_error_text(error), hint=hint)
