"""The names of all entities, known by the number of the store's feed they are of.

Kept in memory by a process that stays, and taken from the link index by one that begins:
no write of an agent ever looks at all facts because of them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from vaultsync.errors import DerivedError
from vaultsync.storage.feed_cursor import make_version, seq_of_version

if TYPE_CHECKING:  # every opened vault has one of these, and few are ever asked
    from vaultsync.links.mentions import Mention, NameMatcher
    from vaultsync.links.ports import EntityRecord, LinkIndex
    from vaultsync.storage.store import Store, StoreState

REBUILD_FEED_ROWS = 500
"""Rows of the feed from which on the link index is brought up first."""


class EntityNames:
    """Who is called what. Any number of threads may ask."""

    def __init__(self, links: LinkIndex | None = None) -> None:
        self._links = links
        self._lock = threading.Lock()
        self._version = ""
        """What they are of, as `follow.version_at()` names it."""
        self._seq = 0
        self._entities: dict[str, EntityRecord] = {}
        self._names: NameMatcher
        self._titles: dict[str, set[str]] = {}

    def mentions(self, store: Store, text: str) -> list[Mention]:
        """Everywhere that a text may mention an entity, by the ids of those it may mean.

        Raises:
            StoreUnavailableError: the store does not answer.
        """
        with self._lock:
            self._refresh(store)
            return self._names.mentions(text)

    def find(self, fact_ids: Iterable[str]) -> Mapping[str, EntityRecord]:
        """Those of the facts that are entities, as of the last question."""
        with self._lock:
            known = self._entities
            return {key: known[key] for key in fact_ids if key in known}

    def same_named(self, name: str) -> set[str]:
        """The ids of all entities of that very name, whatever its case."""
        from vaultsync.links.wikilinks import fold_case  # noqa: PLC0415 - see above

        with self._lock:
            return set(self._titles.get(fold_case(name), ()))

    def _refresh(self, store: Store) -> None:
        from vaultsync.links.index_sync import LINK_INDEX_SCHEMA, entity_of_fact  # noqa: PLC0415 - see above

        state = store.state()
        if make_version(store, state.store_id, self._seq, LINK_INDEX_SCHEMA) != self._version:
            self._begin(store, state)
        if state.seq == self._seq:
            return
        rows = store.feed(self._seq)
        facts = store.find_many([row.fact_id for row in rows if not row.deleted])
        for row in rows:
            fact = facts.get(row.fact_id)
            self._set(row.fact_id, entity_of_fact(fact) if fact else None)
        self._seq = max([state.seq, *(row.seq for row in rows)])
        self._version = make_version(store, state.store_id, self._seq, LINK_INDEX_SCHEMA)

    def _begin(self, store: Store, state: StoreState) -> None:
        """Forget everything, and take what the link index knows."""
        from vaultsync.links.index_sync import LINK_INDEX_SCHEMA, update_link_index  # noqa: PLC0415 - see above
        from vaultsync.links.mentions import NameMatcher  # noqa: PLC0415 - see above

        self._seq = 0
        self._entities, self._names, self._titles = {}, NameMatcher(), {}
        self._version = make_version(store, state.store_id, 0, LINK_INDEX_SCHEMA)
        if self._links is None:
            return
        try:
            version = self._links.version()
            seen = seq_of_version(store, state.store_id, version, LINK_INDEX_SCHEMA)
            if state.seq - (seen or 0) > REBUILD_FEED_ROWS:
                update_link_index(store, self._links)
                version = self._links.version()
                seen = seq_of_version(store, state.store_id, version, LINK_INDEX_SCHEMA)
            if version is None or seen is None:
                return
            for entity in self._links.entities():
                self._set(entity.fact_id, entity)
            self._seq, self._version = seen, version
        except (DerivedError, OSError):
            return  # the feed tells it all, only slower

    def _set(self, fact_id: str, entity: EntityRecord | None) -> None:
        from vaultsync.links.wikilinks import fold_case  # noqa: PLC0415 - see above

        old = self._entities.pop(fact_id, None)
        if old is not None:
            self._names.drop(fact_id, old.names)
            self._titles[fold_case(old.names[0])].discard(fact_id)
        if entity is not None:
            self._entities[fact_id] = entity
            self._names.add(fact_id, entity.names)
            self._titles.setdefault(fold_case(entity.names[0]), set()).add(fact_id)
