"""Read-only views of a store: without secrets, or without what an agent may not see.

All code that shows facts, or derives data from them, reads a view; code that decides or writes
uses the store itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from vaultsync.errors import FactNotFoundError
from vaultsync.model.fact import Fact
from vaultsync.model.permissions import Reader
from vaultsync.storage.store import (
    AccessCount,
    ReplacedVersion,
    RevisionMismatch,
    Store,
    StoreState,
    StoreWrite,
)


class ReadOnlyStore:
    """Refuses the methods of a `Store` that write, or serve writers.

    Agents write through `facts/service.py`, which checks them; a sync, which records replaced
    versions, sees all facts.
    """

    def write(self, writes: Sequence[StoreWrite]) -> list[str | RevisionMismatch]:
        raise NotImplementedError

    def count_accesses(self, counts: Mapping[str, AccessCount], op: str) -> int:
        raise NotImplementedError

    def replaced_ids(self) -> list[str]:
        raise NotImplementedError

    def replaced_versions(self, fact_ids: Iterable[str]) -> list[ReplacedVersion]:
        raise NotImplementedError

    def drop_replaced(self, revisions: Iterable[str]) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Do nothing: nothing was opened for it."""


class StoreView(ReadOnlyStore):
    """A store whose facts are as `show` returns them; those for which that is None are hidden.

    The feed names all facts: a reader finds hidden ones as if they were deleted. `key` differs
    when other things are shown: it is part of the store's id, so that everything derived from
    facts is then built from scratch.
    """

    def __init__(self, store: Store, key: str, show: Callable[[Fact], Fact | None]) -> None:
        self._store, self._key, self._show = store, key, show
        # These show nothing of a fact's text.
        self.feed = store.feed
        self.last_write = store.last_write
        self.revision_at = store.revision_at
        self.last_ops = store.last_ops
        self.damaged = store.damaged

    def state(self) -> StoreState:
        state = self._store.state()
        return state._replace(store_id=f"{state.store_id}~{self._key}")

    def get(self, fact_id: str) -> Fact:
        fact = self._show(self._store.get(fact_id))
        if fact is None:
            raise FactNotFoundError(fact_id)
        return fact

    def find_many(self, fact_ids: Iterable[str]) -> dict[str, Fact]:
        found = self._store.find_many(fact_ids).items()
        return {key: shown for key, fact in found if (shown := self._show(fact)) is not None}

    def tombstone(self, fact_id: str) -> Fact | None:
        fact = self._store.tombstone(fact_id)
        return None if fact is None else self._show(fact)

    def iter_facts(
        self, after: str = "", *, newest: bool = False, deleted: bool = False
    ) -> Iterator[Fact]:
        found = map(self._show, self._store.iter_facts(after, newest=newest, deleted=deleted))
        return (fact for fact in found if fact is not None)

    def replaced_ids(self) -> list[str]:
        return self._store.replaced_ids()

    def replaced_versions(self, fact_ids: Iterable[str]) -> list[ReplacedVersion]:
        found = ((each, self._show(each.fact)) for each in self._store.replaced_versions(fact_ids))
        return [each._replace(fact=fact) for each, fact in found if fact is not None]


def visible_store(store: Store, reader: Reader) -> StoreView:
    """A store without the facts that an agent may not see."""
    return StoreView(store, reader.key, lambda x: x if reader.reads(x.scope) else None)
