"""The store that is not there: whatever it is asked, it says so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NoReturn

from vaultsync.errors import StoreUnavailableError
from vaultsync.model.fact import Fact
from vaultsync.storage.store import RevisionMismatch, StoreState, Write, Written


class StoreAway:
    """Stands in for a store that could not be opened, so that work goes on without it."""

    def __init__(self, why: str) -> None:
        self._why = why

    def _away(self) -> NoReturn:
        raise StoreUnavailableError(self._why)

    def state(self) -> StoreState:
        """Not known."""
        self._away()

    def feed(self, since: int = 0) -> list[Written]:  # noqa: ARG002 - the port's words
        """Not known."""
        self._away()

    def written(self, fact_id: str) -> Written | None:  # noqa: ARG002 - the port's words
        """Not known."""
        self._away()

    def revision_at(self, seq: int) -> str | None:  # noqa: ARG002 - the port's words
        """Not known."""
        self._away()

    def get(self, fact_id: str) -> Fact:  # noqa: ARG002 - the port's words
        """Not known."""
        self._away()

    def find_many(self, fact_ids: Iterable[str]) -> dict[str, Fact]:  # noqa: ARG002
        """Not known."""
        self._away()

    def buried(self, fact_id: str) -> Fact | None:  # noqa: ARG002 - the port's words
        """Not known."""
        self._away()

    def iter_facts(self, after: str = "") -> Iterator[Fact]:  # noqa: ARG002
        """Not known."""
        self._away()

    def write(self, writes: Sequence[Write]) -> list[str | RevisionMismatch]:  # noqa: ARG002
        """Not done."""
        self._away()

    def did(self, fact_id: str, op: str) -> bool:  # noqa: ARG002 - the port's words
        """Not known."""
        self._away()

    def close(self) -> None:
        """Nothing to let go of."""
