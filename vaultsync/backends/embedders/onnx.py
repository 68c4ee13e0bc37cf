"""Embeddings from an export, computed by onnxruntime, which starts in a third of a second."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import file_digest
from pathlib import Path
from typing import Any

from vaultsync.backends.embedders.onnx_file import Array, read_graph
from vaultsync.errors import EmbedderError

EXPORT = "int8-1"
"""Name and version of the export format; another one produces different vectors."""
WORD_VECTORS = "embeddings.word_embeddings.weight"
"""The name of the word table in the export of the packaged model."""
MODEL_FILE, TOKENIZER_FILE = "model.onnx", "tokenizer.json"
MANIFEST = "manifest.json"
MODEL_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
"""The inputs of models; only traced ones have the last."""
INSTALL_LOCAL = "`pip install 'vaultsync[local]'` installs the missing packages"


class OnnxEmbedder:
    """Runs the export in a folder.

    `make` creates the export if there is no complete one of this model; without it, that is
    an error.
    """

    def __init__(
        self,
        folder: Path,
        *,
        model: str,
        dimension: int,
        make: Callable[[], None] | None = None,
        threads: int | None = None,
    ) -> None:
        self._folder = folder
        self.model = model
        self.dimension = dimension
        self._make = make
        self._threads = threads or available_cores()
        self._running: OnnxModel | None = None

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Embed texts; a text has the same vector alone and among others."""
        if not texts:
            return []
        model = self._started()
        return [each[0].tolist() for each in model.outputs(model.tokenizer.encode_batch([*texts]))]

    def words(self, texts: Sequence[str]) -> list[list[int]]:
        """The numbers of the words of each text, or of pieces of them. Raises as `embed()`."""
        encode = self._started().tokenizer.encode_batch
        return [each.ids for each in encode(list(texts), add_special_tokens=False)]

    def word_vectors(self) -> Array:
        """A row of bytes for each word; its vector is a multiple of it.

        Only the export of the packaged model has them.

        Raises:
            EmbedderError: the export is missing or damaged.
        """
        try:
            _, constants = read_graph((self._folder / MODEL_FILE).read_bytes())
            # A copy: the row would keep the whole file in memory.
            return constants[WORD_VECTORS].copy()
        except (OSError, ValueError, KeyError) as why:
            raise EmbedderError(
                f"the words of {self.model} cannot be read from {self._folder}: {why}",
                hint="remove the folder to have it created again",
            ) from why

    def close(self) -> None:
        self._running = None

    def _started(self) -> OnnxModel:
        if self._running is None:
            self._running = self._start()
        return self._running

    def _start(self) -> OnnxModel:
        why = "it is missing or damaged"
        for make in (self._make, None):
            manifest = read_export(self._folder, self.model)
            if manifest is not None:
                try:
                    model = OnnxModel(self._folder, self._threads, optimized=True)
                    model.tokenizer.enable_truncation(manifest["max_length"])
                except ImportError as missing:
                    raise EmbedderError(
                        f"{self.model} cannot run: {missing}", hint=INSTALL_LOCAL
                    ) from missing
                # onnxruntime has no class of errors for damaged files.
                except Exception as broken:  # noqa: BLE001 - see above
                    why = str(broken)
                    (self._folder / MANIFEST).unlink(missing_ok=True)
                else:
                    return model
            if make is not None:
                make()
        raise EmbedderError(
            f"the export of {self.model} in {self._folder} cannot be used: {why}",
            hint="remove the folder to have it created again",
        )


def read_export(folder: Path, model: str) -> Mapping[str, Any] | None:
    """The manifest of a model's export; None if there is no complete one.

    Only files whose size or time of change differ from the manifest are read for that.
    """
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_bytes())
        whole = manifest["model"] == model and all(
            _is_whole(folder / name, entry) for name, entry in manifest["files"].items()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return manifest if whole else None


def _is_whole(file: Path, entry: Mapping[str, object]) -> bool:
    at = file.stat()
    if at.st_size != entry["size"]:
        return False
    if at.st_mtime_ns == entry["mtime_ns"]:
        return True
    return sha256_of(file) == entry["sha256"]


def sha256_of(file: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    with file.open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest()


class OnnxModel:
    """A loaded model, `model.onnx` and `tokenizer.json` in a folder.

    Each input runs alone on one thread, one per core. Texts in a batch would share the scale by
    which activations are quantized, and so change each other's vectors (cosine 0.98); and from
    fifty tokens on, a batch is no faster.
    """

    def __init__(self, folder: Path, threads: int, *, optimized: bool) -> None:
        """Load it; `optimized` is one that was optimized when it was exported."""
        import numpy as np
        import onnxruntime  # type: ignore[import-untyped] # it has no types
        from tokenizers import Tokenizer

        self._numpy = np
        self._threads = threads
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        if optimized:  # this halves the time to start
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self._session = onnxruntime.InferenceSession(
            folder / MODEL_FILE, options, providers=["CPUExecutionProvider"]
        )
        self._takes = [each.name for each in self._session.get_inputs()]
        self._output = self._session.get_outputs()[0].name
        self.tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
        self.tokenizer.no_padding()

    def outputs(self, encoded: Iterable[Any]) -> list[Array]:
        """The first output for each of the texts, or pairs of texts, that were tokenized."""
        inputs = [(each.ids, each.attention_mask, each.type_ids) for each in encoded]
        if len(inputs) == 1 or self._threads == 1:
            return [self._run(each) for each in inputs]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(self._run, inputs))

    def _run(self, values: tuple[Sequence[int], ...]) -> Array:
        named = dict(zip(MODEL_INPUTS, values, strict=True))
        given = {name: self._numpy.array([named[name]], self._numpy.int64) for name in self._takes}
        return self._session.run([self._output], given)[0]


def available_cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
