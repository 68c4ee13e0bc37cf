"""The store: the facts, for machines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

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
    """The revision that this replaces; None when the store must not have the id."""
    actor: str
    needs: str | None = None
    """The fact of an earlier write of the same batch: where that is refused, so is this."""
    op: str = ""
    """Names the write, so that `was_applied` can find it when the answer was lost."""


class Store(Protocol):
    """The facts. Any number of processes may use one store at once.

    A fact that was deleted is a *tombstone*: `find` does not return it, the feed names
    it, and it can be written again with its last revision as `expect`. Every method may
    raise `StoreUnavailableError`; the write may then have happened or not.
    """

    def state(self) -> StoreState:
        """The state of the store."""

    def feed(self, since: int = 0) -> list[FeedRow]:
        """The last write of each fact written after `since`, tombstones too, by seq."""

    def last_write(self, fact_id: str) -> FeedRow | None:
        """The last write of one fact; None when the store never knew it."""

    def revision_at(self, seq: int) -> str | None:
        """The revision that was written under a number; None when there was none.

        It tells a store that was restored from a backup, and written to since, from the
        one that was seen: the numbers are the same, the revisions are not.
        """

    def get(self, fact_id: str) -> Fact:
        """The fact, with its `revision`.

        Raises:
            FactNotFoundError: unknown, or a tombstone.
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

    def was_applied(self, fact_id: str, op: str) -> bool:
        """Whether a write of a fact that bore this `op` was done.

        Writes of the fact that followed and bore none change nothing about it; once one
        bore another, the answer is no.
        """

    def close(self) -> None:
        """Close the store; harmless when repeated."""


class RevisionMismatch(NamedTuple):
    """A write was refused: the fact is at another revision."""

    fact_id: str
    found: str | None
