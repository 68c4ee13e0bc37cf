"""The files of a vault, on Linux and macOS.

- A note is written by exchange: the displaced file is checked, and restored if it is not
  what the caller expected. Without support for exchange, hard links are used; then a file
  that an editor *renames* to the note's name in the microseconds between the last check and
  the replacement is lost (`syscalls.swap_by_link()`).
- A displaced file is never reused for another note: an editor may still have it open,
  and after a power cut one note's text could appear in another.
- For a note in a subfolder on another mount, the staged file is next to it, as
  `.vs-{op}.tmp`; what an editor writes into the displaced file is lost.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from vaultsync.backends.filesystem import file_reading, syscalls
from vaultsync.backends.filesystem.file_reading import FileVisitor
from vaultsync.backends.filesystem.syscalls import EntryAt, FileMetadata
from vaultsync.backends.filesystem.tree import (
    STAGING,
    FolderTree,
    IgnoreRules,
    is_foreign,
    missing_root,
)
from vaultsync.errors import (
    ConfigError,
    NoteChangedError,
    NoteError,
    NoteExistsError,
    NoteMissingError,
    NotRegularFileError,
    ReadOnlyNoteError,
    UnsafePathError,
    VaultMissingError,
)
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.paths import VaultPath, file_name_of, parent_folder, path_key, vault_path
from vaultsync.settings import MARKER_BYTES, parse_toml
from vaultsync.storage.vault import FileStamp, FolderListing, NoteFile, VaultScan

_OP = lazy_pattern(r"[A-Za-z0-9_-]{1,80}")


class StagingFolder:
    """The staging folder of a tree; it stays open between calls."""

    def __init__(self, tree: FolderTree) -> None:
        self._tree = tree
        self._fd = -1
        self._is_whole = False
        """Whether interrupted exchanges were finished, since it was opened."""
        self._data: dict[str, bytes] = {}

    def close(self) -> None:
        """Close the folder; idempotent."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def place(self, op: str, *, make: bool = True) -> EntryAt:
        if not _OP.fullmatch(op):
            raise UnsafePathError(op, "it is not a valid name of a staged file")
        return EntryAt(self._whole(make=make), op)

    def _whole(self, *, make: bool) -> int:
        """The open folder, without what interrupted exchanges left in it."""
        fd = self.folder(make=make)
        if not self._is_whole:
            with self._whole_names():
                syscalls.finish_interrupted(fd)
            self._is_whole = True
        return fd

    def folder(self, *, make: bool = True) -> int:
        """The open folder; raises `FileNotFoundError` if it is missing and `make` is False.

        Another process may be exchanging files in it.
        """
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
        self._fd, self._is_whole = fd, False
        return fd

    def _make(self) -> None:
        try:
            with self._tree.place(STAGING) as place:
                try:
                    os.mkdir(place.name, 0o700, dir_fd=place.folder)
                except FileExistsError:  # no folder, or created meanwhile
                    with self._tree.place(f"{STAGING}/.", make=True):
                        return
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
            return sorted(filter(_OP.fullmatch, syscalls.list_names(self._whole(make=False))))
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


_MARKER = ".meta/config.toml"
_DERIVED = lazy_pattern(
    r"\.(?:index|meta(?!/(?:staging|config\.toml)(?:/|$)))(?:/[^./\\\0][^/\\\0]*)+", re.IGNORECASE
)
_WRITE_BITS = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
_NO_NOTE = -2
"""The mtime of a displaced file that cannot be a note."""


class VaultFs:
    """A `Vault` in the folder `root`, in which folders and patterns of paths may be ignored."""

    def __init__(
        self, root: Path | str, *, ignore: Sequence[str] = (), max_bytes: int = 4 << 20
    ) -> None:
        self._tree = FolderTree(os.fspath(root))
        self._ignore = IgnoreRules(ignore)
        self._max_bytes = max_bytes
        self._staging = StagingFolder(self._tree)
        self.stage = self._staging.write
        self.staged = self._staging.read
        self.ops = self._staging.ops
        self.may_be_written = self._staging.may_be_written
        self.discard = self._staging.remove
        self.sync = self._tree.sync  # always fails after the first error

    def close(self) -> None:
        """Close the folders; the next call opens them again."""
        self._tree.close()
        self._staging.close()

    def vault_id(self) -> str:
        """The id in the marker; its folder is the root from now on.

        While another folder has its path, all other methods fail.
        """
        try:
            self._tree.verify()
        except VaultMissingError:
            self.close()
        try:
            with self._tree.place(_MARKER) as place:
                data = file_reading.read_stable(place, _MARKER, limit=MARKER_BYTES).data
            return str(parse_toml(data.decode(), Path(_MARKER))["vault_id"])
        except OSError as error:
            raise missing_root(self._tree.where, error) from error
        except NoteError as error:
            raise VaultMissingError(self._tree.where, str(error)) from error
        except (KeyError, ValueError, ConfigError) as error:
            why = f"{_MARKER} has no vault_id ({error})"
            raise VaultMissingError(self._tree.where, why) from error

    def scan(self) -> VaultScan:
        return self._tree.scan(self._ignore)

    def folder(self, path: VaultPath) -> FolderListing | None:
        if path:
            vault_path(path)
        return self._tree.list_one(path, self._ignore)

    def canvases(self) -> list[VaultPath]:
        return self._tree.canvases(self._ignore)

    def stamp(self, path: VaultPath) -> FileStamp | None:
        vault_path(path)
        try:
            with self._tree.place(path) as place:
                return _stamp(path, place)
        except (NoteMissingError, FileNotFoundError):
            self._tree.verify()
            return None
        except OSError as error:
            raise file_reading.unreadable_error(path, error) from error

    def unchanged(self, stamps: Iterable[tuple[VaultPath, FileStamp]]) -> set[VaultPath]:
        same: set[VaultPath] = set()
        by_folder: dict[str, list[tuple[VaultPath, FileStamp]]] = {}
        for each in stamps:
            by_folder.setdefault(parent_folder(each[0]), []).append(each)
        for some in by_folder.values():
            first = some[0][0]
            # A folder that cannot be opened, or looked into, proves nothing.
            with contextlib.suppress(NoteError, OSError), self._tree.place(vault_path(first)) as at:
                for path, stamp in some:
                    name = file_name_of(path)
                    try:
                        now = os.stat(name, dir_fd=at.folder, follow_symlinks=False)
                    except FileNotFoundError:
                        continue
                    found = (now.st_size, now.st_mtime_ns, now.st_ctime_ns, now.st_ino)
                    if found == stamp and not file_reading.irregularity(now):
                        same.add(path)
        return same

    def read(self, path: VaultPath) -> NoteFile:
        vault_path(path)
        try:
            with self._tree.place(path) as place:
                return self._note(path, place)
        except OSError as error:
            raise file_reading.unreadable_error(path, error) from error

    def create(self, op: str, path: VaultPath) -> FileStamp:
        self.check_new(path)
        staged = self._staging.place(op)
        found = syscalls.stat_of(staged)

        def act(source: EntryAt) -> FileStamp:
            now = found if source is staged else syscalls.stat_of(source)
            before = file_reading.stamp_from_stat(now)
            try:
                self._rename_new(source, note)
            except FileExistsError:
                raise NoteExistsError(path) from None
            return file_reading.stamp_after(note, before)

        with self._tree.place(path, make=True, writes=True) as note:
            _check_folder_mode(path, note)
            stamp = syscalls.stage_across_devices(act, staged, note)
        self._staging.gone(op)
        self._tree.touch(path)
        return stamp

    def exchange(self, op: str, path: VaultPath, expect: str) -> FileStamp:
        """Exchange, check the displaced content, and exchange back anything unexpected."""
        vault_path(path)
        staged = self._staging.place(op)
        metadata: list[FileMetadata] = []

        def look(fd: int, found: os.stat_result) -> None:
            _check_mode(path, found, note)
            metadata.append(syscalls.metadata_of(fd, found))

        def act(staged: EntryAt) -> FileStamp:
            found = syscalls.stat_of(staged)
            syscalls.copy_metadata(metadata[-1], staged, found)
            data = self._staging.take_written(op)
            if data is None:
                data = file_reading.read_stable(staged, path).data
            ours = (data, file_reading.stamp_from_stat(found))
            return self._swap_checked(path, staged, note, expect, ours)

        with self._tree.place(path, writes=True) as note:
            if self._note(path, note, look).sha != expect:
                raise NoteChangedError(path)
            self._tree.touch(path, f"{STAGING}/{op}")
            return syscalls.stage_across_devices(act, staged, note)

    def _swap_checked(
        self,
        path: VaultPath,
        staged: EntryAt,
        note: EntryAt,
        expect: str,
        ours: tuple[bytes, FileStamp],
    ) -> FileStamp:
        """Exchange; any displaced content other than `expect` is exchanged back.

        A save of the same bytes is recognised by its mtime.
        """
        data, before = ours
        unknown = (b"", -1)  # only the hash of the expected content is known

        def look(under: tuple[bytes, int]) -> tuple[bytes, int]:
            found = self._peek(path, staged)
            if not found:
                return b"", _NO_NOTE
            if under is unknown and found.sha == expect:
                return under
            return found.data, found.stamp.mtime_ns

        def restore() -> bool:
            self._rename_new(staged, note)
            return True

        try:
            put, met = syscalls.swap_checked(
                lambda: self._swap(path, staged, note),
                look,
                restore,
                ours=(data, before.mtime_ns),
                expect=unknown,
            )
        except FileNotFoundError:
            raise self._tree.missing(path) from None
        if not met:
            return file_reading.stamp_after(note, before)
        known = {data, put[0] if put else b""}
        saves = dict.fromkeys(x for x, mtime in met if mtime != _NO_NOTE and x not in known)
        displaced = (each for each in saves if hashlib.sha256(each).hexdigest() != expect)
        raise NoteChangedError(path, tuple(displaced))

    def move(self, path: VaultPath, to: VaultPath) -> None:
        """Move a note; changing only the case is also a rename."""
        vault_path(path)
        self.check_new(to)
        with self._tree.place(path, writes=True) as source:
            try:
                _check_mode(path, syscalls.stat_of(source), source)
                before = _stamp(path, source)
            except FileNotFoundError:
                raise self._tree.missing(path) from None
            with self._tree.place(to, make=True) as target:
                try:
                    self._rename_new(source, target, by_link=False)
                except FileExistsError:
                    twin = path != to and path_key(path) == path_key(to)
                    if not twin or syscalls.stat_of(target).st_ino != before.inode:
                        raise NoteExistsError(to) from None
                    syscalls.replace(source, target)
                except OSError as error:
                    if error.errno != errno.EXDEV:
                        raise
                    raise UnsafePathError(to, "it is on another file system") from error
        self._tree.forget(path)
        self._tree.touch(to)

    def stage_removal(self, op: str, path: VaultPath, expect: str) -> None:
        """Move the note to the staging folder, check it, and restore anything unexpected."""
        vault_path(path)
        staged = self._staging.place(op)

        def act(target: EntryAt) -> None:
            if syscalls.exists(target):
                raise FileExistsError(errno.EEXIST, "a file is already staged", op)
            syscalls.replace(note, target)
            taken = self._peek(path, target)
            if taken and taken.sha == expect:
                return
            try:
                self._rename_new(target, note)
            except FileExistsError:
                raise NoteChangedError(path, (taken.data,) if taken else ()) from None
            raise NoteChangedError(path)

        def look(_: int, found: os.stat_result) -> None:
            _check_mode(path, found, note)

        with self._tree.place(path, writes=True) as note:
            if self._note(path, note, look).sha != expect:
                raise NoteChangedError(path)
            self._tree.touch(path, f"{STAGING}/{op}")
            try:
                syscalls.stage_across_devices(act, staged, note)
            except FileNotFoundError:
                raise self._tree.missing(path) from None
        self._tree.forget(path)

    def write_meta(self, path: VaultPath, data: bytes) -> bool:
        _check_derived(path)
        # Other processes write further ones, and remove what they find when they start.
        temp = EntryAt(self._staging.folder(), f"~{os.urandom(8).hex()}")
        with self._tree.place(path, make=True) as place:
            with contextlib.suppress(NoteError, FileNotFoundError):  # otherwise it is replaced
                if file_reading.read_stable(place, path, links=1).data == data:
                    return False
            try:
                _write_whole(temp, place, data)
            except FileNotFoundError:
                _write_whole(temp, place, data)
            except IsADirectoryError:
                raise NotRegularFileError(path, "a folder") from None
        self._tree.touch(path)
        return True

    def read_meta(self, path: VaultPath) -> bytes | None:
        _check_derived(path)
        with contextlib.suppress(NoteError, OSError), self._tree.place(path) as place:
            return file_reading.read_stable(place, path, links=1).data
        return None

    def list_meta(self, folder: VaultPath) -> dict[VaultPath, FileStamp]:
        _check_derived(VaultPath(f"{folder}/x"))
        found = self._tree.stamps(folder).items()
        paths = {VaultPath(f"{folder}/{name}"): stamp for name, stamp in found}
        return {path: stamp for path, stamp in paths.items() if _DERIVED.fullmatch(path)}

    def drop_meta(self, path: VaultPath) -> None:
        _check_derived(path)
        # It is already gone.
        with contextlib.suppress(NoteMissingError), self._tree.place(path) as place:
            syscalls.remove_any(place)
            self._tree.forget(path)

    def check_new(self, path: VaultPath) -> None:
        vault_path(path)
        name = path.rpartition("/")[2]
        if is_foreign(name) or self._ignore.path(path):
            why, hint = "it is ignored by the settings of this vault", f"see `ignore` in {_MARKER}"
            raise UnsafePathError(path, why, hint=hint)

    def check_writable(self, path: VaultPath) -> None:
        vault_path(path)
        try:
            with self._tree.place(path) as note:
                _check_folder_mode(path, note)
                _check_mode(path, syscalls.stat_of(note), note)
        except ReadOnlyNoteError:
            raise
        except (NoteError, OSError):
            return

    def touched(self, path: VaultPath, *gone: VaultPath) -> None:
        for each in gone:
            self._tree.forget(each)
        self._tree.touch(path)

    def _note(self, path: VaultPath, note: EntryAt, look: FileVisitor | None = None) -> NoteFile:
        """Read the note at a place; system errors are raised as errors of the note."""
        limit = self._max_bytes
        try:
            return file_reading.read_stable(note, path, limit=limit, links=1, look=look)
        except FileNotFoundError:
            raise self._tree.missing(path) from None
        except OSError as error:
            raise file_reading.unreadable_error(path, error) from error

    def _peek(self, path: VaultPath, staged: EntryAt) -> NoteFile | None:
        """The displaced file; None if it cannot be a note."""
        try:
            return file_reading.read_stable(staged, path, limit=self._max_bytes)
        except NoteError:
            return None

    def _swap(self, path: VaultPath, staged: EntryAt, note: EntryAt) -> None:
        try:
            syscalls.swap_files(staged, note)
        except IsADirectoryError:
            raise NotRegularFileError(path, "a folder") from None

    def _rename_new(self, source: EntryAt, to: EntryAt, *, by_link: bool = True) -> None:
        if not syscalls.rename_new(source, to):
            (syscalls.link_new if by_link else syscalls.claim_new)(source, to)


def _write_whole(temp: EntryAt, place: EntryAt, data: bytes) -> None:
    """Replace a file by a new one, which has a temporary name first."""
    syscalls.write_new(temp, data)
    try:
        syscalls.replace(temp, place)
    except OSError:
        syscalls.remove_any(temp)
        raise


def _stamp(path: VaultPath, place: EntryAt) -> FileStamp:
    found = syscalls.stat_of(place)
    if kind := file_reading.irregularity(found):
        raise NotRegularFileError(path, kind)
    return file_reading.stamp_from_stat(found)


def _check_mode(path: VaultPath, found: os.stat_result, note: EntryAt) -> None:
    """Refuse a note without write permission: a rename would replace it whatever its mode is."""
    if not found.st_mode & _WRITE_BITS:
        raise ReadOnlyNoteError(path, "the note")
    _check_folder_mode(path, note)


def _check_folder_mode(path: VaultPath, note: EntryAt) -> None:
    if not os.fstat(note.folder).st_mode & _WRITE_BITS:
        raise ReadOnlyNoteError(path, "its folder")


def _check_derived(path: VaultPath) -> None:
    if not _DERIVED.fullmatch(path):
        raise UnsafePathError(path, "it is not a derived file")
