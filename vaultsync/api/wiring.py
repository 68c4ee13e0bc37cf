"""Wiring: settings -> the ports of one vault. What asks questions needs no more."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import cached_property
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar, cast

from vaultsync.api.derived import DerivedData
from vaultsync.api.privacy import note_view_for
from vaultsync.api.stores import StoreFactory
from vaultsync.backends.sqlite.sqlite_archive import SqliteArchive
from vaultsync.backends.state.vault_marker import make_state_dir
from vaultsync.backends.system.background import run_in_thread
from vaultsync.backends.system.system_clock import SystemClock
from vaultsync.links.entity_names import EntityNames
from vaultsync.settings import Settings
from vaultsync.sync.context import SyncContext, SyncPolicy

if TYPE_CHECKING:  # only a daemon or a bridge has one
    from vaultsync.backends.obsidian.vault_through_app import ObsidianApp
    from vaultsync.links.ports import LinkIndex
    from vaultsync.recall.access_counts import AccessCounter
    from vaultsync.storage.store import Store
    from vaultsync.storage.vault import Vault


_T = TypeVar("_T")


class LazyProxy:
    """Something that is made when it is first asked for anything: it is dear to load."""

    def __init__(self, make: Callable[[], object]) -> None:
        self._make = make
        self._made: object = None

    def made(self) -> object:
        """The very thing."""
        if self._made is None:
            self._made = self._make()
        return self._made

    def __getattr__(self, name: str) -> object:
        """An attribute of what is made."""
        return getattr(self.made(), name)


def unwrap(thing: _T) -> _T:
    """What a `Late` stands for, for whoever is going to ask it thousands of times."""
    return cast("_T", thing.made()) if isinstance(thing, LazyProxy) else thing


class Services:
    """The two sides and the archive of one vault.

    `app` is asked to make the changes of notes that it may have open.
    To be used as a context manager, or closed.
    """

    def __init__(self, settings: Settings, *, app: ObsidianApp | None = None) -> None:
        self.settings = settings
        self._app = app
        self.agent = settings.agent
        self._closing = ExitStack()
        make_state_dir(settings.state_dir)
        clock = SystemClock()
        self._stores = StoreFactory(settings, clock, lambda: self._derived.embedder)
        self.store_path = self._stores.where
        store = self._open_store()
        archive = SqliteArchive.open(settings.state_dir / "archive.sqlite3")
        self._closing.callback(archive.close)
        policy = SyncPolicy(
            default_scope=settings.default_scope,
            linger_seconds=settings.linger_seconds,
            settle_seconds=settings.settle_seconds,
            grace_seconds=settings.grace_seconds,
            auto_link=settings.auto_link,
            index_folder=settings.index_folder,
        )
        vault = cast("Vault", LazyProxy(self._open_vault))
        self._derived = DerivedData(settings, clock, self._closing, self._stores)
        # A process that begins takes the names of entities from the link index.
        links = cast("LinkIndex", LazyProxy(lambda: self._derived.links))
        names = EntityNames(links, Lock())
        view = note_view_for(settings)
        self._ctx = SyncContext(
            vault, store, archive, clock, policy, names, view, background=run_in_thread
        )

    def _open_vault(self) -> Vault:
        from vaultsync.backends.filesystem.vault_fs import VaultFs

        settings = self.settings
        vault = VaultFs(
            settings.root, ignore=settings.ignore, max_bytes=int(settings.max_note_bytes)
        )
        self._closing.callback(vault.close)
        if self._app is not None:
            from vaultsync.backends.obsidian.vault_through_app import VaultThroughApp

            return VaultThroughApp(vault, self._app)
        return vault

    def _open_store(self, *, create: bool = False) -> Store:
        store = self._stores.open(create=create)
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

    @cached_property
    def _accesses(self) -> AccessCounter:
        from vaultsync.backends.state.recall_log import FileRecallLog
        from vaultsync.recall.access_counts import AccessCounter

        log = FileRecallLog(self.settings.state_dir)
        return AccessCounter(self._ctx, log, index=lambda: self._derived.words)
