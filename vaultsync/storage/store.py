"""The store: the facts, for machines."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, ParamSpec, Protocol

from vaultsync.model.fact import Fact


class FeedRow(NamedTuple):
    """A row of the store's change feed: the last write of one fact."""

    seq: int
    """Grows with every write; the newest of a fact only is in the feed."""
    fact_id: str
    revision: str
    deleted: bool
    actor: str
    """Who wrote it: an agent, or `vault` for the mirror."""
    at: str


class StoreState(NamedTuple):
    """How far the feed of a store goes, and how much it holds."""

    store_id: str
    """The id of this store, which no other store has."""
    seq: int
    """The newest row of the feed; 0 in an empty store."""
    facts: int
    """How many facts there are, tombstones not counted."""
    revision: str
    """The revision of the newest row; empty in an empty store."""


class StoreWrite(NamedTuple):
    """One conditional write."""

    fact_id: str
    fact: Fact | None
    """The new version; None makes a tombstone, which keeps the last version."""
    expect: str | None
    """The revision that this replaces; None if the id must be new to the store."""
    actor: str
    needs: str | None = None
    """The fact of an earlier write of the batch; if that is refused, so is this one."""
    op: str = ""
    """The id of the write, by which `last_ops` shows that it was done if the answer was lost."""
    recorded: bool = False
    """Whether the writer's archive has the version that this replaces, or is about to: the
    store need not keep it then."""


class AccessCount(NamedTuple):
    """How often a fact was used, and when it was last."""

    times: int
    at: str
    """ISO 8601, in UTC; empty when it is not known."""


class ReplacedVersion(NamedTuple):
    """A version of a fact that a later write replaced or deleted."""

    seq: int
    """The number of the write that made it."""
    fact: Fact
    """With its revision."""
    actor: str
    """Who wrote it."""
    at: str


class Store(Protocol):
    """The facts. Any number of processes may use one store at once.

    A fact that was deleted is a *tombstone*: `find` does not return it, the feed names
    it, and it can be written again with its last revision as `expect`. Every method may
    raise `StoreUnavailableError`; the write may then have happened or not.

    The counts of uses are kept beside the facts: they are outside of revisions and of the
    feed. A fact is read with whichever is larger, the count it was written with or the one
    beside it, so no write takes a count back.
    """

    def state(self) -> StoreState:
        """The state of the store."""

    def feed(self, since: int = 0) -> list[FeedRow]:
        """The last write of each fact written after `since`, tombstones too, by seq."""

    def last_write(self, fact_id: str) -> FeedRow | None:
        """The last write of one fact; None if the store never had it."""

    def revision_at(self, seq: int) -> str | None:
        """The revision that was written under a number; None if there was none, or it is pruned.

        It tells a store that was restored from a backup, and written to since, from the
        one that was seen: the numbers are the same, the revisions are not.
        """

    def get(self, fact_id: str) -> Fact:
        """The fact, with its `revision`.

        Raises:
            FactNotFoundError: unknown, or a tombstone.
            DamagedFactError: its row is damaged.
        """

    def find_many(self, fact_ids: Iterable[str]) -> dict[str, Fact]:
        """Those of the facts that exist."""

    def tombstone(self, fact_id: str) -> Fact | None:
        """The last version of a deleted fact, with the tombstone's revision; None if none."""

    def iter_facts(
        self, after: str = "", *, newest: bool = False, deleted: bool = False
    ) -> Iterator[Fact]:
        """All facts with an id greater than `after`, by id.

        With `newest` from the greatest id down: all below `after`, or all when that is empty.
        With `deleted` the last versions of deleted facts, in place of facts.
        """

    def write(self, writes: Sequence[StoreWrite]) -> list[str | RevisionMismatch]:
        """Do each write whose condition holds, all in one durable transaction.

        Returns one new revision, or the reason of a refusal, per write, in order.
        The new revisions differ from all earlier ones of the fact. `path` and
        `revision` of the given facts are not held.
        """

    def last_ops(self, fact_ids: Iterable[str]) -> dict[str, str]:
        """The `op` of the last write of each fact that had one; facts without one are left out.

        It proves that this write was done, whatever writes without an `op` followed it.
        """

    def count_accesses(self, counts: Mapping[str, AccessCount], op: str) -> int:
        """Add to the counts of facts; returns how many there are among them.

        `op` names the batch: one that is counted again, because the answer was lost, counts
        once, unless another was counted for the same fact in between.
        """

    def replaced_ids(self) -> list[str]:
        """The ids of facts with replaced versions, by the seq of the first one."""

    def replaced_versions(self, fact_ids: Iterable[str]) -> list[ReplacedVersion]:
        """The versions of some facts that were replaced and have to be recorded, by seq.

        A write keeps the version that it replaces, in the same transaction, unless it is
        `recorded` or says the same. In a collection that many machines use, a version may
        already be listed while its replacement is on its way.
        """

    def drop_replaced(self, revisions: Iterable[str]) -> None:
        """Forget replaced versions, which are recorded elsewhere now."""

    def damaged(self) -> Mapping[str, str]:
        """The facts whose rows were damaged when they were last read here -> why.

        Reading leaves them out, but for `get`; the feed and `last_write` may still name them.
        A write with the revision that they name replaces such a row.
        """

    def close(self) -> None:
        """Close the store; harmless when repeated."""


def with_accesses(fact: Fact, count: AccessCount | None) -> Fact:
    """The fact with the count that is kept beside it, where that is larger."""
    if count is None:
        return fact
    return fact.evolve(
        access_count=max(fact.access_count, count.times),
        last_accessed_at=max(fact.last_accessed_at or "", count.at) or None,
    )


def with_count_of(fact: Fact, other: Fact | None) -> Fact:
    """The fact with the count of uses of another version of it, where that is larger."""
    if other is None:
        return fact
    return with_accesses(fact, AccessCount(other.access_count, other.last_accessed_at or ""))


class RevisionMismatch(NamedTuple):
    """A write was refused: the fact is at another revision."""

    fact_id: str
    found: str | None


FACTS_AT_ONCE = 100
"""The number of facts whose replaced versions, which may be many, are in memory at once."""


def iter_replaced(store: Store) -> Iterator[list[ReplacedVersion]]:
    """All replaced versions, those of some facts at a time."""
    ids = store.replaced_ids()
    for start in range(0, len(ids), FACTS_AT_ONCE):
        yield store.replaced_versions(ids[start : start + FACTS_AT_ONCE])


P = ParamSpec("P")
_log = logging.getLogger(__name__)
_ERRORS = (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError)
"""The errors of decoding a fact from invalid text."""
MAX_REASON_CHARS = 100


class DamagedRows:
    """The damaged rows that an open store has met, which no longer hold a fact.

    The disk or another program damaged them. A damaged row does not affect others: it is left
    out, and named where it matters.
    """

    def __init__(self) -> None:
        self._reasons: dict[str, str] = {}
        self.reasons: Mapping[str, str] = MappingProxyType(self._reasons)
        """The id of each fact that could not be read the last time -> why."""

    def read(
        self, fact_id: str, read: Callable[P, Fact | None], *given: P.args, **named: P.kwargs
    ) -> Fact | None:
        """What `read` returns for a row and the other arguments; None for a damaged row.

        `read` decodes the fact; it returns None if the row should have none.
        """
        try:
            fact = read(*given, **named)
        except _ERRORS as error:
            why = f"{type(error).__name__}: {error}"[:MAX_REASON_CHARS]
        else:
            if fact is None or fact.id == fact_id:
                self._reasons.pop(fact_id, None)
                return fact
            why = "it does not contain a fact with that id"
        if fact_id not in self._reasons:
            _log.warning("the row of fact %s is damaged and was skipped", fact_id)
        self._reasons[fact_id] = why
        return None
