"""A watcher by inotify, the queue of events of Linux.

The system puts an event into its queue before the call that caused it returns. So a process
that reads the queue knows of every change that was complete by then. An owner that checks on
demand needs nothing else; another one is woken by a thread that waits for events.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import select
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
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
_READ_BYTES = 1 << 16
_TOGETHER_SECONDS = 0.01
"""Pause of the thread after it has read, so that it reads the events of a burst together."""
_GONE = {errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP}


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
        self._thread: threading.Thread | None = None
        if wake is not None:
            self._thread = threading.Thread(target=self._listen, name="watcher", daemon=True)
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._folders: dict[int, str] = {}
        """The path of each watched folder, by the number of its watch."""

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
        except OSError:
            self.stop()
            raise
        if self._thread is not None:
            self._ends = os.pipe()
            self._thread.start()

    def drain(self) -> WatchEvents:
        self._read()
        return super().drain()

    def failure(self) -> str:
        self._read()
        return super().failure()

    def stop(self) -> None:
        if self._thread is not None and self._ends is not None:
            os.write(self._ends[1], b"\0")
            self._thread.join()
            for end in self._ends:
                os.close(end)
            self._ends = None
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _listen(self) -> None:
        """The main function of the thread."""
        assert self._ends is not None  # noqa: S101 - it was started
        waiting = select.poll()
        for each in (self._fd, self._ends[0]):
            waiting.register(each, select.POLLIN)
        while self._ends[0] not in dict(waiting.poll()) and self._read():
            time.sleep(_TOGETHER_SECONDS)

    def _read(self) -> bool:
        """Collect the paths of all events in the queue; False after an error, which is reported."""
        with self._reading:
            try:
                while self._fd >= 0 and (data := self._next()):
                    self.add(list(self._paths(data)))
            except Exception as error:  # noqa: BLE001 - as in the threads of other watchers
                self.fail(f"{type(error).__name__}: {error}")
                return False
        return True

    def _next(self) -> bytes:
        with contextlib.suppress(BlockingIOError):  # the queue is empty
            return os.read(self._fd, _READ_BYTES)
        return b""

    def _paths(self, data: bytes) -> Iterator[str]:
        at = 0
        while at < len(data):
            watch, mask, _, size = _HEAD.unpack_from(data, at)
            at += _HEAD.size + size
            if mask & (_Q_OVERFLOW | _UNMOUNT):
                self.lose("the event queue of the system was full, or a folder was unmounted")
            folder = self._folders.get(watch)
            if mask & _IGNORED:  # a deleted folder is an event of the folder above it
                self._folders.pop(watch, None)
            elif folder is not None and size:
                name = os.fsdecode(data[at - size : at].rstrip(b"\0"))
                path = f"{folder}/{name}"
                if mask & _ISDIR and mask & (_CREATE | _MOVED_TO):
                    self._watch_below(path)
                yield path

    def _watch_below(self, folder: str) -> None:
        """Watch a folder, then its contents, so that anything created meanwhile is an event."""
        pending = [folder]
        while pending:
            path = pending.pop()
            inside = path[len(self.root) + 1 :]
            hidden = inside.startswith(".") or "/." in inside
            if hidden or (inside and self._ignores(inside)) or not self._watch(path):
                continue
            with contextlib.suppress(OSError), os.scandir(path) as entries:
                pending += [each.path for each in entries if each.is_dir(follow_symlinks=False)]

    def _watch(self, folder: str) -> bool:
        """Watch one folder; False if there is no readable one.

        Raises OSError: the root is missing, or the system's limit on watches is reached.
        """
        watch = self._libc.inotify_add_watch(self._fd, os.fsencode(folder), _WANTED)
        if watch < 0:
            error = _last_error(folder)
            if error.errno in _GONE and folder != self.root:
                return False
            raise error
        self._folders[watch] = folder
        return True


def _last_error(path: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), path)
