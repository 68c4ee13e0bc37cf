"""The context of every use case: vault, store, archive, clock, and the settings of a sync."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field

from vaultsync.errors import NoteError
from vaultsync.model.paths import VaultPath
from vaultsync.model.permissions import Permissions
from vaultsync.model.schema import DEFAULT_TYPE
from vaultsync.model.scope import PUBLIC
from vaultsync.notes.view import IDENTITY_VIEW, NoteView
from vaultsync.storage.clock import time_text
from vaultsync.storage.store_view import StoreView

if TYPE_CHECKING:  # questions have a context too, and need few of these
    from vaultsync.links.entity_names import EntityNames
    from vaultsync.storage.archive import Archive
    from vaultsync.storage.clock import Clock
    from vaultsync.storage.store import Store
    from vaultsync.storage.vault import NoteFile, Vault


class SyncPolicy(NamedTuple):
    """The settings of a sync."""

    default_scope: str = PUBLIC
    default_type: str = DEFAULT_TYPE
    linger_seconds: float = 60.0
    """Seconds for which a displaced file is kept in case an editor still writes to it."""
    settle_seconds: float = 30.0
    """Seconds after which a note that looks partly saved counts as an edit."""
    grace_seconds: float = 1.0
    """Minimum seconds between the two scans that find a note deleted."""
    max_note_bytes: int = 4 << 20
    """Maximum size in bytes of a note that is read, or written for an agent."""
    batch: int = 1000
    """Number of actions that share one wait for the disk."""
    auto_link: bool = True
    """Whether entities that an agent mentions become links."""
    index_folder: VaultPath = VaultPath("")
    """The folder of the vault that also has the index pages; none if empty."""
    permissions: Permissions = Permissions()
    """The rights of agents by scope."""


class ReadContext(Struct, frozen=True, eq=False):
    """The context of a question: the store, the archive and the clock, but not the vault."""

    store: Store
    archive: Archive
    clock: Clock
    policy: SyncPolicy = SyncPolicy()
    view: NoteView = IDENTITY_VIEW
    """The rules for what notes and answers may show of facts."""

    @property
    def redacted_store(self) -> Store:
        """The store with secrets redacted, as for answers and indexes."""
        if self.view.redactor is None:
            return self.store
        return StoreView(self.store, self.view.version, self.view.redact)

    def now(self) -> str:
        """The time in UTC, to the millisecond; sorts as text."""
        return time_text(self.clock.now(), "milliseconds")

    def today(self) -> str:
        """The time in UTC, to the second, in the format of facts."""
        return time_text(self.clock.now())


def _entity_names() -> EntityNames:
    from vaultsync.links.entity_names import EntityNames  # noqa: PLC0415 - see above

    return EntityNames()


class SyncContext(ReadContext, frozen=True, kw_only=True, eq=False):
    """The context of a sync: both sides, the archive and the settings."""

    vault: Vault
    names: EntityNames = field(default_factory=_entity_names)
    """The names of all entities, for automatic links."""

    def find_file(self, path: VaultPath) -> NoteFile | None:
        """The file at a path; None if there is no readable file."""
        try:
            return self.vault.read(path)
        except NoteError:
            return None

    def keep(self, *versions: bytes) -> None:
        """Keep versions of files in the archive, in a transaction of its own."""
        with self.archive.transaction():
            self.archive.put_blobs({sha256(data).hexdigest(): data for data in versions})

    def set_setting(self, key: str, value: str | None) -> None:
        """Set a setting of the archive, in a transaction of its own."""
        with self.archive.transaction():
            self.archive.set_setting(key, value)
