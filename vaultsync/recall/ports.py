"""The reranker: a model that reads question and answer together. Optional."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


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
