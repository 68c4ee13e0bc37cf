"""Embeddings from an export, computed by onnxruntime, which starts in a third of a second."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from hashlib import file_digest
from pathlib import Path
from typing import Any

from vaultsync.backends.embedders.onnx_file import Array, read_graph
from vaultsync.errors import EmbedderError

EXPORT = "int8-1"
"""Name and version of the export format; another one produces different vectors."""
WORD_VECTORS = "embeddings.word_embeddings.weight"
"""The name of the word table in the export of the packaged model."""
_MANIFEST = "manifest.json"
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
        self._running: _Running | None = None

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Embed texts; a text has the same vector alone and among others."""
        if not texts:
            return []
        return self._started().embed(texts)

    def words(self, texts: Sequence[str]) -> list[list[int]]:
        """The numbers of the words of each text, or of pieces of them. Raises as `embed()`."""
        return self._started().words(texts)

    def word_vectors(self) -> Array:
        """A row of bytes for each word; its vector is a multiple of it.

        Only the export of the packaged model has them.

        Raises:
            EmbedderError: the export is missing or damaged.
        """
        try:
            _, constants = read_graph((self._folder / "model.onnx").read_bytes())
            # A copy: the row would keep the whole file in memory.
            return constants[WORD_VECTORS].copy()
        except (OSError, ValueError, KeyError) as why:
            raise EmbedderError(
                f"the words of {self.model} cannot be read from {self._folder}: {why}",
                hint="remove the folder to have it created again",
            ) from why

    def close(self) -> None:
        self._running = None

    def _started(self) -> _Running:
        if self._running is None:
            self._running = self._start()
        return self._running

    def _start(self) -> _Running:
        why = "it is missing or damaged"
        for make in (self._make, None):
            manifest = read_export(self._folder, self.model)
            if manifest is not None:
                try:
                    return _Running(self._folder, manifest, self._threads)
                except ImportError as missing:
                    raise EmbedderError(
                        f"{self.model} cannot run: {missing}", hint=INSTALL_LOCAL
                    ) from missing
                # onnxruntime has no class of errors for damaged files.
                except Exception as broken:  # noqa: BLE001
                    why = str(broken)
                    (self._folder / _MANIFEST).unlink(missing_ok=True)
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
        manifest: dict[str, Any] = json.loads((folder / _MANIFEST).read_bytes())
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
    with file.open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest() == entry["sha256"]


class _Running:
    """The loaded model.

    Each text runs alone on one thread, one per core. Texts in a batch would share the scale by
    which activations are quantized, and so change each other's vectors (cosine 0.98); and from
    fifty tokens on, a batch is no faster.
    """

    def __init__(self, folder: Path, manifest: Mapping[str, Any], threads: int) -> None:
        import numpy as np
        import onnxruntime  # type: ignore[import-untyped]
        from tokenizers import Tokenizer

        self._numpy = np
        self._threads = threads
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        # The export was optimized when it was made, which halves the time to start.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self._session = onnxruntime.InferenceSession(
            folder / "model.onnx", options, providers=["CPUExecutionProvider"]
        )
        self._takes = {each.name for each in self._session.get_inputs()}
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(manifest["max_length"])

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        tokens = [each.ids for each in self._tokenizer.encode_batch(list(texts))]
        if len(tokens) == 1 or self._threads == 1:
            return [self._vector(each) for each in tokens]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(self._vector, tokens))

    def words(self, texts: Sequence[str]) -> list[list[int]]:
        found = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [each.ids for each in found]

    def _vector(self, tokens: Sequence[int]) -> list[float]:
        ids = self._numpy.array([tokens], self._numpy.int64)
        given = {
            "input_ids": ids,
            "attention_mask": self._numpy.ones_like(ids),
            "token_type_ids": self._numpy.zeros_like(ids),  # of traced models
        }
        (vectors,) = self._session.run(None, {name: given[name] for name in self._takes})
        vector: list[float] = vectors[0].tolist()
        return vector


def available_cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
