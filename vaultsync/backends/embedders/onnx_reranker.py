"""A cross-encoder that onnxruntime runs: it scores pairs of a question and a text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vaultsync.backends.embedders.onnx import INSTALL_LOCAL, available_cores
from vaultsync.errors import EmbedderError

MODEL_FILE, TOKENIZER_FILE = "model.onnx", "tokenizer.json"
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
        self._running: _RunningReranker | None = None

    @property
    def model(self) -> str:
        return self._folder.resolve().name

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        if not texts:
            return []
        try:
            if self._running is None:
                self._running = _RunningReranker(self._folder, self._threads)
            return self._running.scores(question, texts)
        except ImportError as missing:
            raise EmbedderError(f"{self.model} cannot run: {missing}", hint=INSTALL_LOCAL) from None
        # Neither onnxruntime nor tokenizers has a class of errors for damaged files.
        except Exception as broken:
            reason = str(broken).partition("\n")[0][:200]
            raise EmbedderError(
                f"the reranker in {self._folder} cannot be used: {reason}",
                hint="it must be a cross-encoder with one score per pair of texts",
            ) from broken


class _RunningReranker:
    """The loaded model. Each pair runs alone on one thread, as many at once as there are cores."""

    def __init__(self, folder: Path, threads: int) -> None:
        import numpy as np
        import onnxruntime  # type: ignore[import-untyped]
        from tokenizers import Tokenizer

        self._numpy = np
        self._threads = threads
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(
            folder / MODEL_FILE, options, providers=["CPUExecutionProvider"]
        )
        self._takes = {each.name for each in self._session.get_inputs()}
        self._output = self._session.get_outputs()[0].name
        self._tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
        length = (self._tokenizer.truncation or {}).get("max_length", _MAX_LENGTH)
        self._tokenizer.no_padding()
        # The longer one of both is truncated, which is the text.
        self._tokenizer.enable_truncation(length, strategy="longest_first")

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        pairs = self._tokenizer.encode_batch([(question, text) for text in texts])
        read = [(each.ids, each.attention_mask, each.type_ids) for each in pairs]
        if len(read) == 1 or self._threads == 1:
            return [self._score(*each) for each in read]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(self._score, *zip(*read, strict=True)))

    def _score(self, ids: Sequence[int], mask: Sequence[int], types: Sequence[int]) -> float:
        named = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        given = {name: self._numpy.array([named[name]], self._numpy.int64) for name in self._takes}
        (found,) = self._session.run([self._output], given)
        return float(found.item())  # raises an error if it is not one number
