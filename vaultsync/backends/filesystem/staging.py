"""The staging folder: the files of intended writes, and displaced files."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator

from vaultsync.backends.filesystem import file_reading, syscalls
from vaultsync.backends.filesystem.syscalls import EntryAt
from vaultsync.backends.filesystem.tree import STAGING, FolderTree
from vaultsync.errors import NoteMissingError, UnsafePathError, VaultMissingError
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.storage.vault import NoteFile

_OP = lazy_pattern(r"[A-Za-z0-9_-]{1,80}")


class StagingFolder:
    """The staging folder of a tree; it stays open between calls."""

    def __init__(self, tree: FolderTree) -> None:
        self._tree = tree
        self._fd = -1
        self._data: dict[str, bytes] = {}

    def close(self) -> None:
        """Close the folder; idempotent."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def place(self, op: str, *, make: bool = True) -> EntryAt:
        """The place of the file for `op`."""
        if not _OP.fullmatch(op):
            raise UnsafePathError(op, "it is not a valid name of a staged file")
        return EntryAt(self.folder(make=make), op)

    def folder(self, *, make: bool = True) -> int:
        """The open folder; raises `FileNotFoundError` if it is missing and `make` is False."""
        if self._fd >= 0 and os.fstat(self._fd).st_nlink:
            return self._fd
        try:
            with self._tree.place(f"{STAGING}/.") as place:
                fd = os.dup(place.folder)
        except NoteMissingError as error:
            if not make:
                raise FileNotFoundError(errno.ENOENT, str(error)) from None
            self._make()
            return self.folder()
        self.close()
        self._fd = fd
        with self._whole_names():
            syscalls.finish_interrupted(fd)
        return fd

    def _make(self) -> None:
        try:
            with self._tree.place(STAGING) as place:
                os.mkdir(place.name, 0o700, dir_fd=place.folder)
                with contextlib.suppress(FileExistsError):  # it exists already
                    syscalls.write_new(EntryAt(place.folder, ".gitignore"), b"staging/\n")
        except NoteMissingError as error:  # do not create parts of a vault in an empty folder
            raise VaultMissingError(self._tree.where, "it has no .meta") from error
        self._tree.touch(STAGING)

    def write(self, op: str, data: bytes) -> None:
        """Write a file for `op`, replacing an existing one."""
        staged = self.place(op)
        self._data.pop(op, None)
        with self._whole_names():
            syscalls.write_over(staged, data)
        self._data[op] = data
        self._tree.touch(f"{STAGING}/{op}")

    def take_written(self, op: str) -> bytes | None:
        """The bytes that this process wrote for `op`, only once; None if it did not."""
        return self._data.pop(op, None)

    def read(self, op: str) -> NoteFile | None:
        """The file for `op`."""
        try:
            return file_reading.read_stable(self.place(op, make=False), f"{STAGING}/{op}")
        except FileNotFoundError:
            return None

    def may_be_written(self, op: str) -> bool:
        """Whether a process may have the file for `op` open for writing."""
        try:
            return syscalls.may_be_written(self.place(op, make=False))
        except FileNotFoundError:
            return False

    def ops(self) -> list[str]:
        """All ops with a file, sorted."""
        try:
            return sorted(filter(_OP.fullmatch, syscalls.list_names(self.folder(make=False))))
        except FileNotFoundError:
            return []

    def remove(self, op: str) -> None:
        """Delete the file for `op`, if there is one."""
        with contextlib.suppress(FileNotFoundError), self._whole_names():
            syscalls.remove(self.place(op, make=False))
            self.gone(op)

    @contextlib.contextmanager
    def _whole_names(self) -> Iterator[None]:
        """Use full paths in errors within the context."""
        try:
            yield
        except OSError as error:
            self._tree.name_whole(error, f"{STAGING}/{error.filename}")
            raise

    def gone(self, op: str) -> None:
        """Forget a file that is no longer in the folder."""
        self._data.pop(op, None)
        self._tree.forget(f"{STAGING}/{op}")
