"""A key of this machine: random bytes in a file that only its owner can read."""

from __future__ import annotations

import os
from pathlib import Path

from vaultsync.errors import ConfigError

KEY_BYTES = 32


def read_or_make_key(path: Path) -> bytes:
    """The key in a file, which is made when there is none.

    Two processes that make it at once agree: the file is written whole, and only one of
    them can link it to its name.

    Raises:
        ConfigError: it cannot be read or made, or others can read it and that cannot be
            changed.
    """
    try:
        key = _read(path)
        if key is None:
            _make(path)
            key = _read(path)
    except OSError as error:
        raise ConfigError(
            f"the key {path} cannot be used: {error.strerror}",
            hint="give yourself the right to read and write it",
        ) from None
    if key is None:
        raise ConfigError(f"the key {path} is cut off", hint="remove it; a new one is made")
    return key


def _read(path: Path) -> bytes | None:
    """The key; None when there is none, or not all of it."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        if os.fstat(handle).st_mode & 0o077:
            os.fchmod(handle, 0o600)
        key = os.read(handle, KEY_BYTES)
    finally:
        os.close(handle)
    return key if len(key) == KEY_BYTES else None


def _make(path: Path) -> None:
    draft = path.with_name(f"{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(handle, os.urandom(KEY_BYTES))
        os.fsync(handle)
    finally:
        os.close(handle)
    try:
        os.link(draft, path)
    except FileExistsError:
        pass  # another process was faster: its key is the key
    except OSError:  # a disk without links
        if not path.exists():
            draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
