"""Choosing the store by its setting, and what else lives in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from vaultsync.backends.sqlite.sqlite_store import SqliteStore
from vaultsync.errors import ConfigError, EmbedderError, StoreUnavailableError
from vaultsync.settings import Settings

if TYPE_CHECKING:
    from vaultsync.backends.qdrant.connection import QdrantConnection
    from vaultsync.backends.qdrant.operations import PointCollection
    from vaultsync.indexing.ports import Embedder
    from vaultsync.storage.clock import Clock
    from vaultsync.storage.store import Store


class StoreFactory:
    """The store of a vault, and the collection in which it is, if it is in one."""

    def __init__(
        self, settings: Settings, clock: Clock, embedder: Callable[[], Embedder | None]
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._embedder = embedder
        self._place: QdrantConnection | None = None
        if is_qdrant(settings.store):
            from vaultsync.backends.qdrant.connection import parse_qdrant_settings

            self._place = parse_qdrant_settings(settings.store, settings.qdrant, root=settings.root)
        self._points: PointCollection | None = None
        self.where = str(self._place or _sqlite_path(settings))
        """The file or the collection, to be shown."""

    @property
    def points(self) -> PointCollection | None:
        """The collection of a Qdrant; None for another store. Nothing is loaded yet."""
        if self._points is None and self._place is not None:
            if self._place.kind == "edge":
                from vaultsync.backends.qdrant.edge import EdgePointCollection

                self._points = EdgePointCollection(self._place, clock=self._clock)
            else:
                from vaultsync.backends.qdrant.client import ClientPointCollection

                self._points = ClientPointCollection(self._place, clock=self._clock)
        return self._points

    def open(self, *, create: bool) -> Store:
        """The store; where there is none, it is away, or made with `create`.

        A store that was there before and is gone now is away: an empty one in its place
        would look as if every fact had been lost.
        """
        create = create or not (self._settings.state_dir / "archive.sqlite3").exists()
        if self.points is not None:
            from vaultsync.backends.qdrant.qdrant_store import QdrantStore

            return QdrantStore(
                self.points, clock=self._clock, create=create, dimension=self.dimension
            )
        path = Path(self.where)
        try:
            return SqliteStore.open(path, clock=self._clock, create=create or path.exists())
        except StoreUnavailableError as away:
            from vaultsync.backends.sqlite.unavailable import UnavailableStore

            return UnavailableStore(away.why)

    def purge(self, store: Store) -> int:
        """Forget tombstones whose time is over, where a store has one; how many."""
        purge = getattr(store, "purge", None)
        if purge is None or self._place is None:
            return 0
        return int(purge(days=self._place.settings.retention_days))

    def dimension(self) -> int:
        """The length of the vectors that a new collection is made for."""
        from vaultsync.backends.qdrant.connection import DEFAULT_DIMENSION

        try:
            embedder = self._embedder()
            known = embedder.dimension if embedder is not None else None
        except EmbedderError:
            known = None
        return known or DEFAULT_DIMENSION


def is_qdrant(url: str) -> bool:
    """Whether a setting of a store names a Qdrant."""
    return url.startswith(("qdrant:", "qdrant+"))


def check_store(store: str, *, root: Path) -> None:
    """See that a setting names a store; nothing is opened.

    Raises:
        ConfigError: it names none.
    """
    from vaultsync.backends.system.system_clock import SystemClock

    StoreFactory(Settings(root=root, state_dir=root, store=store), SystemClock(), lambda: None)


def _sqlite_path(settings: Settings) -> str:
    """Where the SQLite file of a store is."""
    kind, _, path = settings.store.partition(":")
    if kind != "sqlite":
        raise ConfigError(
            f"there is no store {settings.store!r}",
            hint="use sqlite, sqlite:PATH, qdrant://HOST:6333, qdrant+local:PATH or"
            " qdrant+edge:PATH",
        )
    if not path:
        return str(settings.state_dir / "store.sqlite3")
    return str((settings.root / Path(path).expanduser()).absolute())
