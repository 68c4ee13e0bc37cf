"""The store as answers and indexes see it: without the secrets of its facts.

Whatever reads facts to show them, or to derive something from them, reads them here. What
decides and writes reads the store itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from vaultsync.model.fact import Fact
from vaultsync.notes.view import Lens
from vaultsync.storage.store import RevisionMismatch, Store, StoreState, Write, Written

HELD = 10_000
"""Facts that are held at most: as many as the note index takes in at once."""


class Read:
    """The facts that were read, for those who want the same ones a moment later.

    A fact that is held is taken only in the revision that the feed told last: what was
    written since is read again.
    """

    def __init__(self) -> None:
        self._facts: dict[str, Fact] = {}
        self._told: dict[str, str] = {}

    def hear(self, rows: Iterable[Written]) -> None:
        """What the feed tells."""
        self._told.update((row.fact_id, row.revision) for row in rows)

    def hold(self, facts: Mapping[str, Fact]) -> None:
        """Hold facts, as long as they are not too many."""
        if len(self._facts) + len(facts) <= HELD:
            self._facts.update(facts)

    def find(self, fact_ids: Iterable[str]) -> dict[str, Fact]:
        """Those of the facts that are held as they are now."""
        facts, told = self._facts, self._told
        return {
            each: fact
            for each in fact_ids
            if (fact := facts.get(each)) and fact.revision == told.get(each)
        }


class ShownStore:
    """A store whose facts are seen through a lens; nothing is written to it."""

    def __init__(self, store: Store, lens: Lens, read: Read | None = None) -> None:
        self._store = store
        self._lens = lens
        self._read = read

    def state(self) -> StoreState:
        """As the store's, with an id that says what is hidden, too.

        So what is derived from facts is made anew when something else is hidden.
        """
        state = self._store.state()
        return state._replace(store_id=f"{state.store_id}~{self._lens.version}")

    def feed(self, since: int = 0) -> list[Written]:
        """The store's."""
        rows = self._store.feed(since)
        if self._read is not None:
            self._read.hear(rows)
        return rows

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
        if self._read is None:
            return self._found(fact_ids)
        wanted = list(fact_ids)
        held = self._read.find(wanted)
        found = self._found(each for each in wanted if each not in held)
        self._read.hold(found)
        return held | found

    def _found(self, fact_ids: Iterable[str]) -> dict[str, Fact]:
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

    def did(self, fact_id: str, op: str) -> bool:
        """The store's."""
        return self._store.did(fact_id, op)

    def close(self) -> None:
        """The store is closed by whoever opened it."""
