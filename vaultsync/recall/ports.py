"""The reranker: a model that reads question and answer together. Optional.

What was recalled, until it is counted. Worth little: it may be lost, and holds up nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol


class RecallCount(NamedTuple):
    """How often a fact was recalled, and when last."""

    times: int
    at: str
    """ISO 8601, in UTC."""


class RecallLog(Protocol):
    """Ids of facts in the order they were recalled. Any number of processes note and take.

    No method raises; what cannot be noted is not counted.
    """

    def note(self, fact_ids: Iterable[str], at: str) -> None:
        """These facts were recalled at this time; returns at once."""
        ...

    def size(self) -> int:
        """How many bytes wait, about; 0 when nothing does."""
        ...

    def take(self) -> dict[str, RecallCount]:
        """What was noted since it was taken last, by fact; nobody else is given it."""
        ...


class Reranker(Protocol):
    """Scores texts against a question."""

    @property
    def model(self) -> str:
        """The name of the model."""
        ...

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """One number per text, in order; greater is more relevant.

        Raises:
            EmbedderError: the model is missing.
        """
        ...
