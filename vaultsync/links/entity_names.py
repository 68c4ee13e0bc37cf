"""The names of all entities, known by the number of the store's feed they are of.

Kept in memory by a process that stays, and taken from the link index by one that begins:
no write of an agent ever looks at all facts because of them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from vaultsync.errors import DerivedError
from vaultsync.storage.feed_cursor import seen_of, version_at

if TYPE_CHECKING:  # every opened vault has one of these, and few are ever asked
    from vaultsync.links.mentions import Mention, Vocabulary
    from vaultsync.links.ports import Entity, LinkIndex
    from vaultsync.storage.store import Store, StoreState

FAR = 500
"""Rows of the feed from which on the link index is brought up first."""


class EntityNames:
    """Who is called what. Any number of threads may ask."""

    def __init__(self, links: LinkIndex | None = None) -> None:
        self._links = links
        self._lock = threading.Lock()
        self._version = ""
        """What they are of, as `follow.version_at()` names it."""
        self._seq = 0
        self._entities: dict[str, Entity] = {}
        self._names: Vocabulary
        self._titles: dict[str, set[str]] = {}

    def mentions(self, store: Store, text: str) -> list[Mention]:
        """Everywhere that a text may mention an entity, by the ids of those it may mean.

        Raises:
            StoreUnavailableError: the store does not answer.
        """
        with self._lock:
            self._refresh(store)
            return self._names.mentions(text)

    def find(self, fact_ids: Iterable[str]) -> Mapping[str, Entity]:
        """Those of the facts that are entities, as of the last question."""
        with self._lock:
            known = self._entities
            return {key: known[key] for key in fact_ids if key in known}

    def twins(self, name: str) -> set[str]:
        """The ids of all entities of that very name, whatever its case."""
        from vaultsync.links.wikilinks import folded  # noqa: PLC0415 - see above

        with self._lock:
            return set(self._titles.get(folded(name), ()))

    def _refresh(self, store: Store) -> None:
        from vaultsync.links.index_sync import SCHEMA, entity_of  # noqa: PLC0415 - see above

        state = store.state()
        if version_at(store, state.store_id, self._seq, SCHEMA) != self._version:
            self._begin(store, state)
        if state.seq == self._seq:
            return
        rows = store.feed(self._seq)
        facts = store.find_many([row.fact_id for row in rows if not row.deleted])
        for row in rows:
            fact = facts.get(row.fact_id)
            self._set(row.fact_id, entity_of(fact) if fact else None)
        self._seq = max([state.seq, *(row.seq for row in rows)])
        self._version = version_at(store, state.store_id, self._seq, SCHEMA)

    def _begin(self, store: Store, state: StoreState) -> None:
        """Forget everything, and take what the link index knows."""
        from vaultsync.links.index_sync import SCHEMA, follow  # noqa: PLC0415 - see above
        from vaultsync.links.mentions import Vocabulary  # noqa: PLC0415 - see above

        self._seq = 0
        self._entities, self._names, self._titles = {}, Vocabulary(), {}
        self._version = version_at(store, state.store_id, 0, SCHEMA)
        if self._links is None:
            return
        try:
            version = self._links.version()
            seen = seen_of(store, state.store_id, version, SCHEMA)
            if state.seq - (seen or 0) > FAR:
                follow(store, self._links)
                version = self._links.version()
                seen = seen_of(store, state.store_id, version, SCHEMA)
            if version is None or seen is None:
                return
            for entity in self._links.entities():
                self._set(entity.fact_id, entity)
            self._seq, self._version = seen, version
        except (DerivedError, OSError):
            return  # the feed tells it all, only slower

    def _set(self, fact_id: str, entity: Entity | None) -> None:
        from vaultsync.links.wikilinks import folded  # noqa: PLC0415 - see above

        old = self._entities.pop(fact_id, None)
        if old is not None:
            self._names.drop(fact_id, old.names)
            self._titles[folded(old.names[0])].discard(fact_id)
        if entity is not None:
            self._entities[fact_id] = entity
            self._names.add(fact_id, entity.names)
            self._titles.setdefault(folded(entity.names[0]), set()).add(fact_id)
