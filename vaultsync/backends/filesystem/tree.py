"""A folder tree: opened, listed and flushed.

Links are not followed. Only the root stays open between calls: a folder that was renamed
meanwhile must not receive a file meant for the folder that now has its name.
"""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import hashlib
import os
import re
import stat
import struct
import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain
from pathlib import Path

from vaultsync.backends.filesystem import syscalls
from vaultsync.backends.filesystem.file_reading import irregularity, os_error_text, stamp_from_stat
from vaultsync.backends.filesystem.syscalls import EntryAt
from vaultsync.errors import (
    NoteError,
    NoteMissingError,
    UnsafePathError,
    UnwritableNoteError,
    VaultMissingError,
)
from vaultsync.model.file_names import CONFLICT_COPY_WORDS, is_foreign_conflict_copy
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.paths import VaultPath, path_key, vault_path
from vaultsync.storage.vault import (
    INVALID_FOLDER_NAME,
    INVALID_NAME,
    NOT_DOWNLOADED,
    OTHER_VAULT,
    FileStamp,
    FolderListing,
    VaultScan,
)

META = ".meta"
MARKER = f"{META}/config.toml"
"""The file that makes a folder a vault."""
STAGING = f"{META}/staging"
"""The path of the staging folder."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_TICK_NS = 10_000_000
"""File stamps come from a clock that lags by up to one tick, at most 1/100 s."""
_NOTHING = b"\0\0"
"""The terminator of the names in a fingerprint; alone, it means that there are no files."""
_FEW = 24
"""Up to this number of files and folders, flushing each is faster than flushing the disk."""
_NO_PATH = lazy_pattern(r"[\x01-\x1f\x7f-\x9f\\\ud800-\udfff]")
_REFUSALS = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
"""What the system answers where it allows no writing: other errors mean a full or broken disk."""
_NO_FOLDER = frozenset({errno.ENOENT, errno.ELOOP, errno.ENOTDIR})
"""What the system answers where there is nothing, a link or a file instead of a folder."""
_NOT_WHAT_WAS_WRITTEN = _NO_FOLDER | {errno.EACCES, errno.EINVAL, errno.ENXIO, errno.EOPNOTSUPP}
"""What it answers where a link, a pipe, a socket or a file that may not be read took the place of
a file that is to be flushed."""
_PLACEHOLDER = lazy_pattern(r"\.[^.].*\.md\.icloud", re.IGNORECASE | re.DOTALL)
"""The name of the file that stands for a note which iCloud Drive keeps elsewhere."""
_FOREIGN = ("/~$", *CONFLICT_COPY_WORDS)
"""Every name of a temporary file of Office or a sync tool contains one of these."""


def missing_root(where: str, error: OSError) -> VaultMissingError:
    """The error for a root, or its marker, that the system cannot open."""
    return VaultMissingError(where, os_error_text(error), number=error.errno)


class IgnoreRules:
    """The ignored parts of a vault: folders, files, and shell patterns of paths."""

    def __init__(self, ignore: Sequence[str]) -> None:
        keys = [path_key(path.strip("/")) for path in ignore]
        patterns = [fnmatch.translate(key) for key in keys if re.search(r"[*?[]", key)]
        self._paths = set(keys)
        self._folders_of_notes = {key.rpartition("/")[0] for key in keys if key[-3:] == ".md"}
        self._patterns = re.compile("|".join(patterns)) if patterns else None

    def folder(self, path: str) -> bool:
        """Whether a folder or a file is ignored, apart from the folders above it."""
        key = path_key(path)
        return key in self._paths or bool(self._patterns and self._patterns.match(key))

    def files(self, prefix: str, names: str) -> list[str]:
        """The ignored names of one folder; each of `names` follows a `/`."""
        # One search in all names, because names of other programs are rare.
        lower = names.lower()
        has_foreign = any(map(lower.__contains__, _FOREIGN))
        if not (self._patterns or has_foreign or path_key(prefix[:-1]) in self._folders_of_notes):
            return []
        return [name for name in names.split("/") if is_foreign(name) or self.folder(prefix + name)]

    def copies(self, prefix: str, names: Sequence[str]) -> tuple[str, ...]:
        """The conflict copies among names that are not notes, except ignored ones."""
        found = [n for n in names if is_foreign_conflict_copy(n) and not self.folder(prefix + n)]
        return tuple(sorted(map(printable_name, found)))

    def path(self, path: str) -> bool:
        """Whether a path, or any of its folders, is ignored."""
        if not self._paths:
            return False
        return any(map(self.folder, accumulate(path.split("/"), "{}/{}".format)))


def is_foreign(name: str) -> bool:
    """Whether a name is that of another program's temporary file or copy."""
    return name.startswith("~$") or is_foreign_conflict_copy(name)


def is_unusable_name(path: str) -> bool:
    """Whether a path contains a name that is invalid in a vault."""
    return _NO_PATH.search(path) is not None


def list_folder(fd: int, path: str, ignore: IgnoreRules) -> tuple[FolderListing, list[str]]:
    """The notes of one folder, and its subfolders. Most of the time of an idle run.

    Raises:
        OSError: it cannot be listed, or is another vault below the root.
    """
    prefix = path and path + "/"
    notes: dict[str, FileStamp] = {}
    irregular: dict[str, tuple[str, FileStamp]] = {}
    hidden: list[os.DirEntry[str]] = []
    below = []
    with os.scandir(fd) as entries:
        for entry in entries:
            name = entry.name
            if name[0] == ".":
                hidden.append(entry)
                continue
            ending = name[-3:]
            if ending != ".md" and ending.lower() != ".md":
                if entry.is_dir(follow_symlinks=False):
                    below.append(prefix + name)
                continue
            try:
                found = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            stamp = FileStamp(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
            if found.st_nlink == 1 and stat.S_ISREG(found.st_mode):
                notes[name] = stamp
            else:
                irregular[name] = (irregularity(found), stamp)
        irregular |= _hidden_notes(fd, path, hidden, notes)
    names = "/" + "/".join(chain(notes, irregular))
    ignored = ignore.files(prefix, names)
    for name in ignored:
        notes.pop(name, None)
        irregular.pop(name, None)
    if not names.isprintable() or "\\" in names:
        for name in filter(_NO_PATH.search, list(notes)):
            irregular[name] = (INVALID_NAME, notes.pop(name))
    files = dict(sorted(notes.items()))
    stamps = {name: stamp for name, (_, stamp) in sorted(irregular.items())}
    kinds = {printable_name(name): irregular[name][0] for name in stamps}
    copies = ignore.copies(prefix, ignored) if ignored else ()
    return FolderListing(VaultPath(path), fingerprint(files, stamps), files, kinds, copies), below


def _list_canvases(fd: int, prefix: str) -> tuple[list[VaultPath], list[str]]:
    """The canvases of one folder, and its subfolders; none if it is another vault."""
    canvases: list[VaultPath] = []
    below: list[str] = []
    with os.scandir(fd) as entries:
        for entry in entries:
            name = entry.name
            if name[-3:] == ".md":  # nearly all of them
                continue
            if name[0] == ".":
                if name == META and prefix and _is_vault(fd):
                    return [], []
            elif entry.is_dir(follow_symlinks=False):
                below.append(prefix + name)
            elif name[-7:].lower() == ".canvas":
                with contextlib.suppress(UnsafePathError):
                    vault_path(prefix + name)
                    canvases.append(VaultPath(prefix + name))  # spelled as on disk
    return canvases, below


def _hidden_notes(
    fd: int, path: str, hidden: Iterable[os.DirEntry[str]], notes: Container[str]
) -> dict[str, tuple[str, FileStamp]]:
    """The notes for which a folder has only placeholders; an error if it is another vault."""
    found: dict[str, tuple[str, FileStamp]] = {}
    for entry in hidden:
        if entry.name == META and path and _is_vault(fd):
            raise OSError(errno.EXDEV, OTHER_VAULT)
        note = entry.name[1:-7]
        if _PLACEHOLDER.fullmatch(entry.name) and note not in notes:
            with contextlib.suppress(FileNotFoundError):
                stamp = stamp_from_stat(entry.stat(follow_symlinks=False))
                found[note] = (NOT_DOWNLOADED, stamp)
    return found


def _is_vault(fd: int) -> bool:
    try:
        syscalls.stat_of(EntryAt(fd, MARKER))
    except OSError:
        return False
    return True


def fingerprint(files: Mapping[str, FileStamp], irregular: Mapping[str, FileStamp]) -> bytes:
    """A digest of sorted names and stamps, equal in every process."""
    packed = _packed(files) + (_packed(irregular) if irregular else _NOTHING)
    return hashlib.blake2b(packed, digest_size=16).digest()


def _packed(group: Mapping[str, FileStamp]) -> bytes:
    names = "\0".join(group).encode(errors="surrogateescape") + _NOTHING
    numbers = list(chain.from_iterable(group.values()))
    try:
        return names + struct.pack(f"<{len(numbers)}q", *numbers)
    except struct.error:  # some network file systems use all 64 bits of an inode
        return names + repr(numbers).encode()


def printable_name(name: str) -> str:
    """A name that may not be UTF-8, as text that is valid in every file and database."""
    return VaultPath(name.encode(errors="surrogateescape").decode(errors="replace"))


class FolderTree:
    """The tree at a path, which remains the folder that was opened."""

    def __init__(self, where: str) -> None:
        self.where = where
        self._root = -1
        self._touched: set[str] = set()
        self._failed: OSError | None = None

    def close(self) -> None:
        """Close the root; idempotent."""
        if self._root >= 0:
            os.close(self._root)
            self._root = -1

    def verify(self) -> None:
        """Check that the root exists, and that no other folder has its path."""
        try:
            if self._root < 0:
                self._root = os.open(self.where, os.O_RDONLY | os.O_DIRECTORY)
            if os.path.samestat(Path(self.where).stat(), os.fstat(self._root)):
                return
        except OSError as error:
            raise missing_root(self.where, error) from error
        raise VaultMissingError(self.where, "another folder is in its place")

    def missing(self, path: str) -> NoteMissingError:
        """The error for a missing file, unless the root itself is missing."""
        self.verify()
        return NoteMissingError(path)

    @contextlib.contextmanager
    def place(self, path: str, *, make: bool = False, writes: bool = False) -> Iterator[EntryAt]:
        """The last name of a path, and its folder, which is open within the context.

        Raises:
            UnwritableNoteError: with `writes`, if the system refuses it: only that note waits.
        """
        if self._root < 0:
            self.verify()
        way, _, name = path.rpartition("/")
        here = -1
        try:
            if way:
                here = self._walk(path, way.split("/"), make=make)
            yield EntryAt(here if way else self._root, name)
        except OSError as error:
            if here >= 0:
                staged = f"{STAGING}/{error.filename}"
                self.name_whole(error, path if error.filename == name else staged)
            if writes and error.errno in _REFUSALS:
                raise UnwritableNoteError(path, os_error_text(error)) from error
            raise
        finally:
            if here >= 0:
                os.close(here)

    def name_whole(self, error: OSError, path: str) -> None:
        """Use the full path in an error, because calls with open folders have only the name."""
        if isinstance(error.filename, str) and not error.filename.startswith("/"):
            error.filename = f"{self.where.rstrip('/')}/{path}"
            if isinstance(error.filename2, str):
                del error.filename2

    def _walk(self, path: str, folders: Sequence[str], *, make: bool) -> int:
        """Open the folders of a path one after the other; returns the last."""
        here = os.dup(self._root)
        try:
            for depth, folder in enumerate(folders, 1):
                try:
                    below = os.open(folder, _FOLDER, dir_fd=here)
                except OSError as error:
                    try:
                        if error.errno not in _NO_FOLDER:
                            raise
                        below = self._enter(path, EntryAt(here, folder), error.errno, make=make)
                    except OSError as why:
                        self.name_whole(why, "/".join(folders[:depth]))
                        raise
                    self.touch("/".join(folders[:depth]))
                os.close(here)
                here = below
        except BaseException:
            os.close(here)
            raise
        return here

    def _enter(self, path: str, folder: EntryAt, number: int | None, *, make: bool) -> int:
        """Create the folder that could not be opened, or raise the reason."""
        # An error in a variable of its own traceback is a cycle that keeps all callers in memory.
        if number != errno.ENOENT:
            kind = irregularity(syscalls.stat_of(folder)) or "a file"
            if kind == "a link" or make:
                why = f"{folder.name} is {kind}, not a folder"
                raise UnsafePathError(path, why, hint="put a folder in its place")
            raise NoteMissingError(path)
        if not make:
            raise self.missing(path)
        self.verify()
        with contextlib.suppress(FileExistsError):  # created meanwhile
            os.mkdir(folder.name, dir_fd=folder.folder)
        return os.open(folder.name, _FOLDER, dir_fd=folder.folder)

    def scan(self, ignore: IgnoreRules) -> VaultScan:
        """List all folders; `at_ns` is one tick early, so that it is never late."""
        self.verify()
        at_ns = time.time_ns() - _TICK_NS
        folders: dict[VaultPath, FolderListing] = {}
        unreadable: dict[VaultPath, str] = {}
        pending = [""]
        while pending:
            path = pending.pop()
            if is_unusable_name(path):
                unreadable[VaultPath(printable_name(path))] = INVALID_FOLDER_NAME
                continue
            try:
                fd = os.open(path or ".", _FOLDER, dir_fd=self._root)
                try:
                    folder, below = list_folder(fd, path, ignore)
                finally:
                    os.close(fd)
            except OSError as error:
                if not path:
                    raise missing_root(self.where, error) from error
                unreadable[VaultPath(path)] = os_error_text(error)
            else:
                folders[folder.path] = folder
                pending += [name for name in below if not ignore.folder(name)]
        self.verify()
        return VaultScan(dict(sorted(folders.items())), unreadable, at_ns)

    def canvases(self, ignore: IgnoreRules) -> list[VaultPath]:
        """The canvas files, by name, spelled as on disk."""
        self.verify()
        found: list[VaultPath] = []
        pending = [""]
        while pending:
            path = pending.pop()
            with contextlib.suppress(OSError):
                fd = os.open(path or ".", _FOLDER, dir_fd=self._root)
                try:
                    canvases, below = _list_canvases(fd, path and f"{path}/")
                finally:
                    os.close(fd)
                pending += [each for each in below if not ignore.folder(each)]
                found += [each for each in canvases if not ignore.folder(each)]
        return sorted(found)

    def list_one(self, path: VaultPath, ignore: IgnoreRules) -> FolderListing | None:
        """One folder; None if it does not exist or cannot be listed."""
        unseen = any(name[-3:].lower() == ".md" for name in path.split("/"))
        if unseen or ignore.path(path):
            return None
        try:
            if self._is_in_other_vault(path):
                return None
            with self.place(f"{path}/." if path else ".") as place:
                return list_folder(place.folder, path, ignore)[0]
        except (NoteMissingError, UnsafePathError, OSError):
            return None

    def _is_in_other_vault(self, path: str) -> bool:
        """Whether a folder above this one, below the root, is a vault."""
        for folder in accumulate(path.split("/")[:-1], "{}/{}".format):
            with self.place(f"{folder}/.") as place:
                if _is_vault(place.folder):
                    return True
        return False

    def stamps(self, path: str) -> dict[str, FileStamp]:
        """The stamps of the regular files in a folder, by name; empty if it does not exist."""
        with (
            contextlib.suppress(NoteError, OSError),
            self.place(f"{path}/.") as place,
            os.scandir(place.folder) as found,
        ):
            files = sorted((x.name, x) for x in found if x.is_file(follow_symlinks=False))
            return {x: stamp_from_stat(each.stat(follow_symlinks=False)) for x, each in files}
        return {}

    def touch(self, *paths: str) -> None:
        """Note that files and their folders must be flushed."""
        for path in paths:
            self._touched.add(path)
            self._touched.add(path.rpartition("/")[0])

    def forget(self, path: str) -> None:
        """Note that a file is gone, and that its folder must be flushed."""
        self._touched.discard(path)
        self._touched.add(path.rpartition("/")[0])

    def sync(self, others: Iterable[VaultPath] = ()) -> None:
        """Flush touched files and `others`, or the whole disk, or disks, if there are many.

        An error is permanent: the system may have dropped data that it could not write, and
        would report success for the next flush.
        """
        if self._failed:
            raise self._failed
        self.touch(*others)
        if not self._touched:
            return
        try:
            few = len(self._touched) <= _FEW
            if not (few and self._sync_each()) and not self._sync_disks():
                self._sync_each()
        except OSError as error:
            self._failed = error
            raise
        self._touched.clear()

    def _sync_disks(self) -> bool:
        """Flush the file systems of the touched files; False if this is not supported.

        A folder below the root may be the root of another file system.
        """
        if not syscalls.flush_all(self._root):
            return False
        flushed = {os.fstat(self._root).st_dev}
        for folder in {path.rpartition("/")[0] for path in self._touched} - {""}:
            with (
                contextlib.suppress(NoteError, FileNotFoundError),  # it was moved away
                self.place(f"{folder}/.") as place,
            ):
                device = os.fstat(place.folder).st_dev
                if device not in flushed:
                    syscalls.flush_all(place.folder)
                    flushed.add(device)
        return True

    def _sync_each(self) -> bool:
        """Flush each file and folder; False if one was moved away or replaced."""
        found = True
        for path in sorted(self._touched):
            try:
                with self.place(path or ".") as place:
                    syscalls.flush_at(place)
            except NoteError:
                found = False
            except OSError as error:
                if error.errno not in _NOT_WHAT_WAS_WRITTEN:
                    raise
                found = False
        return found
