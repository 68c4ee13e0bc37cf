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

    Two processes that create it at the same time get the same key.
    `ConfigError`: it cannot be created, read, or made private.
    """
    try:
        try:
            key = read_private(path, KEY_BYTES)
        except FileNotFoundError:
            from vaultsync.backends.contended_files import create_file  # once per machine

            create_file(path, os.urandom(KEY_BYTES))
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
