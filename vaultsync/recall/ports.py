"""Contracts of recall: the log of facts that were used, and the reranker, which is optional."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from vaultsync.storage.store import AccessCount


class LoggedUses(NamedTuple):
    """Uses of facts that were logged, as one batch."""

    op: str
    """Names the batch, the same each time that it is read."""
    counts: Mapping[str, AccessCount]
    """By fact id."""


class RecallLog(Protocol):
    """Facts that were used and are not counted yet. Any number of processes use one log.

    No method raises: a use that cannot be logged is not counted.
    """

    def note(self, fact_ids: Iterable[str], at: str) -> None:
        """Log a use of these facts at a time (ISO 8601, UTC); returns at once."""
        ...

    def size(self) -> int:
        """Approximate size in bytes of what was logged; 0 when the log is empty."""
        ...

    def batch(self) -> LoggedUses | None:
        """The oldest batch, which stays in the log until it is dropped; None if there is none.

        What is logged afterwards is in another batch.
        """
        ...

    def drop(self, op: str) -> None:
        """Remove a batch that was counted."""
        ...


class Reranker(Protocol):
    """Scores texts against a question, as a cross-encoder does."""

    candidates: int
    """How many of the best candidates are worth its time."""
    share: float
    """The share of its scores in the similarity, 0 to 1; the rest is of the searches."""

    @property
    def model(self) -> str:
        """Name of the model."""
        ...

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """One score per text, in order; higher is more relevant, on any scale.

        Raises:
            EmbedderError: the model is missing.
        """
        ...
