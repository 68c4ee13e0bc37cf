"""A cross-encoder that onnxruntime runs: it scores pairs of a question and a text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vaultsync.backends.embedders.onnx import (
    INSTALL_LOCAL,
    MODEL_FILE,
    TOKENIZER_FILE,
    OnnxModel,
    available_cores,
)
from vaultsync.errors import EmbedderError

_MAX_LENGTH = 512
"""Maximum number of tokens of question and text, unless the tokenizer specifies it."""


class OnnxReranker:
    """Runs the cross-encoder in a folder, `model.onnx` and `tokenizer.json`.

    Its inputs are called `input_ids`, `attention_mask` and `token_type_ids`, as far as it has
    them, and its first output is one number per pair. The model is loaded at the first question.

    Raises:
        EmbedderError: a file is missing.
    """

    candidates, share = 20, 0.5

    def __init__(self, folder: Path, *, threads: int | None = None) -> None:
        missing = [x for x in (MODEL_FILE, TOKENIZER_FILE) if not (folder / x).is_file()]
        if missing:
            raise EmbedderError(
                f"there is no reranker in {folder}: {' and '.join(missing)} is missing",
                hint="use the folder of a cross-encoder, or remove the setting",
            )
        self._folder = folder
        self._threads = threads or available_cores()
        self._running: OnnxModel | None = None

    @property
    def model(self) -> str:
        return self._folder.resolve().name

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        if not texts:
            return []
        try:
            model = self._running = self._running or self._load()
            pairs = model.tokenizer.encode_batch([(question, text) for text in texts])
            # `item()` is an error where it is not one number.
            return [float(each.item()) for each in model.outputs(pairs)]
        except ImportError as missing:
            raise EmbedderError(f"{self.model} cannot run: {missing}", hint=INSTALL_LOCAL) from None
        # Neither onnxruntime nor tokenizers has a class of errors for damaged files.
        except Exception as broken:
            reason = str(broken).partition("\n")[0][:200]
            raise EmbedderError(
                f"the reranker in {self._folder} cannot be used: {reason}",
                hint="it must be a cross-encoder with one score per pair of texts",
            ) from broken

    def _load(self) -> OnnxModel:
        model = OnnxModel(self._folder, self._threads, optimized=False)
        length = (model.tokenizer.truncation or {}).get("max_length", _MAX_LENGTH)
        # The longer one of both is truncated, which is the text.
        model.tokenizer.enable_truncation(length, strategy="longest_first")
        return model
