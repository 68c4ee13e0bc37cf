"""Locks between programs that share a file: by the system, or by a file with a process id.

`flock` ends with its process, so nothing is left behind. On file systems without it (some network
mounts), a file next to it names the holder and the time; it is stale once its process is gone, or
after half a minute. Such locks are advisory, and unreliable between machines.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import logging
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from vaultsync.backends.replace_file import read_json
from vaultsync.errors import LockTimeoutError

_log = logging.getLogger(__name__)

STALE_SECONDS = 30.0
_NO_FLOCK = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL})
_BUSY = frozenset({errno.EAGAIN, errno.EACCES})
_SHORTEST_WAIT, _LONGEST_WAIT = 0.001, 0.02


@contextlib.contextmanager
def locked(path: Path, seconds: float) -> Iterator[None]:
    """Hold the lock of a lock file, such as `memory.json.lock`, alone.

    Raises:
        LockTimeoutError: another process holds it for that many seconds.
        OSError: the file cannot be created.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with contextlib.ExitStack() as held:
        held.callback(os.close, fd)  # also unlocks it
        try:
            _wait(lambda: _try_flock(fd), path, seconds)
        except OSError as error:
            if error.errno not in _NO_FLOCK:
                raise
            held.enter_context(_lock_by_file(path, seconds))
        yield


def _wait(take: Callable[[], bool], path: Path, seconds: float) -> None:
    until, pause = time.monotonic() + seconds, _SHORTEST_WAIT
    while not take():
        if time.monotonic() >= until:
            raise LockTimeoutError(str(path), seconds)
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_WAIT)


def _try_flock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _BUSY:
            raise
        return False
    return True


@contextlib.contextmanager
def _lock_by_file(path: Path, seconds: float) -> Iterator[None]:
    """Hold a file that only one process can create."""
    owned = path.with_name(f"{path.name}.pid")
    mine = {"pid": os.getpid(), "at": time.time(), "id": os.urandom(8).hex()}
    draft = path.with_name(f".{path.name}.{mine['id']}")
    draft.write_text(json.dumps(mine))

    def take() -> bool:
        try:
            os.link(draft, owned)  # atomically, so that no reader sees half a process id
        except FileExistsError:
            _drop_stale(owned)
            return False
        return True

    try:
        _wait(take, path, seconds)
        try:
            yield
        finally:
            if _owner(owned).get("id") == mine["id"]:
                owned.unlink(missing_ok=True)
    finally:
        draft.unlink(missing_ok=True)


def _owner(path: Path) -> dict[str, Any]:
    try:
        found = read_json(path)
    except (OSError, ValueError) as error:
        _log.debug("the owner of %s is not known: %s", path, error)
        return {}
    return found if isinstance(found, dict) else {}


def _drop_stale(owned: Path) -> None:
    """Remove a lock whose process is gone, or that is too old."""
    owner = _owner(owned)
    try:
        age = time.time() - owned.stat().st_mtime
    except FileNotFoundError:
        return
    pid = owner.get("pid")
    if age < STALE_SECONDS and isinstance(pid, int) and _lives(pid):
        return
    if not owner and age < STALE_SECONDS:
        return  # not readable, so only its age counts
    # Renamed first, so that only one process removes it, and never a newer one.
    aside = owned.with_name(f".{owned.name}.{os.urandom(4).hex()}")
    with contextlib.suppress(FileNotFoundError):
        owned.rename(aside)
        if _owner(aside).get("id") != owner.get("id"):
            with contextlib.suppress(FileExistsError):
                os.link(aside, owned)
        aside.unlink(missing_ok=True)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
