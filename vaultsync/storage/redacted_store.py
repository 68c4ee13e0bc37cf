"""The store as answers and indexes see it: without the secrets of its facts.

Whatever reads facts to show them, or to derive something from them, reads them here. What
decides and writes reads the store itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from vaultsync.model.fact import Fact
from vaultsync.notes.view import NoteView
from vaultsync.storage.store import FeedRow, RevisionMismatch, Store, StoreState, StoreWrite

MAX_CACHED_FACTS = 10_000
"""Facts that are held at most: as many as the note index takes in at once."""


class FactCache:
    """The facts that were read, for those who want the same ones a moment later.

    A fact that is held is taken only in the revision that the feed told last: what was
    written since is read again.
    """

    def __init__(self) -> None:
        self._facts: dict[str, Fact] = {}
        self._told: dict[str, str] = {}

    def refresh(self, rows: Iterable[FeedRow]) -> None:
        """What the feed tells."""
        self._told.update((row.fact_id, row.revision) for row in rows)

    def put(self, facts: Mapping[str, Fact]) -> None:
        """Hold facts, as long as they are not too many."""
        if len(self._facts) + len(facts) <= MAX_CACHED_FACTS:
            self._facts.update(facts)

    def get(self, fact_ids: Iterable[str]) -> dict[str, Fact]:
        """Those of the facts that are held as they are now."""
        facts, told = self._facts, self._told
        return {
            each: fact
            for each in fact_ids
            if (fact := facts.get(each)) and fact.revision == told.get(each)
        }


class RedactedStore:
    """A store whose facts are seen through a lens; nothing is written to it."""

    def __init__(self, store: Store, view: NoteView, read: FactCache | None = None) -> None:
        self._store = store
        self._view = view
        self._read = read

    def state(self) -> StoreState:
        """As the store's, with an id that says what is hidden, too.

        So what is derived from facts is made anew when something else is hidden.
        """
        state = self._store.state()
        return state._replace(store_id=f"{state.store_id}~{self._view.version}")

    def feed(self, since: int = 0) -> list[FeedRow]:
        """The store's."""
        rows = self._store.feed(since)
        if self._read is not None:
            self._read.refresh(rows)
        return rows

    def last_write(self, fact_id: str) -> FeedRow | None:
        """The store's."""
        return self._store.last_write(fact_id)

    def revision_at(self, seq: int) -> str | None:
        """The store's."""
        return self._store.revision_at(seq)

    def get(self, fact_id: str) -> Fact:
        """The fact without its secrets. Raises FactNotFoundError."""
        return self._view.redact(self._store.get(fact_id))

    def find_many(self, fact_ids: Iterable[str]) -> dict[str, Fact]:
        """Those of the facts that exist, without their secrets."""
        if self._read is None:
            return self._found(fact_ids)
        wanted = list(fact_ids)
        held = self._read.get(wanted)
        found = self._found(each for each in wanted if each not in held)
        self._read.put(found)
        return held | found

    def _found(self, fact_ids: Iterable[str]) -> dict[str, Fact]:
        found = self._store.find_many(fact_ids)
        return {key: self._view.redact(fact) for key, fact in found.items()}

    def tombstone(self, fact_id: str) -> Fact | None:
        """What a tombstone last said, without its secrets."""
        fact = self._store.tombstone(fact_id)
        return self._view.redact(fact) if fact else None

    def iter_facts(self, after: str = "") -> Iterator[Fact]:
        """All facts, without their secrets."""
        return map(self._view.redact, self._store.iter_facts(after))

    def write(self, writes: Sequence[StoreWrite]) -> list[str | RevisionMismatch]:
        """Never: what is hidden here would be lost."""
        raise NotImplementedError

    def was_applied(self, fact_id: str, op: str) -> bool:
        """The store's."""
        return self._store.was_applied(fact_id, op)

    def close(self) -> None:
        """The store is closed by whoever opened it."""
