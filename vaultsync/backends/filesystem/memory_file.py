"""A memory file on disk, with its lock and its state file."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import count
from pathlib import Path

from vaultsync.backends.contended_files import lock_open, locked_file
from vaultsync.backends.filesystem import syscalls
from vaultsync.backends.filesystem.file_reading import PAUSES, os_error_text, read_once
from vaultsync.backends.filesystem.syscalls import EntryAt
from vaultsync.backends.replace_file import try_replace
from vaultsync.errors import (
    MemoryFileBusyError,
    MemoryFileChangedError,
    MemoryFileError,
    NotRegularFileError,
    UnreadableMemoryFileError,
    UnreadableNoteError,
    system_hint,
)

_log = logging.getLogger(__name__)

LOCK_FILE = ".memory-sync.lock"
_WRITABLE = "change the permissions so that you can write it and its folder"
_ONE_NAME = "replace it with a copy"
STATE_FILE = ".memory-sync-state.json"
STAGING_DIR = ".memory-sync.staged"
_FORMER = "new"
"""The staged file of any file of the folder, as former versions named it."""
_LEASE_PAUSES = (0.002, 0.008, 0.032, 0.128, 0.512)
"""Successive waits, in seconds, for an editor to close a displaced file."""
_OPEN_SECONDS = 3600.0
"""How long a displaced file is kept for a program that may still write into it."""
_LARGEST_STATE = 16 << 20
"""Maximum size of a state file in bytes; 50 files with 500 sections need a hundredth."""
_READ = os.O_RDONLY | os.O_NONBLOCK
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_LOCK_SECONDS = 10.0
"""Maximum time to wait for a write of another process into the same folder."""


class DiskMemoryFile:
    """The file at a path. Links are resolved, so that it has only one name."""

    def __init__(self, path: Path, name: str) -> None:
        self.path = path
        self.name = name
        self.key = path.name
        self._folder = path.parent
        # Hashes, because a name with a prefix may be too long, and one with `~` means an exchange.
        self.staged_prefix = f"new.{_digest(os.fsencode(path.name))}"

    def read(self, limit: int) -> bytes | None:
        for pause in PAUSES:
            if pause:  # even sleep(0) takes a tenth of a millisecond
                time.sleep(pause)
            try:
                fd = os.open(self.path, _READ)
                found = read_once(fd, self.name, limit=limit, hashes=False)
            except FileNotFoundError:
                if self._folder.is_dir():
                    return None
                hint = "check the path, or create the folder"
                raise self._unreadable("its folder does not exist", hint=hint) from None
            except OSError as error:
                raise self._unreadable(os_error_text(error)) from error
            except NotRegularFileError:
                raise self._unreadable("it is no file") from None
            except UnreadableNoteError:
                why = f"it is larger than the remaining {limit} bytes"
                raise self._unreadable(why) from None
            if found is not None:
                return found.data
        raise self._unreadable("it changes faster than it can be read")

    def _unreadable(self, why: str, *, hint: str = "") -> UnreadableMemoryFileError:
        return UnreadableMemoryFileError(self.name, why, hint=hint)

    @contextlib.contextmanager
    def lock(self, seconds: float) -> Iterator[None]:
        busy = MemoryFileBusyError(self.name, seconds)
        with contextlib.ExitStack() as held:
            try:
                # Other users of the folder lock the same file.
                lock = locked_file(self._folder / LOCK_FILE, seconds, busy, mode=0o644)
                held.enter_context(lock)
            except OSError as error:
                _log.debug("The folder of %s is not writable: %s", self.name, error)
            yield

    def replace(self, data: bytes, expect: bytes | None, *, mode: int | None = None) -> None:
        """Exchange, check the displaced content, and exchange back anything unexpected.

        `mode` has the permissions of a file that is created; default: those of any new file.
        """
        with self._writing(data, expect) as (staged, note):
            if expect is not None:
                try:
                    self._check_writable()
                except FileNotFoundError:
                    raise MemoryFileChangedError(self.name) from None
            draft = EntryAt(staged.folder, f"~{staged.name}")  # not complete, so not displaced
            syscalls.write_over(draft, data)
            if mode is not None:
                os.chmod(draft.name, mode, dir_fd=draft.folder)
            syscalls.flush_at(draft)
            syscalls.replace(draft, staged)
            if expect is None:
                self._create(staged, note)
            else:
                self._exchange(staged, note, data, expect)

    def remove(self, expect: bytes) -> None:
        """Delete the file if it has this content; anything else is put back. Raises: as `replace`.

        What was put back, and replaced at once by another save, is in the error.
        """
        with self._writing(b"", expect) as (staged, note):
            try:
                syscalls.replace(note, staged)
            except FileNotFoundError:
                return
            found = _read_when_closed(staged)
            if found != expect:
                try:
                    self._create(staged, note)
                except MemoryFileChangedError:
                    raise MemoryFileChangedError(self.name, (found,)) from None
                raise MemoryFileChangedError(self.name)

    @contextlib.contextmanager
    def _writing(self, data: bytes, expect: bytes | None) -> Iterator[tuple[EntryAt, EntryAt]]:
        """The entries of the staged file and of this one, for a write that is made durable.

        The name of the staged file tells what is in it after a crash.
        """
        name = f"{_digest(expect or b'')}.{_digest(data)}"
        try:
            with self._staging(name) as staged:
                folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
                try:
                    yield staged, EntryAt(folder, self.path.name)
                    syscalls.flush(folder)
                finally:
                    os.close(folder)
        except OSError as error:
            why = f"it cannot be written: {os_error_text(error)}"
            raise self._unreadable(why, hint=system_hint(error, _WRITABLE)) from error

    def _check_writable(self) -> None:
        found = self.path.lstat()
        if stat.S_ISLNK(found.st_mode):  # made since the path was resolved
            raise self._unreadable("it is a link now", hint="name the file that it leads to")
        if not found.st_mode & 0o222:
            raise self._unreadable("it is read-only", hint=_WRITABLE)
        if found.st_nlink > 1:
            raise self._unreadable("it has more than one hard link", hint=_ONE_NAME)

    @contextlib.contextmanager
    def _staging(self, name: str) -> Iterator[EntryAt]:
        """An unused entry of the staging folder, whose file is removed unless it is needed."""
        with self._staging_folder() as fd:
            syscalls.finish_interrupted(fd)
            for each in self._staged(fd):
                begun = each.name.split(".")[2:]
                if begun and not _is_open(each) and _digest(syscalls.read_bytes(each)) in begun:
                    syscalls.remove(each)
            # What an equal write displaced before a crash stays.
            entries = (EntryAt(fd, f"{self.staged_prefix}-{number}.{name}") for number in count())
            staged = next(each for each in entries if not syscalls.exists(each))
            try:
                yield staged
            except MemoryFileChangedError as error:
                if not error.saved:
                    syscalls.remove_any(staged)
                raise
            except MemoryFileError:
                syscalls.remove_any(staged)
                raise
            # After any other error, too, `displaced()` has what was displaced.
            if not _is_open(staged):
                syscalls.remove_any(staged)

    @contextlib.contextmanager
    def _staging_folder(self) -> Iterator[int]:
        """Open the staging folder, which one process uses at a time; remove it if it is empty."""
        where = self._folder / STAGING_DIR
        while True:
            with contextlib.suppress(FileExistsError):
                where.mkdir(mode=0o700)
            with contextlib.suppress(FileNotFoundError), contextlib.ExitStack() as opened:
                fd = os.open(where, _FOLDER)
                opened.callback(os.close, fd)
                lock_open(fd, _LOCK_SECONDS)
                if os.path.samestat(os.fstat(fd), where.lstat()):
                    opened.pop_all()
                    break
            # Another process has just removed it.
        try:
            yield fd
        finally:
            with contextlib.suppress(OSError):  # it is not empty
                where.rmdir()
            os.close(fd)

    def _staged(self, staging: int) -> list[EntryAt]:
        """The staged files of this file, and that of a former version."""
        names = syscalls.list_names(staging)
        found = (name for name in names if name == _FORMER or name.startswith(self.staged_prefix))
        return [EntryAt(staging, name) for name in sorted(found)]

    def _create(self, staged: EntryAt, note: EntryAt) -> None:
        try:
            syscalls.put_new(staged, note)
        except FileExistsError:
            raise MemoryFileChangedError(self.name) from None

    def _exchange(self, staged: EntryAt, note: EntryAt, data: bytes, expect: bytes) -> None:
        """Exchange; any displaced content other than `expect` is exchanged back."""
        with os.fdopen(os.open(self.path, _READ), "rb") as file:
            metadata = syscalls.metadata_of(file.fileno(), os.fstat(file.fileno()))
        if self.read(sys.maxsize) != expect:
            raise MemoryFileChangedError(self.name)
        syscalls.copy_metadata(metadata, staged, syscalls.stat_of(staged))

        def swap() -> None:
            syscalls.swap_files(staged, note)

        def look(under: bytes) -> bytes:
            found = syscalls.read_bytes(staged)
            return _read_when_closed(staged) if found == under else found

        try:
            # If the user deletes or renames the file, the staged one is not moved.
            put, met = syscalls.swap_checked(swap, look, lambda: False, ours=data, expect=expect)
        except FileNotFoundError:
            raise MemoryFileChangedError(self.name) from None
        if met:
            saved = (x for x in dict.fromkeys(met) if x not in (put, data, expect))
            raise MemoryFileChangedError(self.name, tuple(saved))

    def has_leftovers(self) -> bool:
        return (self._folder / STAGING_DIR).exists()

    def displaced(self) -> Sequence[tuple[bytes, bytes | None]]:
        begun = [(name.split(".")[2:], data) for name, data in self._leftovers()]
        displaced = [(names, data) for names, data in begun if _digest(data) not in names]
        now = self.read(sys.maxsize) if displaced else None
        put = None if now is None else [_digest(now)]
        return [
            (data, now if names[1:] == put else None)
            for names, data in displaced
            if data not in (b"", now)
        ]

    def staged_paths(self) -> list[Path]:
        """The files that are or were staged for this one, without the lock."""
        return sorted((self._folder / STAGING_DIR).glob(f"*{self.staged_prefix}-*"))

    def _leftovers(self) -> list[tuple[str, bytes]]:
        """The leftovers, by the names under which they were staged."""
        where = self._folder / STAGING_DIR
        try:
            fd = os.open(where, _FOLDER)
        except OSError:
            return []
        try:
            lock_open(fd, _LOCK_SECONDS)
            syscalls.finish_interrupted(fd)
            staged = (each for each in self._staged(fd) if not _is_open(each))
            return [(each.name, syscalls.read_bytes(each)) for each in staged]
        except OSError as error:
            why = f"{STAGING_DIR} beside it has a folder or a link in it: {os_error_text(error)}"
            raise self._unreadable(why, hint=f"delete {STAGING_DIR}") from error
        finally:
            os.close(fd)

    def drop_leftovers(self, data: bytes | None = None) -> None:
        if not self.has_leftovers():
            return
        with contextlib.suppress(OSError), self._staging_folder() as staging:  # or the next time
            for each in self._staged(staging):
                if not _is_open(each) and data in (None, syscalls.read_bytes(each)):
                    syscalls.remove_any(each)

    def state(self) -> bytes | None:
        try:
            fd = os.open(self._folder / STATE_FILE, _READ | os.O_NOFOLLOW)
            found = read_once(fd, STATE_FILE, limit=_LARGEST_STATE, hashes=False)
        except (OSError, NotRegularFileError, UnreadableNoteError) as error:
            _log.debug("The state file of %s cannot be read: %s", self.name, error)
            return None
        return found.data if found else None

    def put_state(self, data: bytes) -> None:
        # Private, because headings may contain secrets; a full disk is ignored.
        try_replace(self._folder / STATE_FILE, data)


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()[:16]


def _is_open(place: EntryAt) -> bool:
    """Whether a program may still write into a displaced file, such as `command >> MEMORY.md`.

    Not where the system does not tell, nor after an hour.
    """
    if not hasattr(fcntl, "F_SETLEASE") or not syscalls.exists(place):
        return False
    age = time.time() - syscalls.stat_of(place).st_ctime
    return age < _OPEN_SECONDS and syscalls.may_be_written(place)


def _read_when_closed(place: EntryAt) -> bytes:
    """The bytes of a displaced file once no program has it open for writing.

    An editor that saves in place may have opened and emptied it before the exchange.
    """
    for pause in _LEASE_PAUSES:
        if not syscalls.may_be_written(place):
            break
        time.sleep(pause)
    return syscalls.read_bytes(place)
