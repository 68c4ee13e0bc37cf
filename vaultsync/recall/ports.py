"""Contracts of recall: the log of used facts, and the optional reranker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from vaultsync.storage.store import AccessCount


class LoggedUses(NamedTuple):
    """A batch of logged uses of facts."""

    op: str
    """The id of the batch; equal each time it is read."""
    counts: Mapping[str, AccessCount]
    """By fact id."""


class RecallLog(Protocol):
    """Uses of facts that are not counted yet. Any number of processes share one log.

    No method raises: a use that cannot be logged is not counted.
    """

    def note(self, fact_ids: Iterable[str], at: str) -> None:
        """Log a use of these facts at a time (ISO 8601, UTC); returns at once."""
        ...

    def size(self) -> int:
        """Approximate size in bytes; 0 if the log is empty."""
        ...

    def batch(self) -> LoggedUses | None:
        """The oldest batch, which stays in the log until it is dropped; None if there is none.

        Later uses go into another batch.
        """
        ...

    def drop(self, op: str) -> None:
        """Remove a batch that was counted."""
        ...


class Reranker(Protocol):
    """Scores texts against a question, like a cross-encoder."""

    candidates: int
    """The number of best candidates that it should read."""
    share: float
    """The share of its scores in the similarity, 0 to 1; the searches have the rest."""

    @property
    def model(self) -> str:
        """The model's name."""
        ...

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """One score per text, in order; higher is more relevant, on any scale.

        Raises:
            EmbedderError: the model is missing.
        """
        ...
