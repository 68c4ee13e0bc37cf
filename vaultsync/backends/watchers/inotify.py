"""A watcher by inotify, the queue of events of Linux.

The system puts an event into its queue before the call that caused it returns. So a process
that reads the queue knows of every change that was complete by then. An owner that checks on
demand needs nothing else; another one is woken by a thread that waits for events.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import select
import struct
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path

from vaultsync.backends.watchers.collector import EventCollector
from vaultsync.daemon.ports import WatchEvents

_MODIFY, _ATTRIB, _MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x2, 0x4, 0x40, 0x80, 0x100, 0x200
_UNMOUNT, _Q_OVERFLOW, _IGNORED = 0x2000, 0x4000, 0x8000
_ONLYDIR, _DONT_FOLLOW, _EXCL_UNLINK, _ISDIR = 0x01000000, 0x02000000, 0x04000000, 0x40000000
_WANTED = (
    _MODIFY | _ATTRIB | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE
    | _ONLYDIR | _DONT_FOLLOW | _EXCL_UNLINK
)  # fmt: skip
"""All events except those of programs that only read."""
_HEAD = struct.Struct("iIII")
_SIZE = struct.Struct("i")
_TOGETHER_SECONDS = 0.01
"""Pause of the thread after it has read, so that it reads the events of a burst together."""
_GONE = {errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP}
_LIMITS = {
    errno.ENOSPC: "the limit fs.inotify.max_user_watches is reached",
    errno.EMFILE: "the limit fs.inotify.max_user_instances, or that of open files, is reached",
}
"""What the system describes as a full disk, or as too many open files."""


class InotifyWatcher(EventCollector):
    """A `Watcher` that gets the events of the system when it is drained, or has a thread.

    Args:
        root: the vault.
        state_dir: the state folder.
        wake: called by the thread after events; without it, there is no thread.
        ignores: returns whether to leave out a folder of the vault, by its path.
    """

    name = "inotify"
    polls = False

    def __init__(
        self,
        root: Path,
        state_dir: Path,
        *,
        wake: Callable[[], None] | None = None,
        ignores: Callable[[str], bool] = lambda _: False,
    ) -> None:
        super().__init__(root, state_dir, wake or (lambda: None))
        self._ignores = ignores
        self._fd = -1
        self._ends: tuple[int, int] | None = None
        """A pipe that ends the thread."""
        self._reading = threading.Lock()
        self._has_thread = wake is not None
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._folders: dict[int, str] = {}
        """The path of each watched folder, by the number of its watch."""
        self._moved: set[str] = set()
        """The old paths of folders that were moved, of the events that are being read."""
        self._found: set[int] = set()
        """The watches of the folders that were found in the vault meanwhile."""
        self._refused = False
        """Whether the system did not allow to watch a folder."""

    def start(self) -> None:
        if sys.platform != "linux":
            raise OSError(errno.ENOSYS, "this system has no inotify", self.root)
        self.begin()
        self._fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise _last_error(self.root)
        try:
            self._watch(str(self.canary))
            self._watch_below(self.root)
            if self._has_thread:
                self._ends = os.pipe()
                args = self._ends[:1]
                thread = threading.Thread(
                    target=self._listen, args=args, name="watcher", daemon=True
                )
                thread.start()
                self._threads = [thread]
        except BaseException:
            self.stop()
            raise

    def drain(self) -> WatchEvents:
        if not self._has_thread:
            self._read()
        return super().drain()

    def failure(self) -> str:
        if not self._has_thread:
            self._read()
        return super().failure()

    def stop(self) -> None:
        with self._reading:  # of several callers, one stops the thread
            threads, self._threads = self._threads, ()
            ends, self._ends = self._ends, None
        if threads and ends is not None:
            os.write(ends[1], b"\0")
            threads[0].join()
        with self._reading:  # its number may be that of another file once it is closed
            fd, self._fd = self._fd, -1
        for each in (fd, *(ends or ())):
            if each >= 0:
                os.close(each)

    def _listen(self, end: int) -> None:
        """The main function of the thread, until there is something to read at its end."""
        waiting = select.poll()
        for each in (self._fd, end):
            waiting.register(each, select.POLLIN)
        while end not in dict(waiting.poll()) and self._read():
            time.sleep(_TOGETHER_SECONDS)

    def _read(self) -> bool:
        """Collect the paths of all events in the queue; False after an error, which is reported.

        Events that follow while it reads are left for the next call, so that a burst that
        never pauses does not keep the caller.
        """
        with self._reading:
            try:
                if data := self._queued():
                    self.add(list(self._paths(data)))
                    self._forget_moved()
            except Exception as error:  # noqa: BLE001 - as in the threads of other watchers
                self.fail(f"{type(error).__name__}: {error}")
                return False
        return True

    def _queued(self) -> bytes:
        if self._fd < 0:
            return b""
        (size,) = _SIZE.unpack(fcntl.ioctl(self._fd, termios.FIONREAD, bytes(_SIZE.size)))
        return os.read(self._fd, size) if size else b""

    def _paths(self, data: bytes) -> Iterator[str]:
        self._moved.clear()
        self._found.clear()
        at = 0
        while at < len(data):
            watch, mask, _, size = _HEAD.unpack_from(data, at)
            at += _HEAD.size + size
            if mask & (_Q_OVERFLOW | _UNMOUNT):
                self.lose("the event queue of the system was full, or a folder was unmounted")
            folder = self._folders.get(watch)
            if mask & _IGNORED:  # a deleted folder is an event of the folder above it
                if self._folders.pop(watch, None) in (self.root, str(self.canary)):
                    self.fail(f"{folder} was deleted")  # another one may have its inode number
            elif folder is not None and size:
                name = os.fsdecode(data[at - size : at].rstrip(b"\0"))
                path = f"{folder}/{name}"
                yield path
                if not mask & _ISDIR:
                    continue
                if mask & (_CREATE | _MOVED_TO) or (mask & _ATTRIB and self._refused):
                    yield from self._watch_below(path)
                elif mask & _MOVED_FROM:
                    self._moved.add(path)

    def _forget_moved(self) -> None:
        """Stop watching the folders that were moved out of the vault, or to a hidden folder."""
        if not self._moved:
            return
        for watch, folder in list(self._folders.items()):
            ways = accumulate(folder.split("/"), "{}/{}".format)
            if watch not in self._found and not self._moved.isdisjoint(ways):
                self._libc.inotify_rm_watch(self._fd, watch)
                del self._folders[watch]

    def _watch_below(self, folder: str) -> list[str]:
        """Watch a folder, then its contents, so that anything created meanwhile is an event.

        Returns the folders: those below may be new in one that is as it was, and they may have
        been filled before.
        """
        watched = []
        pending = [folder]
        while pending:
            path = pending.pop()
            inside = path[len(self.root) + 1 :]
            hidden = inside.startswith(".") or "/." in inside
            if hidden or (inside and self._ignores(inside)) or not self._watch(path):
                continue
            watched.append(path)
            with contextlib.suppress(OSError), os.scandir(path) as entries:
                pending += [each.path for each in entries if each.is_dir(follow_symlinks=False)]
        return watched

    def _watch(self, folder: str) -> bool:
        """Watch one folder; False if there is no readable one.

        Raises OSError: the root is missing, or the system's limit on watches is reached.
        """
        watch = self._libc.inotify_add_watch(self._fd, os.fsencode(folder), _WANTED)
        if watch < 0:
            error = _last_error(folder)
            self._refused = self._refused or error.errno == errno.EACCES
            if error.errno in _GONE and folder != self.root:
                return False
            raise error
        self._folders[watch] = folder
        self._found.add(watch)
        return True


def _last_error(path: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, _LIMITS.get(number) or os.strerror(number), path)
