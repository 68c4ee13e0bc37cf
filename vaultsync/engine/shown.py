"""The store as answers and indexes see it: without the secrets of its facts.

Whatever reads facts to show them, or to derive something from them, reads them here. What
decides and writes reads the store itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from vaultsync.core.fact import Fact
from vaultsync.core.lens import Lens
from vaultsync.ports import RevisionMismatch, Store, StoreState, Write, Written


class ShownStore:
    """A store whose facts are seen through a lens; nothing is written to it."""

    def __init__(self, store: Store, lens: Lens) -> None:
        self._store = store
        self._lens = lens

    def state(self) -> StoreState:
        """As the store's, with an id that says what is hidden, too.

        So what is derived from facts is made anew when something else is hidden.
        """
        state = self._store.state()
        return state._replace(store_id=f"{state.store_id}~{self._lens.version}")

    def feed(self, since: int = 0) -> list[Written]:
        """The store's."""
        return self._store.feed(since)

    def written(self, fact_id: str) -> Written | None:
        """The store's."""
        return self._store.written(fact_id)

    def revision_at(self, seq: int) -> str | None:
        """The store's."""
        return self._store.revision_at(seq)

    def get(self, fact_id: str) -> Fact:
        """The fact without its secrets. Raises FactNotFoundError."""
        return self._lens.hidden(self._store.get(fact_id))

    def find_many(self, fact_ids: Iterable[str]) -> dict[str, Fact]:
        """Those of the facts that exist, without their secrets."""
        found = self._store.find_many(fact_ids)
        return {key: self._lens.hidden(fact) for key, fact in found.items()}

    def buried(self, fact_id: str) -> Fact | None:
        """What a tombstone last said, without its secrets."""
        fact = self._store.buried(fact_id)
        return self._lens.hidden(fact) if fact else None

    def iter_facts(self, after: str = "") -> Iterator[Fact]:
        """All facts, without their secrets."""
        return map(self._lens.hidden, self._store.iter_facts(after))

    def write(self, writes: Sequence[Write]) -> list[str | RevisionMismatch]:
        """Never: what is hidden here would be lost."""
        raise NotImplementedError

    def close(self) -> None:
        """The store is closed by whoever opened it."""
