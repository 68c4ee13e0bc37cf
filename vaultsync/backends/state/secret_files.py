"""Random secrets, in files that only their owner can read: the key of a machine, and a token.

They are outside the vault, which is synced and shared.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from vaultsync.backends.replace_file import replace_file
from vaultsync.errors import ConfigError, system_hint

KEY_BYTES = 32
_REMOVE_HINT = "remove it; a new one is created"


def _read_private(path: Path, size: int) -> bytes:
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
            key = _read_private(path, KEY_BYTES)
        except FileNotFoundError:
            _make_key(path)
            key = _read_private(path, KEY_BYTES)
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


class TokenFile:
    """The token of a vault's bridge, in the vault's state folder."""

    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / "bridge.token"
        self._known: tuple[tuple[int, int], str] | None = None

    def token(self) -> str:
        """The token, which is created if missing.

        `ConfigError`: the file cannot be read, or it is another user's and open to others.
        """
        try:
            found = self._path.stat()
            at = (found.st_mtime_ns, found.st_ino)
            if self._known is None or self._known[0] != at:
                self._known = (at, self._read())
        except FileNotFoundError:
            return self.rotate()
        except OSError as error:
            raise self._unusable(error) from None
        return self._known[1] or self.rotate()

    def find(self) -> str | None:
        """The token; None if there is none. Does not create one."""
        try:
            return self._read() or None
        except OSError:
            return None

    def rotate(self) -> str:
        """Create a new token of 256 random bits; the old one is no longer valid."""
        import secrets  # slow to load, and questions only need the key

        token = secrets.token_urlsafe(32)
        try:
            replace_file(self._path, f"{token}\n".encode())
        except OSError as error:
            raise self._unusable(error) from None
        return token

    def _read(self) -> str:
        return _read_private(self._path, 1024).decode("ascii", "replace").strip()

    def _unusable(self, error: OSError) -> ConfigError:
        return ConfigError(
            f"the token file {self._path} cannot be used: {error.strerror}",
            hint=system_hint(error, "remove it to have a new token created"),
        )
