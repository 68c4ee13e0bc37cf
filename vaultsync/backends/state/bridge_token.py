"""The token of a vault's bridge, in a file that only its owner can read."""

from __future__ import annotations

import secrets
from pathlib import Path

from vaultsync.backends.contended_files import create_file
from vaultsync.backends.replace_file import replace_file
from vaultsync.backends.state.secret_files import read_private
from vaultsync.errors import ConfigError, system_hint


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
            return self._create()
        except OSError as error:
            raise self._unusable(error) from None
        return self._known[1] or self.rotate()

    def find(self) -> str | None:
        """The token; None if there is none. Does not create one."""
        try:
            return self._read() or None
        except OSError:
            return None

    def _create(self) -> str:
        """The first token, perhaps of another process that creates it at the same time."""
        token = _new_token()
        try:
            is_ours = create_file(self._path, f"{token}\n".encode())
            return token if is_ours else self._read()
        except OSError as error:
            raise self._unusable(error) from None

    def rotate(self) -> str:
        """Create a new token of 256 random bits; the old one is no longer valid."""
        token = _new_token()
        try:
            replace_file(self._path, f"{token}\n".encode())
        except OSError as error:
            raise self._unusable(error) from None
        return token

    def _read(self) -> str:
        return read_private(self._path, 1024).decode("ascii", "replace").strip()

    def _unusable(self, error: OSError) -> ConfigError:
        return ConfigError(
            f"the token file {self._path} cannot be used: {error.strerror}",
            hint=system_hint(error, "remove it to have a new token created"),
        )


def _new_token() -> str:
    return secrets.token_urlsafe(32)
