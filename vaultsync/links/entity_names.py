"""The names of all entities, kept in memory and updated from the store's feed.

A new process loads them from the link index, so that no write of an agent reads all facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from vaultsync.errors import DerivedError
from vaultsync.model.paths import fold_case
from vaultsync.storage.feed_cursor import make_version, seq_of_version, version_of

if TYPE_CHECKING:  # every opened vault has one of these, and a cold recall never uses it
    from vaultsync.links.mentions import Mention, NameMatcher
    from vaultsync.links.ports import EntityRecord, LinkIndex
    from vaultsync.storage.store import Store, StoreState

REBUILD_FEED_ROWS = 500
"""Feed rows from which on the link index is updated first."""


class EntityNames:
    """Which entities have which names.

    Args:
        links: the index to load from; without it, everything is read from the feed.
        lock: held during every call, so that threads can share the object.
    """

    def __init__(
        self, links: LinkIndex | None = None, lock: AbstractContextManager[object] | None = None
    ) -> None:
        self._links = links
        self._lock = lock or nullcontext()
        self._version = ""
        """The version of the store, as by `make_version()`."""
        self._seq = 0
        self._entities: dict[str, EntityRecord] = {}
        self._names: NameMatcher
        self._by_title: dict[str, set[str]] = {}

    def mentions(self, store: Store, text: str) -> list[Mention]:
        """Every place where a text may mention entities, with the ids of those.

        Raises:
            StoreUnavailableError: the store does not answer.
        """
        with self._lock:
            self._update(store)
            return self._names.mentions(text)

    def find(self, fact_ids: Iterable[str]) -> Mapping[str, EntityRecord]:
        """Those of the facts that are entities, as of the last `mentions()`."""
        with self._lock:
            return {key: self._entities[key] for key in fact_ids if key in self._entities}

    def same_named(self, name: str) -> set[str]:
        """The ids of all entities with a title, whatever its case."""
        with self._lock:
            return set(self._by_title.get(fold_case(name), ()))

    def _update(self, store: Store) -> None:
        from vaultsync.links.index_sync import LINK_INDEX_SCHEMA, entity_of_fact  # noqa: PLC0415 - see above

        state = store.state()
        if version_of(state.store_id, state, LINK_INDEX_SCHEMA) == self._version:
            return
        if make_version(store, state.store_id, self._seq, LINK_INDEX_SCHEMA) != self._version:
            self._load(store, state)
        if state.seq == self._seq:
            return
        rows = store.feed(self._seq)
        facts = store.find_many([row.fact_id for row in rows if not row.deleted])
        for row in rows:
            fact = facts.get(row.fact_id)
            self._put(row.fact_id, entity_of_fact(fact) if fact else None)
        end = rows[-1] if rows else state
        self._seq, self._version = end.seq, version_of(state.store_id, end, LINK_INDEX_SCHEMA)

    def _load(self, store: Store, state: StoreState) -> None:
        """Start again with the entities of the link index."""
        from vaultsync.links.index_sync import LINK_INDEX_SCHEMA, update_link_index  # noqa: PLC0415 - see above
        from vaultsync.links.mentions import NameMatcher  # noqa: PLC0415 - see above

        self._seq = 0
        self._entities, self._names, self._by_title = {}, NameMatcher(), {}
        self._version = make_version(store, state.store_id, 0, LINK_INDEX_SCHEMA)
        if self._links is None:
            return
        try:
            version = self._links.version()
            seq = seq_of_version(store, state.store_id, version, LINK_INDEX_SCHEMA)
            if state.seq - (seq or 0) > REBUILD_FEED_ROWS:
                update_link_index(store, self._links)
                version = self._links.version()
                seq = seq_of_version(store, state.store_id, version, LINK_INDEX_SCHEMA)
            if version is None or seq is None:
                return
            entities = self._links.entities()
            if self._links.version() != version:
                return  # another process may have cleared it meanwhile
            for entity in entities:
                self._put(entity.fact_id, entity)
            self._seq, self._version = seq, version
        except (DerivedError, OSError):
            return  # the feed has everything too; reading it takes longer

    def _put(self, fact_id: str, entity: EntityRecord | None) -> None:
        """Replace the names of a fact, or drop them if it is no entity (any more)."""
        old = self._entities.pop(fact_id, None)
        if old is not None:
            self._names.drop(fact_id, old.names)
            self._by_title[fold_case(old.names[0])].discard(fact_id)
        if entity is not None:
            self._entities[fact_id] = entity
            self._names.add(fact_id, entity.names)
            self._by_title.setdefault(fold_case(entity.names[0]), set()).add(fact_id)
