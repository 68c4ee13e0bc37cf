"""Files that several processes create or change at the same time: one does it, or one by one.

`flock` ends with its process, so nothing is left behind. On file systems without it (some network
mounts), a file next to a lock names the holder; it is stale once its process is gone, or after
half a minute. Such locks are advisory, and unreliable between machines.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from vaultsync.backends.replace_file import draft_file, sync_folder
from vaultsync.errors import VaultsyncError

STALE_SECONDS = 30.0
_NO_FLOCK = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL})
_POLL_SECONDS = 0.005

_LOCK_PAUSE = 0.002
"""Seconds between two attempts at a lock."""


def create_file(path: Path, data: bytes, *, mode: int | None = 0o600) -> bool:
    """Create a file, which others find complete or not at all; False if there is one already.

    Of several processes that do it at the same time, one does.

    Args:
        path: the file, in an existing folder.
        data: its content, which is durable afterwards.
        mode: its permissions; None for those of any new file.

    Raises:
        OSError: the disk is full or broken; there is no file.
    """
    with draft_file(path, data, mode=mode, durable=True) as draft:
        is_new = True
        try:
            os.link(draft, path)
        except FileExistsError:
            is_new = False
        except OSError:  # a file system without hard links
            is_new = not os.path.lexists(path)
            if is_new:
                draft.replace(path)
        draft.unlink(missing_ok=True)
    sync_folder(path.parent)
    return is_new


def lock_open(fd: int, seconds: float) -> None:
    """Keep others out who lock the same file or folder, until it is closed.

    Some network file systems have no locks; and after that time, the holder counts as stopped.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() < until:
                time.sleep(_LOCK_PAUSE)
                continue
        except OSError:
            pass
        return


@contextmanager
def locked_folder(folder: Path, seconds: float) -> Iterator[None]:
    """Keep others out who lock the same folder, as `lock_open()`."""
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        lock_open(fd, seconds)
        yield
    finally:
        os.close(fd)


@contextmanager
def locked_file(
    path: Path, seconds: float, busy: VaultsyncError, *, mode: int = 0o600
) -> Iterator[None]:
    """Hold the lock of a lock file, such as `memory.json.lock`, alone.

    Raises:
        VaultsyncError: `busy`, if another process holds it for that many seconds.
        OSError: the file cannot be created.
    """
    import filelock  # slow to load

    with ExitStack() as held:
        try:
            try:
                lock: filelock.BaseFileLock = filelock.UnixFileLock(path, mode=mode)
                held.enter_context(lock.acquire(timeout=seconds, poll_interval=_POLL_SECONDS))
            except (OSError, NotImplementedError) as error:
                if isinstance(error, OSError) and error.errno not in _NO_FLOCK:
                    raise
                lock = filelock.SoftFileLock(_without_stale(path), mode=mode)
                held.enter_context(lock.acquire(timeout=seconds, poll_interval=_POLL_SECONDS))
        except filelock.Timeout:
            raise busy from None
        yield


def _without_stale(path: Path) -> Path:
    """The file that names the holder, which was removed if it is too old."""
    owned = path.with_name(f"{path.name}.pid")
    with suppress(FileNotFoundError):
        if time.time() - owned.stat().st_mtime > STALE_SECONDS:
            owned.unlink()
    return owned
