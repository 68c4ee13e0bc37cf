"""The store that is not there: whatever it is asked, it says so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NoReturn

from vaultsync.errors import StoreUnavailableError
from vaultsync.model.fact import Fact
from vaultsync.storage.store import FeedRow, RevisionMismatch, StoreState, StoreWrite


class UnavailableStore:
    """Stands in for a store that could not be opened, so that work goes on without it."""

    def __init__(self, why: str) -> None:
        self._why = why

    def _unavailable(self) -> NoReturn:
        raise StoreUnavailableError(self._why)

    def state(self) -> StoreState:
        self._unavailable()

    def feed(self, since: int = 0) -> list[FeedRow]:  # noqa: ARG002 - the port's words
        self._unavailable()

    def last_write(self, fact_id: str) -> FeedRow | None:  # noqa: ARG002 - the port's words
        self._unavailable()

    def revision_at(self, seq: int) -> str | None:  # noqa: ARG002 - the port's words
        self._unavailable()

    def get(self, fact_id: str) -> Fact:  # noqa: ARG002 - the port's words
        self._unavailable()

    def find_many(self, fact_ids: Iterable[str]) -> dict[str, Fact]:  # noqa: ARG002
        self._unavailable()

    def tombstone(self, fact_id: str) -> Fact | None:  # noqa: ARG002 - the port's words
        self._unavailable()

    def iter_facts(self, after: str = "") -> Iterator[Fact]:  # noqa: ARG002
        self._unavailable()

    def write(self, writes: Sequence[StoreWrite]) -> list[str | RevisionMismatch]:  # noqa: ARG002
        self._unavailable()

    def was_applied(self, fact_id: str, op: str) -> bool:  # noqa: ARG002 - the port's words
        self._unavailable()

    def close(self) -> None:
        """Nothing to let go of."""
