"""The embedder: texts -> vectors of unit length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Identity:
    """What vectors depend on: those of another identity cannot be compared."""

    model: str
    dimension: int
    chunker: str

    def __str__(self) -> str:
        """As it is recorded."""
        return f"{self.model}/{self.dimension}/{self.chunker}"


class Embedder(Protocol):
    """Texts -> vectors. Loads its model at the first call, not before."""

    @property
    def model(self) -> str:
        """Name and version of the model; another one makes other vectors."""
        ...

    @property
    def dimension(self) -> int:
        """The length of each vector."""
        ...

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector of unit length per text, in order. Long texts are cut by the model.

        Raises:
            EmbedderError: the model is missing or its service does not answer.
        """
        ...

    def close(self) -> None:
        """Let go of the model; harmless when repeated."""
        ...
