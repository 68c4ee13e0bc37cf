"""A cross-encoder of sentence-transformers: reads question and text together."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vaultsync.errors import EmbedderError

_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_PROGRESS_BARS")


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
        """The name of the folder."""
        return self._folder.resolve().name

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """One number per text, in order; greater is more relevant.

        Raises:
            EmbedderError: the packages are missing, or the model cannot be loaded.
        """
        if not texts:
            return []
        if self._loaded is None:
            self._loaded = _load(self._folder)
        pairs = [(question, text) for text in texts]
        made = self._loaded.predict(pairs, show_progress_bar=False)
        scores: list[float] = made.astype("float64").tolist()
        return scores


def _load(folder: Path) -> Any:  # noqa: ANN401 - of a package that may be missing
    before = {name: os.environ.get(name) for name in _OFFLINE}
    os.environ.update(dict.fromkeys(_OFFLINE, "1"))
    try:
        with warnings.catch_warnings(action="ignore"):
            from sentence_transformers import CrossEncoder

            return CrossEncoder(
                str(folder), num_labels=1, device="cpu", local_files_only=True
            )
    except ImportError as missing:
        raise EmbedderError(
            f"sentence-transformers is not installed: {missing}",
            hint="`pip install 'vaultsync[local]'` brings it",
        ) from missing
    except (OSError, ValueError, RuntimeError, KeyError) as why:
        raise EmbedderError(
            f"the reranker in {folder} cannot be loaded: {why}",
            hint="name the folder of a cross-encoder, or `none`",
        ) from why
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
