"""Wiring: settings -> the ports of one vault. What asks questions needs no more."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self, cast

from vaultsync.adapters.archive_sqlite import SqliteArchive
from vaultsync.adapters.clock import SystemClock
from vaultsync.adapters.home import make_state_dir
from vaultsync.adapters.store_away import StoreAway
from vaultsync.adapters.store_sqlite import SqliteStore
from vaultsync.app.derived import Derived
from vaultsync.app.hygiene import lens_of
from vaultsync.config import Settings
from vaultsync.engine.entity_names import EntityNames
from vaultsync.engine.mirror import Mirror, Policy
from vaultsync.errors import ConfigError, StoreUnavailableError
from vaultsync.ports import Clock, LinkIndex, Store, Vault


class Late:
    """Something that is made when it is first asked for anything: it is dear to load."""

    def __init__(self, make: Callable[[], object]) -> None:
        self._make = make
        self._made: object = None

    def __getattr__(self, name: str) -> object:
        """An attribute of what is made."""
        if self._made is None:
            self._made = self._make()
        return getattr(self._made, name)


class Opened:
    """The two sides and the archive of one vault.

    To be used as a context manager, or closed.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.agent = settings.agent
        self._closing = ExitStack()
        make_state_dir(settings.state_dir)
        clock = SystemClock()
        self.store_path = _store_path(settings)
        store = self._open_store(clock)
        archive = SqliteArchive.open(settings.state_dir / "archive.sqlite3")
        self._closing.callback(archive.close)
        policy = Policy(
            default_scope=settings.default_scope,
            linger_seconds=settings.linger_seconds,
            settle_seconds=settings.settle_seconds,
            grace_seconds=settings.grace_seconds,
            auto_link=settings.auto_link,
            index_folder=settings.index_folder,
        )
        vault = cast("Vault", Late(self._open_vault))
        self._derived = Derived(settings, clock, self._closing)
        # A process that begins takes the names of entities from the link index.
        links = cast("LinkIndex", Late(lambda: self._derived.links))
        names = EntityNames(links)
        lens = lens_of(settings)
        self._mirror = Mirror(vault, store, archive, clock, policy, names, lens)

    def _open_vault(self) -> Vault:
        from vaultsync.adapters.vault_fs import VaultFs

        settings = self.settings
        vault = VaultFs(
            settings.root, ignore=settings.ignore, max_bytes=settings.max_note_bytes
        )
        self._closing.callback(vault.close)
        return vault

    def _open_store(self, clock: Clock, *, create: bool = False) -> Store:
        path = Path(self.store_path)
        known = (self.settings.state_dir / "archive.sqlite3").exists()
        # A store that was there before and is gone now is away: an empty one in its
        # place would look as if every fact had been lost.
        create = create or not known or path.exists()
        try:
            store = SqliteStore.open(path, clock=clock, create=create)
        except StoreUnavailableError as away:
            return StoreAway(away.why)
        self._closing.callback(store.close)
        return store

    def __enter__(self) -> Self:
        """Ready."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()

    def close(self) -> None:
        """Let go of everything; harmless when repeated."""
        self._closing.close()

    def _flush(self) -> None:
        """See to it that nothing waits to be seen by whoever asks next."""


def _store_path(settings: Settings) -> str:
    """Where the SQLite file of a store is."""
    kind, _, path = settings.store.partition(":")
    if kind != "sqlite":
        raise ConfigError(
            f"there is no store {settings.store!r}", hint="use sqlite, or sqlite:PATH"
        )
    if not path:
        return str(settings.state_dir / "store.sqlite3")
    return str((settings.root / Path(path).expanduser()).absolute())
