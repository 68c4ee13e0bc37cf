"""A read-only store of past versions of facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from vaultsync.errors import FactNotFoundError
from vaultsync.model.fact import Fact
from vaultsync.storage.read_only_store import ReadOnlyStore
from vaultsync.storage.store import FeedRow, StoreState


class PastStore(ReadOnlyStore):
    """Serves past versions of facts. Implements `Store`, see `storage/store.py`.

    Args:
        facts: by id, each in the version that held.
        store_id: the id of the store that they are from.
        at: the time, which is part of the id of this one.
    """

    def __init__(self, facts: Mapping[str, Fact], *, store_id: str, at: str) -> None:
        self._facts = dict(sorted(facts.items()))
        self._rows = [
            FeedRow(seq, fact.id, fact.revision, deleted=False, actor="", at=at)
            for seq, fact in enumerate(self._facts.values(), 1)
        ]
        newest = self._rows[-1].revision if self._rows else ""
        self._state = StoreState(f"{store_id}@{at}", len(self._rows), len(self._rows), newest)

    def state(self) -> StoreState:
        """The state, with an id of its own."""
        return self._state

    def feed(self, since: int = 0) -> list[FeedRow]:
        """A row for each fact, by id."""
        return self._rows[since:]

    def last_write(self, fact_id: str) -> FeedRow | None:
        """The row of one fact."""
        return next((row for row in self._rows if row.fact_id == fact_id), None)

    def revision_at(self, seq: int) -> str | None:
        """The revision in a row."""
        return self._rows[seq - 1].revision if 0 < seq <= len(self._rows) else None

    def get(self, fact_id: str) -> Fact:
        """The fact. Raises FactNotFoundError."""
        if fact_id not in self._facts:
            raise FactNotFoundError(fact_id)
        return self._facts[fact_id]

    def find_many(self, fact_ids: Iterable[str]) -> dict[str, Fact]:
        """Those of the facts that there are."""
        return {each: self._facts[each] for each in fact_ids if each in self._facts}

    def tombstone(self, fact_id: str) -> Fact | None:  # noqa: ARG002 - the contract
        """None: what was deleted is not in it."""
        return None

    def iter_facts(
        self, after: str = "", *, newest: bool = False, deleted: bool = False
    ) -> Iterator[Fact]:
        """All facts, by id; no deleted ones."""
        ids = [] if deleted else sorted(self._facts, reverse=newest)
        starts = (x for x in ids if not after or (x < after if newest else x > after))
        return (self._facts[each] for each in starts)

    def damaged(self) -> Mapping[str, str]:
        """None."""
        return {}

    def was_applied(self, fact_id: str, op: str) -> bool:
        """Not supported."""
        raise NotImplementedError
