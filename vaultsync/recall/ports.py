"""Contracts of recall: the log of recalled facts, and the reranker, which is optional."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol


class RecallCount(NamedTuple):
    """How often a fact was recalled, and when last."""

    times: int
    at: str
    """ISO 8601, in UTC."""


class RecallLog(Protocol):
    """Recalled facts that are not counted yet. Any number of processes append and take.

    No method raises: a recall that cannot be logged is not counted.
    """

    def note(self, fact_ids: Iterable[str], at: str) -> None:
        """Log a recall of these facts at a time (ISO 8601, UTC); returns at once."""
        ...

    def size(self) -> int:
        """Approximate size in bytes; 0 when the log is empty."""
        ...

    def take(self) -> dict[str, RecallCount]:
        """Remove and return all that was logged, by fact id; each entry is returned once."""
        ...


class Reranker(Protocol):
    """Scores texts against a question, as a cross-encoder does."""

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
