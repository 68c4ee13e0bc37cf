"""Which store the user's settings name, for processes that keep a vault open."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from vaultsync.backends.state.settings_files import read_machine_file
from vaultsync.errors import ConfigError, StoreUnavailableError
from vaultsync.settings import parse_toml


class NamedStore:
    """The store that the user's own settings name, for a process that has opened it.

    A migration, or an edit of the settings, may name another one while the process runs.
    """

    def __init__(self, path: Path, store: str) -> None:
        """Take what the file at `path` says now as the reason to use `store`."""
        self._path = path
        self._store = store
        self._identity: tuple[int, ...] | None = None
        self._name: object = None
        self._read()
        self._first = self._name

    @property
    def successor(self) -> str:
        """The store that the settings name instead by now; empty if there is none."""
        self._read()
        is_same = self._name in (self._first, self._store)
        return "" if is_same else str(self._name or "sqlite")

    def check(self) -> None:
        """Raise a StoreUnavailableError if the settings name another store by now."""
        if successor := self.successor:
            raise StoreUnavailableError(
                f"the settings of the vault name another one by now: {successor}",
                helps="open the vault again, or restart this process; until then, its changes"
                " wait in the outbox",
            )

    def _read(self) -> None:
        """Read the file, if it was written since."""
        with suppress(OSError, ConfigError):  # raised when the vault is opened
            found = self._path.stat()
            identity = found.st_ino, found.st_size, found.st_mtime_ns
            if identity != self._identity:
                self._name = parse_toml(read_machine_file(self._path), self._path).get("store")
                self._identity = identity
