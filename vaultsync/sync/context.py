"""The context of every use case: vault, store, archive, clock, and the settings of a sync."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field

from vaultsync.errors import NoteError
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.permissions import Permissions
from vaultsync.model.schema import DEFAULT_TYPE
from vaultsync.model.scope import PUBLIC
from vaultsync.notes.view import IDENTITY_VIEW, NoteView
from vaultsync.storage.clock import time_text
from vaultsync.storage.store_view import StoreView

if TYPE_CHECKING:  # questions have a context too, and need few of these
    from vaultsync.links.entity_names import EntityNames
    from vaultsync.links.wikilinks import LinkResolver
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
    """Seconds after which a note that looks half saved counts as an edit."""
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

    def keep(self, *files: NoteFile) -> None:
        """Keep the bytes of files in the archive, in a transaction of its own."""
        with self.archive.transaction():
            self.archive.put_blobs({file.sha: file.data for file in files})

    def set_setting(self, key: str, value: str | None) -> None:
        """Set a setting of the archive, in a transaction of its own."""
        with self.archive.transaction():
            self.archive.set_setting(key, value)

    def ids(self, targets: frozenset[str], source: VaultPath) -> Mapping[str, str]:
        """Link target -> fact, for the links of a note, without broken links."""
        from vaultsync.links.wikilinks import LinkResolver  # noqa: PLC0415 - see above

        if not targets:
            return {}
        names_of = {target: target.partition("#")[0] for target in targets}
        paths = self.archive.paths_called([*names_of.values(), source])
        names = LinkResolver.of(paths)
        ids_by_target = {}
        for target, name in names_of.items():
            path = names.resolve(name, source)
            if path is not None:
                ids_by_target[target] = paths[path]
        return ids_by_target


class LinkTexts:
    """The texts of links to facts that have notes or get them in the same run."""

    def __init__(
        self,
        ctx: SyncContext,
        planned: Mapping[str, Fact],
        paths: Mapping[str, VaultPath] = MappingProxyType({}),
    ) -> None:
        """Links to existing notes, to `planned` ones, and to those with planned `paths`."""
        self._ctx = ctx
        self._planned = planned
        self._paths = paths
        self._view = ctx.view
        self._facts: Mapping[str, Fact] = {}
        self._planned_names: Mapping[str, Sequence[VaultPath]] | None = None
        """`name_key()` -> the planned paths with that name."""
        self._names: LinkResolver | None = None

    def prepare(self, fact_ids: Iterable[str]) -> None:
        """Look up all facts to link to, in one call."""
        ids = list(fact_ids)
        bases = self._ctx.archive.find_bases(ids) if ids else {}
        facts = {key: base.fact for key, base in bases.items()}
        facts |= {key: self._planned[key] for key in ids if key in self._planned}
        planned_ids = [key for key in ids if key in self._paths and key not in facts]
        found = self._ctx.store.find_many(planned_ids) if planned_ids else {}
        facts |= {key: x.evolve(path=self._paths[key]) for key, x in found.items()}
        self._facts, self._names = facts, None

    def to(self, fact_ids: Sequence[str]) -> Mapping[str, str]:
        """The text of the link to each fact that was looked up; without a note it has none."""
        from vaultsync.links.wikilinks import is_linkable, wiki_link  # noqa: PLC0415 - see above

        if not fact_ids:
            return {}
        if self._names is None:
            self._names = self._resolver()
        texts = {}
        for key in fact_ids:
            fact = self._facts.get(key)
            if fact is None or fact.path is None:
                continue
            text = self._names.link_text(fact.path)
            if is_linkable(text):
                texts[key] = wiki_link(text, self._view.to_note(fact).title)
        return texts

    def _resolver(self) -> LinkResolver:
        """A resolver for the facts that were looked up; notes with other names cannot matter."""
        from vaultsync.links.wikilinks import LinkResolver, name_key  # noqa: PLC0415 - see above

        if self._planned_names is None:
            planned = defaultdict[str, list[VaultPath]](list)
            written = (fact.path for fact in self._planned.values() if fact.path)
            for path in (*written, *self._paths.values()):
                planned[name_key(path)].append(path)
            self._planned_names = planned
        names = {name_key(fact.path) for fact in self._facts.values() if fact.path}
        found = (path for name in names for path in self._planned_names.get(name, ()))
        return LinkResolver.of({*self._ctx.archive.paths_called(names), *found})
