"""Locks between programs that share a file: by the system, or by a file with a process id.

`flock` ends with its process, so nothing is left behind. On file systems without it (some network
mounts), a file next to it names the holder; it is stale once its process is gone, or after half a
minute. Such locks are advisory, and unreliable between machines.
"""

from __future__ import annotations

import contextlib
import errno
import time
from collections.abc import Iterator
from pathlib import Path

from vaultsync.errors import LockTimeoutError

STALE_SECONDS = 30.0
_NO_FLOCK = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL})
_POLL_SECONDS = 0.005


@contextlib.contextmanager
def locked(path: Path, seconds: float) -> Iterator[None]:
    """Hold the lock of a lock file, such as `memory.json.lock`, alone.

    Raises:
        LockTimeoutError: another process holds it for that many seconds.
        OSError: the file cannot be created.
    """
    import filelock

    with contextlib.ExitStack() as held:
        try:
            try:
                lock: filelock.BaseFileLock = filelock.UnixFileLock(path, mode=0o600)
                held.enter_context(lock.acquire(timeout=seconds, poll_interval=_POLL_SECONDS))
            except (OSError, NotImplementedError) as error:
                if isinstance(error, OSError) and error.errno not in _NO_FLOCK:
                    raise
                lock = filelock.SoftFileLock(_without_stale(path), mode=0o600)
                held.enter_context(lock.acquire(timeout=seconds, poll_interval=_POLL_SECONDS))
        except filelock.Timeout:
            raise LockTimeoutError(str(path), seconds) from None
        yield


def _without_stale(path: Path) -> Path:
    """The file that names the holder, which was removed if it is too old."""
    owned = path.with_name(f"{path.name}.pid")
    with contextlib.suppress(FileNotFoundError):
        if time.time() - owned.stat().st_mtime > STALE_SECONDS:
            owned.unlink()
    return owned
