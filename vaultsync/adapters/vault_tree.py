"""A folder and all below it: entered name by name, listed, read, synced.

No link is followed. Only the root stays open between two calls: a folder that was
renamed meanwhile must not receive what was meant for its successor.
"""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import gc
import hashlib
import os
import re
import stat
import struct
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, chain, repeat
from pathlib import Path

from vaultsync.adapters import syscalls
from vaultsync.adapters.syscalls import Place
from vaultsync.core.paths import VaultPath, key_of
from vaultsync.errors import (
    NoteChangedError,
    NoteError,
    NoteMissingError,
    NotRegularFileError,
    UnreadableNoteError,
    UnsafePathError,
    VaultMissingError,
)
from vaultsync.ports import Folder, NoteFile, Scan, Stamp

ANY = sys.maxsize
"""No limit."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_NO_PATH = re.compile(r"[\x01-\x1f\x7f-\x9f\\\ud800-\udfff]")
_FOREIGN = ("/~$", ".sync-conflict-", "conflicted copy")
"""What is in the names of files of Office, Syncthing and Dropbox."""
_PAUSES = (0.0, 0.001, 0.004, 0.016, 0.064)
"""Seconds before a file that changed while being read is read again."""
_TICK_NS = 10_000_000
"""Stamps come from a clock that lags by up to one tick, at worst of 100 a second."""
_FEW = 24
"""Up to so many files and folders, syncing each is faster than syncing the disk."""
_KINDS = (
    (stat.S_ISLNK, "a link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


class Ignore:
    """What of a vault is not looked at: folders, and patterns of paths as in a shell."""

    def __init__(self, ignore: Sequence[str]) -> None:
        keys = [key_of(path.strip("/")) for path in ignore]
        patterns = [fnmatch.translate(key) for key in keys if re.search(r"[*?[]", key)]
        self._folders = set(keys)
        self._patterns = re.compile("|".join(patterns)) if patterns else None

    def folder(self, path: str) -> bool:
        """Whether a folder is ignored."""
        key = key_of(path)
        return key in self._folders or bool(
            self._patterns and self._patterns.match(key)
        )

    def files(self, prefix: str, names: str) -> list[str]:
        """Those names of one folder, each after a `/`, that are ignored."""
        # One look at all names: those of other programs are rare.
        lower = names.lower()
        if not self._patterns and not any(map(lower.__contains__, _FOREIGN)):
            return []
        return [
            name
            for name in names.split("/")
            if is_foreign(name) or self.folder(prefix + name)
        ]

    def path(self, path: str) -> bool:
        """Whether a path, or any folder on the way, is ignored."""
        return any(map(self.folder, accumulate(path.split("/"), "{}/{}".format)))


class Tree:
    """The tree at a path.

    Once entered, it is the folder that was there then: when another one stands in its
    place, everything fails until `open` is called.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        self._root = -1
        self._touched: set[str] = set()
        self._failed: OSError | None = None

    def close(self) -> None:
        """Let go of the root; harmless when repeated."""
        if self._root >= 0:
            os.close(self._root)
            self._root = -1

    def verify(self) -> None:
        """See that the root is there.

        Raises:
            VaultMissingError: it is not, or another folder stands in its place.
        """
        try:
            if self._root < 0:
                self._root = os.open(self.where, os.O_RDONLY | os.O_DIRECTORY)
            if os.path.samestat(Path(self.where).stat(), os.fstat(self._root)):
                return
        except OSError as error:
            raise VaultMissingError(self.where, why(error)) from error
        raise VaultMissingError(self.where, "another folder stands there")

    def missing(self, path: str) -> NoteMissingError:
        """The error for a path where nothing is.

        Raises:
            VaultMissingError: nothing is there because the root is not.
        """
        self.verify()
        return NoteMissingError(path)

    @contextlib.contextmanager
    def place(self, path: str, *, make: bool = False) -> Iterator[Place]:
        """The last name of a path, in its folder, which is open meanwhile.

        Raises:
            NoteMissingError: a folder is missing, and shall not be made.
            UnsafePathError: the way leads through a link.
        """
        if self._root < 0:
            self.verify()
        way, _, name = path.rpartition("/")
        if not way:
            yield Place(self._root, name)
            return
        here = syscalls.open_below(self._root, way, _FOLDER)
        if here < 0:
            here = self._walk(path, way.split("/"), make=make)
        try:
            yield Place(here, name)
        finally:
            os.close(here)

    def _walk(self, path: str, folders: Sequence[str], *, make: bool) -> int:
        """The last of the folders on the way to a path, opened one from the other."""
        here = os.dup(self._root)
        try:
            for depth, folder in enumerate(folders, 1):
                try:
                    below = os.open(folder, _FOLDER, dir_fd=here)
                except OSError as error:
                    below = self._enter(path, Place(here, folder), error, make=make)
                    self.touch("/".join(folders[:depth]))
                os.close(here)
                here = below
        except BaseException:
            os.close(here)
            raise
        return here

    def open(self, path: str) -> int:
        """A file, open to be read; -1 when only `place` can tell."""
        if self._root < 0:
            self.verify()
        return syscalls.open_below(self._root, path, syscalls.READ_QUIETLY)

    def _enter(self, path: str, folder: Place, error: OSError, *, make: bool) -> int:
        """Make the folder that could not be entered, or say why not."""
        if error.errno in {errno.ELOOP, errno.ENOTDIR}:
            odd = oddity(syscalls.stat_of(folder)) or "a file"
            if odd == "a link" or make:
                raise UnsafePathError(path, f"{folder.name} is {odd}, not a folder")
            raise NoteMissingError(path)
        if error.errno != errno.ENOENT:
            raise error
        missing = self.missing(path)
        if not make:
            raise missing
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder.name, 0o755, dir_fd=folder.folder)
        return os.open(folder.name, _FOLDER, dir_fd=folder.folder)

    def scan(self, ignore: Ignore) -> Scan:
        """List all folders; `at_ns` is a tick early, so as not to be late."""
        with _uncollected():
            return self._scan(ignore)

    def _scan(self, ignore: Ignore) -> Scan:
        self.verify()
        at_ns = time.time_ns() - _TICK_NS
        folders: dict[VaultPath, Folder] = {}
        unreadable: dict[VaultPath, str] = {}
        pending = [""]
        while pending:
            path = pending.pop()
            if _NO_PATH.search(path):
                unreadable[VaultPath(_shown(path))] = "no path can hold its name"
                continue
            try:
                fd = os.open(path or ".", _FOLDER, dir_fd=self._root)
                try:
                    folder, below = _list(fd, path, ignore)
                finally:
                    os.close(fd)
            except OSError as error:
                if not path:
                    raise VaultMissingError(self.where, why(error)) from error
                unreadable[VaultPath(path)] = why(error)
            else:
                folders[folder.path] = folder
                pending += [name for name in below if not ignore.folder(name)]
        self.verify()
        return Scan(dict(sorted(folders.items())), unreadable, at_ns)

    def list_one(self, path: VaultPath, ignore: Ignore) -> Folder | None:
        """One folder, listed anew; None when it is not there or cannot be listed."""
        unseen = any(name[-3:].lower() == ".md" for name in path.split("/"))
        if unseen or ignore.path(path):
            return None
        try:
            with self.place(f"{path}/." if path else ".") as place:
                return _list(place.folder, path, ignore)[0]
        except (NoteMissingError, UnsafePathError, OSError):
            return None

    def touch(self, *paths: str) -> None:
        """Remember to sync files, and the folders they are in."""
        for path in paths:
            self._touched.add(path)
            self._touched.add(path.rpartition("/")[0])

    def forget(self, path: str) -> None:
        """Remember that a file is gone, and to sync the folder it was in."""
        self._touched.discard(path)
        self._touched.add(path.rpartition("/")[0])

    def sync(self) -> None:
        """Sync what was touched, or the whole disk when that is much.

        An error is for good: the system may have dropped what it could not write, and
        would call the next sync a success.
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
        """Sync each file and folder; False when one is elsewhere now."""
        found = True
        for path in sorted(self._touched):
            try:
                with self.place(path) as place:
                    fd = os.open(place.name or ".", syscalls.READ, dir_fd=place.folder)
            except (NoteError, FileNotFoundError):
                found = False
                continue
            try:
                syscalls.flush(fd)
            finally:
                os.close(fd)
        return found


def read(place: Place, path: str, *, limit: int = ANY, links: int = ANY) -> NoteFile:
    """The file as it was at one moment; errors call it `path`.

    Raises:
        NotRegularFileError: no regular file of at most `links` names.
        UnreadableNoteError: larger than `limit` bytes.
        NoteChangedError: it kept changing.
        OSError: whatever else the system says.
    """
    for pause in _PAUSES:
        try:
            fd = syscalls.open_to_read(place)
        except OSError as error:
            if odd := oddity(syscalls.stat_of(place), links=links):
                raise NotRegularFileError(path, odd) from error
            raise
        try:
            before = os.fstat(fd)
            if odd := oddity(before, links=links):
                raise NotRegularFileError(path, odd)
            if before.st_size > limit:
                raise UnreadableNoteError(path, f"it is larger than {limit} bytes")
            data = os.read(fd, before.st_size + 1)
            while 0 < len(data) < before.st_size and (more := os.read(fd, 1 << 20)):
                data += more
            seen = stamp(before)
            if seen == stamp(os.fstat(fd)) and len(data) == before.st_size:
                return NoteFile(data, hashlib.sha256(data).hexdigest(), seen)
        finally:
            os.close(fd)
        time.sleep(pause)
    raise NoteChangedError(path)


def stamp(found: os.stat_result) -> Stamp:
    """The stamp in a stat."""
    return Stamp(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def stamp_after(place: Place, before: Stamp) -> Stamp:
    """The stamp of a file that was just renamed to `place`.

    Only the ctime is looked up: a save since `before` must look like a change.
    """
    with contextlib.suppress(FileNotFoundError):
        now = syscalls.stat_of(place)
        if now.st_ino == before.inode:
            return before._replace(ctime_ns=now.st_ctime_ns)
    return before


def oddity(found: os.stat_result, *, links: int = 1) -> str:
    """What a file is if it is no regular file of so many names; empty if it is."""
    if stat.S_ISREG(found.st_mode):
        return "a hard link" if found.st_nlink > links else ""
    return next((name for test, name in _KINDS if test(found.st_mode)), "a device")


def is_foreign(name: str) -> bool:
    """Whether another program made a file of that name for itself."""
    return any(map(f"/{name.lower()}".__contains__, _FOREIGN))


def why(error: OSError) -> str:
    """The system's words."""
    return error.strerror or str(error)


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Without the collector of cycles, which would visit all stamps over and over."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _list(fd: int, path: str, ignore: Ignore) -> tuple[Folder, list[str]]:
    """What is in one folder, and the folders in it; an idle pass does little else."""
    prefix = path and path + "/"
    plain: dict[str, tuple[int, int, int, int]] = {}
    odd: dict[str, tuple[str, Stamp]] = {}
    below = []
    kind, regular = 0o170000, stat.S_IFREG
    with os.scandir(fd) as entries:
        for entry in entries:
            name = entry.name
            if name[0] == ".":
                continue
            ending = name[-3:]
            if ending != ".md" and ending.lower() != ".md":
                if entry.is_dir(follow_symlinks=False):
                    below.append(prefix + name)
                continue
            try:
                s = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            if s.st_nlink == 1 and s.st_mode & kind == regular:
                plain[name] = (s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino)
            else:
                odd[name] = (oddity(s), stamp(s))
    names = "/" + "/".join(chain(plain, odd))
    for name in ignore.files(prefix, names):
        plain.pop(name, None)
        odd.pop(name, None)
    if not names.isprintable() or "\\" in names:
        for name in filter(_NO_PATH.search, list(plain)):
            odd[name] = ("a name that no path can hold", Stamp(*plain.pop(name)))
    listed = sorted(plain)
    stamps = map(tuple.__new__, repeat(Stamp), map(plain.__getitem__, listed))
    files: dict[str, Stamp] = dict(zip(listed, stamps, strict=True))
    strange = {name: odd[name][1] for name in sorted(odd)}
    shown = {_shown(name): odd[name][0] for name in strange}
    return Folder(VaultPath(path), _fingerprint(files, strange), files, shown), below


def _fingerprint(files: Mapping[str, Stamp], odd: Mapping[str, Stamp]) -> bytes:
    """A digest of sorted names and stamps, the same in every process."""
    digest = hashlib.blake2b(digest_size=16)
    for group in (files, odd):
        numbers = list(chain.from_iterable(group.values()))
        digest.update("\0".join(group).encode(errors="surrogateescape") + b"\0\0")
        try:
            digest.update(struct.pack(f"<{len(numbers)}q", *numbers))
        except struct.error:  # some network file systems use all 64 bits of an inode
            digest.update(repr(numbers).encode())
    return digest.digest()


def _shown(name: str) -> str:
    """A name that may not be UTF-8, as text that every file and database takes."""
    return VaultPath(name.encode(errors="surrogateescape").decode(errors="replace"))
