"""The int8 export of a model: created once, and compared with the model itself."""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from math import fsum
from pathlib import Path
from typing import Any, Protocol

from vaultsync.backends.embedders.onnx import (
    MANIFEST,
    MODEL_FILE,
    MODEL_INPUTS,
    TOKENIZER_FILE,
    OnnxEmbedder,
    read_export,
    sha256_of,
)
from vaultsync.backends.embedders.sentence import SentenceEmbedder, SentenceModel
from vaultsync.backends.replace_file import replace_file
from vaultsync.errors import EmbedderError

MIN_COSINE = 0.985
"""Minimum mean cosine of an export's vectors to the reference's."""
MIN_SHARED_NEIGHBOURS = 0.75
"""Minimum share of each sentence's three nearest that must equal the reference's."""
_MAX_LENGTH = 512
_NEAREST = 3
_INSTALL = "`pip install 'vaultsync[sentence]'` installs the missing packages"
_PACKAGES = ("onnx", "onnxruntime", "sentence-transformers", "torch")

SENTENCES = (
    "We keep the vectors in LanceDB because it is embedded and needs no server.",
    "Why did we choose an embedded database for the vectors?",
    "Alice leads the harbour project and reports to Bob.",
    "Who is responsible for the harbour?",
    "The build fails on Windows when a path is longer than 260 characters.",
    "Long file names break the build on one platform.",
    "Prefers green tea in the morning and no calls before ten.",
    "What does she drink after getting up?",
    "Rotate the access tokens every ninety days; the old ones must stop at once.",
    "def rotate(tokens): return [renew(each) for each in tokens if each.expired]",
    "The meeting was moved from Tuesday to Thursday, 14:30, in the small room.",
    "Grandmother bakes an apple cake every Sunday.",
    "Wir haben uns für eine eingebettete Datenbank entschieden.",
    "Die Großmutter backt jeden Sonntag einen Apfelkuchen.",
    "Elle préfère le thé vert le matin.",
    "¿Quién dirige el proyecto del puerto?",
    "La riunione è stata spostata a giovedì.",
    "Мы перенесли встречу на четверг.",
    "我们选择了嵌入式数据库。",
    "会議は木曜日に変更されました。",
    "tea",
    "A note of one line.",
    "Index first, then vectors. " * 12,
    "It rained for three days, and the river rose to the second step of the stairs.",
)
"""The texts by which an export is compared with the reference."""


class ExportSource(Protocol):
    """A model to export."""

    dimension: int
    hint: str
    """What to do if its export is refused."""

    def write(self, folder: Path) -> Mapping[str, object]:
        """Write `model.onnx` and `tokenizer.json`; the result goes into the manifest."""
        ...

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Its own vectors, with which those of the export are compared."""
        ...


class TracedModel:
    """A model of sentence-transformers, traced by torch."""

    def __init__(self, source: SentenceModel) -> None:
        self._source = source
        self.dimension = source.dimension
        self.hint = f"use the model as it is: `sentence:{source.path}`"

    @cached_property
    def _reference(self) -> SentenceEmbedder:
        return SentenceEmbedder(self._source)

    def write(self, folder: Path) -> Mapping[str, object]:
        """Trace the model, and copy its tokenizer. ImportError: a package is missing."""
        from importlib.metadata import version

        source = self._source.path
        if not (source / "tokenizer.json").is_file():
            raise EmbedderError(
                f"{self._source.name} has no tokenizer.json, which its export needs", hint=self.hint
            )
        shutil.copyfile(source / "tokenizer.json", folder / "tokenizer.json")
        loaded = self._reference.loaded()
        with warnings.catch_warnings(action="ignore"):
            _write_model(loaded, folder)
        weights = source / "model.safetensors"
        return {
            "max_length": loaded.max_seq_length or _MAX_LENGTH,
            "source_sha256": sha256_of(weights) if weights.is_file() else "",
            "made_with": {package: version(package) for package in _PACKAGES},
        }

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Embed with sentence-transformers."""
        return self._reference.embed(texts)


def export_model(source: ExportSource, folder: Path) -> None:
    """Export a model to a folder with its name, unless it exists.

    The folder appears with all its files, or not at all; only one process creates it.

    Raises:
        EmbedderError: a package is missing, the model cannot be exported, or the export
            differs too much from it.
        OSError: the disk is full or broken.
    """
    from filelock import FileLock

    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(f"{folder.name}.lock")):
        if read_export(folder, folder.name) is not None:
            return
        making = folder.with_name(f"{folder.name}.making")
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir()
        try:
            _make(source, making, model=folder.name)
            shutil.rmtree(folder, ignore_errors=True)
            making.replace(folder)
        finally:
            shutil.rmtree(making, ignore_errors=True)


def _make(source: ExportSource, folder: Path, *, model: str) -> None:
    try:
        written = source.write(folder)
    except ImportError as missing:
        raise EmbedderError(
            f"the export of {model} cannot be created: {missing}", hint=_INSTALL
        ) from missing
    except (RuntimeError, ValueError, KeyError) as why:
        # The message may contain all weights: take its first line, and do not chain.
        reason = str(why).partition("\n")[0][:200]
        raise EmbedderError(
            f"the export of {model} cannot be created: {reason}", hint=source.hint
        ) from None
    files = {name: _file_fingerprint(folder / name) for name in (MODEL_FILE, TOKENIZER_FILE)}
    manifest = {"model": model, **written, "files": files}
    _write(folder / MANIFEST, manifest)
    export = OnnxEmbedder(folder, model=model, dimension=source.dimension)
    found = agreement(source.embed(SENTENCES), export.embed(SENTENCES))
    if found["cosine"] < MIN_COSINE or found["neighbours"] < MIN_SHARED_NEIGHBOURS:
        raise EmbedderError(
            f"the export of {model} does not agree with it: mean cosine"
            f" {found['cosine']:.3f} of {MIN_COSINE}, {found['neighbours']:.0%} of the"
            f" neighbours of {MIN_SHARED_NEIGHBOURS:.0%}",
            hint=source.hint,
        )
    _write(folder / MANIFEST, {**manifest, "agreement": found})


def _write_model(loaded: Any, folder: Path) -> None:  # noqa: ANN401 - as above
    """Trace, quantize, and let onnxruntime optimise once instead of at each start."""
    import onnx
    import onnxruntime  # type: ignore[import-untyped] # it has no types
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic  # type: ignore[import-untyped] # it has no types

    names = [name for name in MODEL_INPUTS if name in loaded.tokenizer.model_input_names]

    class Embedding(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = loaded

        def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
            output = self.model(dict(zip(names, inputs, strict=True)))
            vectors: torch.Tensor = output["sentence_embedding"]
            return torch.nn.functional.normalize(vectors, dim=1)

    example = torch.ones((2, 9), dtype=torch.int64)
    traced, quantized = folder / "traced.onnx", folder / "quantized.onnx"
    torch.onnx.export(
        Embedding().eval(),
        (example,) * len(names),
        str(traced),
        input_names=names,
        output_names=["vectors"],
        dynamic_axes={name: {0: "texts", 1: "tokens"} for name in names}
        | {"vectors": {0: "texts"}},
        opset_version=17,
        dynamo=False,
    )
    model = onnx.load(traced)
    # Tracing has prepared it; without this mark onnxruntime warns that nothing did.
    onnx.helper.set_model_props(model, {"onnx.quant.pre_process": "onnxruntime.quant"})
    quantize_dynamic(
        model, quantized, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True
    )
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # No optimisations for this processor alone: the export may run on another.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(folder / MODEL_FILE)
    onnxruntime.InferenceSession(quantized, options, providers=["CPUExecutionProvider"])
    traced.unlink()
    quantized.unlink()


def agreement(
    reference: Sequence[Sequence[float]], export: Sequence[Sequence[float]]
) -> dict[str, float]:
    """How similar two embedders' vectors of the same texts are.

    `cosine` is the mean cosine of a text's two vectors, `least` the smallest one, and
    `neighbours` the share of each text's three nearest texts that are the same.
    """
    import numpy as np

    cosines = (np.array(reference) * np.array(export)).sum(axis=1)
    nearest = []
    for vectors in map(np.array, (reference, export)):
        similar = vectors @ vectors.T
        np.fill_diagonal(similar, -np.inf)
        nearest.append(np.argsort(-similar, axis=1, kind="stable")[:, :_NEAREST].tolist())
    shared = [len({*a} & {*b}) / _NEAREST for a, b in zip(*nearest, strict=True)]
    return {
        "cosine": round(float(cosines.mean()), 5),
        "least": round(float(cosines.min()), 5),
        "neighbours": round(fsum(shared) / len(shared), 5),
    }


def _file_fingerprint(file: Path) -> dict[str, object]:
    """The size, time and hash that detect damage to a file. The file is flushed first."""
    with file.open("rb+") as opened:
        os.fsync(opened.fileno())
    at = file.stat()
    return {"sha256": sha256_of(file), "size": at.st_size, "mtime_ns": at.st_mtime_ns}


def _write(file: Path, manifest: dict[str, object]) -> None:
    replace_file(file, json.dumps(manifest, indent=1).encode(), mode=0o644)
