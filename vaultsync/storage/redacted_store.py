"""The store as answers and indexes see it: without the secrets of its facts.

All code that shows facts, or derives data from them, reads this view; code that decides or writes
uses the store itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from vaultsync.model.fact import Fact
from vaultsync.notes.view import NoteView
from vaultsync.storage.read_only_store import ReadOnlyStore
from vaultsync.storage.store import FeedRow, ReplacedVersion, Store, StoreState

MAX_CACHED_FACTS = 500
"""Maximum number of cached facts: as many as the note index takes in at once."""


class FactCache:
    """A cache of facts for several readers of the same feed rows.

    A cached fact is valid only at the revision that the feed showed last. If the feed shows more
    facts than fit, none is cached, because each reader starts from the first ones.
    """

    def __init__(self) -> None:
        self._facts: dict[str, Fact] = {}
        self._revisions: dict[str, str] = {}
        self._is_useless = False
        """Whether more facts changed than fit."""

    def refresh(self, rows: Sequence[FeedRow]) -> None:
        """Note the newest revisions."""
        self._is_useless = len(rows) > MAX_CACHED_FACTS
        if self._is_useless:
            self._facts.clear()
            self._revisions.clear()
        else:
            self._revisions.update((row.fact_id, row.revision) for row in rows)

    def put(self, facts: Mapping[str, Fact]) -> None:
        """Cache facts, up to the maximum."""
        if not self._is_useless and len(self._facts) + len(facts) <= MAX_CACHED_FACTS:
            self._facts.update(facts)

    def get(self, fact_ids: Iterable[str]) -> dict[str, Fact]:
        """The facts that are cached in their newest revision."""
        facts, revisions = self._facts, self._revisions
        return {
            each: fact
            for each in fact_ids
            if (fact := facts.get(each)) and fact.revision == revisions.get(each)
        }


class RedactedStore(ReadOnlyStore):
    """A read-only view of a store. Implements `Store`; the contract is in `storage/store.py`."""

    def __init__(self, store: Store, view: NoteView, read: FactCache | None = None) -> None:
        self._store = store
        self._view = view
        self._read = read
        # These show nothing of a fact's text.
        self.last_write = store.last_write
        self.revision_at = store.revision_at
        self.was_applied = store.was_applied
        self.damaged = store.damaged

    def state(self) -> StoreState:
        """The state, with an id that includes what is redacted.

        When that changes, everything derived from facts is built from scratch.
        """
        state = self._store.state()
        return state._replace(store_id=f"{state.store_id}~{self._view.version}")

    def feed(self, since: int = 0) -> list[FeedRow]:
        rows = self._store.feed(since)
        if self._read is not None:
            self._read.refresh(rows)
        return rows

    def get(self, fact_id: str) -> Fact:
        """The fact without its secrets. Raises FactNotFoundError."""
        return self._view.redact(self._store.get(fact_id))

    def find_many(self, fact_ids: Iterable[str]) -> dict[str, Fact]:
        """Those of the facts that exist, without their secrets."""
        ids = list(fact_ids)
        cached = self._read.get(ids) if self._read is not None else {}
        facts = self._store.find_many([each for each in ids if each not in cached])
        shown = {key: self._view.redact(fact) for key, fact in facts.items()}
        if self._read is not None:
            self._read.put(shown)
        return cached | shown

    def tombstone(self, fact_id: str) -> Fact | None:
        """The last version of a deleted fact, without its secrets."""
        fact = self._store.tombstone(fact_id)
        return self._view.redact(fact) if fact else None

    def iter_facts(
        self, after: str = "", *, newest: bool = False, deleted: bool = False
    ) -> Iterator[Fact]:
        """All facts, without their secrets."""
        return map(self._view.redact, self._store.iter_facts(after, newest=newest, deleted=deleted))

    def replaced_ids(self) -> list[str]:
        """The ids of facts with versions that no archive has recorded yet."""
        return self._store.replaced_ids()

    def replaced_versions(self, fact_ids: Iterable[str] | None = None) -> list[ReplacedVersion]:
        """The versions that no archive has recorded yet, without their secrets."""
        found = self._store.replaced_versions(fact_ids)
        return [each._replace(fact=self._view.redact(each.fact)) for each in found]
