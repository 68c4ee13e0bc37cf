"""The random key of a machine, in a file that only its owner can read.

It is outside the vault, which is synced and shared.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from vaultsync.errors import ConfigError, system_hint

KEY_BYTES = 32
_REMOVE_HINT = "remove it; a new one is created"


def read_private(path: Path, size: int) -> bytes:
    """Up to `size` bytes of a file, after making it private to its owner."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        mode = os.fstat(fd).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        if mode & 0o077:
            os.fchmod(fd, 0o600)
        return os.read(fd, size)
    finally:
        os.close(fd)


def read_or_make_key(path: Path) -> bytes:
    """The key in a file, which is created if missing.

    Two processes that create it at the same time get the same key: only one of them can link
    its complete file to the name. `ConfigError`: it cannot be created, read, or made private.
    """
    try:
        try:
            key = read_private(path, KEY_BYTES)
        except FileNotFoundError:
            _make_key(path)
            key = read_private(path, KEY_BYTES)
    except OSError as error:
        is_denied = isinstance(error, PermissionError)
        hint = "change its permissions so that you can read and write it"
        hint = system_hint(error, hint if is_denied else _REMOVE_HINT)
        message = f"the key {path} cannot be used: {error.strerror}"
        raise ConfigError(message, hint=hint) from None
    if len(key) < KEY_BYTES:
        raise ConfigError(f"the key {path} is truncated", hint=_REMOVE_HINT)
    return key


def _make_key(path: Path) -> None:
    draft = path.with_name(f"{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(fd, os.urandom(KEY_BYTES))
        os.fsync(fd)
    finally:
        os.close(fd)
    try:
        os.link(draft, path)
    except FileExistsError:
        pass  # another process was faster; use its key
    except OSError:  # a file system without hard links
        if not path.exists():
            draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
