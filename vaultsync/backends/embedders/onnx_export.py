"""The int8 export of a model: made once, and compared with the model itself."""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Callable, Mapping, Sequence
from hashlib import file_digest
from math import fsum
from pathlib import Path
from typing import Any, Protocol

from vaultsync.backends.replace_file import replace_file
from vaultsync.errors import EmbedderError

MIN_COSINE = 0.985
"""The mean cosine to the reference's vectors that an export must reach."""
MIN_SHARED_NEIGHBOURS = 0.75
"""The share of the three nearest of each sentence that must be the reference's."""
_FILES = ("model.onnx", "tokenizer.json")
_MANIFEST = "manifest.json"
_MAX_LENGTH = 512
_NEAREST = 3
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_INSTALL = "`pip install 'vaultsync[sentence]'` brings what is missing"
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
    """A model that is exported."""

    hint: str
    """What to do when its export is refused."""

    def write(self, folder: Path) -> Mapping[str, object]:
        """Write `model.onnx` and `tokenizer.json`; the answer goes into the manifest."""
        ...

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Its own vectors, which those of the export must agree with."""
        ...


class ReferenceEmbedder(Protocol):
    """The embedder of the model that is traced."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """As `Embedder`."""
        ...

    def loaded(self) -> Any:  # noqa: ANN401 - of a package that may be missing
        """The `SentenceTransformer` itself."""
        ...


class TracedModel:
    """A model of sentence-transformers, traced by torch."""

    def __init__(self, reference: ReferenceEmbedder, source: Path) -> None:
        self._reference = reference
        self._source = source
        self.hint = f"use the model as it is: `sentence:{source}`"

    def write(self, folder: Path) -> Mapping[str, object]:
        """Trace the model, and copy its tokenizer.

        Raises:
            EmbedderError: there is no tokenizer, or the model cannot be loaded.
            ImportError: a package is missing.
        """
        from importlib.metadata import version

        tokenizer = self._source / "tokenizer.json"
        if not tokenizer.is_file():
            raise EmbedderError(
                f"{self._source} has no tokenizer.json, which an export needs", hint=self.hint
            )
        shutil.copyfile(tokenizer, folder / "tokenizer.json")
        loaded = self._reference.loaded()
        with warnings.catch_warnings(action="ignore"):
            _write_model(loaded, folder)
        return {
            "max_length": loaded.max_seq_length or _MAX_LENGTH,
            "source_sha256": _sha(self._source / "model.safetensors"),
            "made_with": {package: version(package) for package in _PACKAGES},
        }

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """As sentence-transformers does. Raises as `SentenceEmbedder.embed()`."""
        return self._reference.embed(texts)


def export_model(
    source: ExportSource,
    folder: Path,
    *,
    model: str,
    embed: Callable[[Path, Sequence[str]], list[list[float]]],
    is_whole: Callable[[Path], bool],
) -> None:
    """Make the export, unless another process has made it meanwhile.

    The folder appears with all its files, or not at all.

    Args:
        source: the model that is exported.
        folder: where the export goes.
        model: the name of the export.
        embed: runs the export in a folder.
        is_whole: whether a folder holds a whole export.

    Raises:
        EmbedderError: a package is missing, the model cannot be exported, or its export
            does not agree with it.
        OSError: the disk is full or broken.
    """
    from filelock import FileLock

    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(f"{folder.name}.lock")):
        if is_whole(folder):
            return
        making = folder.with_name(f"{folder.name}.making")
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir()
        try:
            _make(source, making, model=model, embed=embed)
            shutil.rmtree(folder, ignore_errors=True)
            making.replace(folder)
        finally:
            shutil.rmtree(making, ignore_errors=True)


def _make(
    source: ExportSource,
    folder: Path,
    *,
    model: str,
    embed: Callable[[Path, Sequence[str]], list[list[float]]],
) -> None:
    try:
        written = source.write(folder)
    except ImportError as missing:
        raise EmbedderError(
            f"the export of {model} cannot be made: {missing}", hint=_INSTALL
        ) from missing
    except (RuntimeError, ValueError, KeyError) as why:
        # The message may hold all weights: take its first line, and do not chain.
        reason = str(why).partition("\n")[0][:200]
        raise EmbedderError(
            f"the export of {model} cannot be made: {reason}", hint=source.hint
        ) from None
    files = {name: _file_fingerprint(folder / name) for name in _FILES}
    manifest = {"model": model, **written, "files": files}
    _write(folder / _MANIFEST, manifest)
    found = agreement(source.embed(SENTENCES), embed(folder, SENTENCES))
    if found["cosine"] < MIN_COSINE or found["neighbours"] < MIN_SHARED_NEIGHBOURS:
        raise EmbedderError(
            f"the export of {model} does not agree with it: mean cosine"
            f" {found['cosine']:.3f} of {MIN_COSINE}, {found['neighbours']:.0%} of the"
            f" neighbours of {MIN_SHARED_NEIGHBOURS:.0%}",
            hint=source.hint,
        )
    _write(folder / _MANIFEST, {**manifest, "agreement": found})


def _write_model(loaded: Any, folder: Path) -> None:  # noqa: ANN401 - as above
    """Trace, quantize, and let onnxruntime optimise once instead of at each start."""
    import onnx
    import onnxruntime  # type: ignore[import-untyped]
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic  # type: ignore[import-untyped]

    names = [name for name in _INPUTS if name in loaded.tokenizer.model_input_names]

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
    options.optimized_model_filepath = str(folder / _FILES[0])
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
    cosines = [_dot(a, b) for a, b in zip(reference, export, strict=True)]
    pairs = zip(_nearest(reference), _nearest(export), strict=True)
    shared = [len(a & b) / _NEAREST for a, b in pairs]
    return {
        "cosine": round(fsum(cosines) / len(cosines), 5),
        "least": round(min(cosines), 5),
        "neighbours": round(fsum(shared) / len(shared), 5),
    }


def _nearest(vectors: Sequence[Sequence[float]]) -> list[set[int]]:
    found = []
    for at, vector in enumerate(vectors):
        others = [index for index in range(len(vectors)) if index != at]
        others.sort(key=lambda index: -_dot(vector, vectors[index]))
        found.append({*others[:_NEAREST]})
    return found


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return fsum(x * y for x, y in zip(a, b, strict=True))


def _file_fingerprint(file: Path) -> dict[str, object]:
    """What tells a file from a damaged one. The file is flushed first."""
    with file.open("rb+") as opened:
        os.fsync(opened.fileno())
    at = file.stat()
    return {"sha256": _sha(file), "size": at.st_size, "mtime_ns": at.st_mtime_ns}


def _sha(file: Path) -> str:
    if not file.is_file():
        return ""
    with file.open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest()


def _write(file: Path, manifest: dict[str, object]) -> None:
    replace_file(file, json.dumps(manifest, indent=1).encode(), mode=0o644)
