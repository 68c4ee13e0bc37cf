"""The token of a vault, in a file that only its owner can read, outside of the vault.

A vault is synced and shared; its token never is.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from vaultsync.backends.replace_file import replace_file
from vaultsync.errors import ConfigError

TOKEN_BYTES = 32
"""256 random bits."""
_NAME = "bridge.token"


class TokenFile:
    """The token in the state folder of a vault."""

    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / _NAME
        self._known: tuple[tuple[int, int], str] | None = None

    def token(self) -> str:
        """The token; one is made when there is none.

        Raises:
            ConfigError: the file cannot be read, or it is another user's and open to others.
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
        """The token; None when there is none to be read. Makes nothing."""
        try:
            return self._read() or None
        except OSError:
            return None

    def rotate(self) -> str:
        """A new token; the old one is not valid any more.

        Raises:
            ConfigError: it cannot be written.
        """
        token = secrets.token_urlsafe(TOKEN_BYTES)
        try:
            replace_file(self._path, f"{token}\n".encode())
        except OSError as error:
            raise self._unusable(error) from None
        return token

    def _read(self) -> str:
        fd = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(fd, encoding="ascii", errors="replace") as file:
            if os.fstat(fd).st_mode & 0o077:
                os.fchmod(fd, 0o600)
            return file.read(1024).strip()

    def _unusable(self, error: OSError) -> ConfigError:
        return ConfigError(
            f"the token file {self._path} cannot be used: {error.strerror}",
            hint="remove it; a new token is made then",
        )
