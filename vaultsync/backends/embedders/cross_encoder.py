"""A cross-encoder of sentence-transformers: reads question and text together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vaultsync.backends.embedders.sentence import load_sentence_model
from vaultsync.errors import EmbedderError


class CrossReranker:
    """A cross-encoder in a local folder; it is loaded at the first question.

    Raises:
        EmbedderError: there is no model in the folder.
    """

    def __init__(self, folder: Path) -> None:
        if not (folder / "config.json").is_file():
            raise EmbedderError(
                f"there is no reranker in {folder}",
                hint="name the folder of a cross-encoder, with `config.json`, or `none`",
            )
        self._folder = folder
        self._loaded: Any = None

    @property
    def model(self) -> str:
        return self._folder.resolve().name

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        if not texts:
            return []
        if self._loaded is None:
            self._loaded = load_sentence_model(
                "CrossEncoder",
                str(self._folder),
                called=f"the reranker in {self._folder}",
                hint="name the folder of a cross-encoder, or `none`",
                num_labels=1,
            )
        pairs = [(question, text) for text in texts]
        found = self._loaded.predict(pairs, show_progress_bar=False)
        scores: list[float] = found.astype("float64").tolist()
        return scores
