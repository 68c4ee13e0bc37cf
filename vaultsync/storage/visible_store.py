"""The store as one agent may see it, from which data for that agent is derived."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vaultsync.errors import FactNotFoundError
from vaultsync.model.fact import Fact
from vaultsync.model.permissions import Reader
from vaultsync.storage.read_only_store import ReadOnlyStore
from vaultsync.storage.store import Store, StoreState


class VisibleStore(ReadOnlyStore):
    """A read-only view of a store, without facts that an agent cannot see.

    Implements `Store`; the contract is in `storage/store.py`. The feed names all facts: a
    reader finds those that it may not see as if they were deleted.
    """

    def __init__(self, store: Store, reader: Reader) -> None:
        self._store = store
        self._reader = reader
        # These show nothing of a fact.
        self.feed = store.feed
        self.last_write = store.last_write
        self.revision_at = store.revision_at
        self.was_applied = store.was_applied
        self.damaged = store.damaged

    def state(self) -> StoreState:
        """The state, with an id of the agent's own."""
        state = self._store.state()
        return state._replace(store_id=f"{state.store_id}~{self._reader.key}")

    def get(self, fact_id: str) -> Fact:
        """The fact. Raises FactNotFoundError."""
        fact = self.find_many([fact_id]).get(fact_id)
        if fact is None:
            raise FactNotFoundError(fact_id)
        return fact

    def find_many(self, fact_ids: Iterable[str]) -> dict[str, Fact]:
        """Those of the facts that exist and are visible."""
        found = self._store.find_many(fact_ids)
        return {key: fact for key, fact in found.items() if self._reader.reads(fact.scope)}

    def tombstone(self, fact_id: str) -> Fact | None:
        """The last version of a deleted fact."""
        fact = self._store.tombstone(fact_id)
        return fact if fact is not None and self._reader.reads(fact.scope) else None

    def iter_facts(
        self, after: str = "", *, newest: bool = False, deleted: bool = False
    ) -> Iterator[Fact]:
        """All visible facts."""
        for fact in self._store.iter_facts(after, newest=newest, deleted=deleted):
            if self._reader.reads(fact.scope):
                yield fact
