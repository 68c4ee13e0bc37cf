"""The graph of a BERT that embeds texts, written for onnxruntime from the weights alone.

Tracing a model with torch would give the same graph, but torch and its model loader take
900 MB, and several times as much with its GPU packages.
"""

from __future__ import annotations

from collections.abc import Mapping

from vaultsync.backends.embedders.onnx import WORD_VECTORS
from vaultsync.backends.embedders.onnx_file import MICROSOFT, Array, OnnxGraph

_EPSILON = 1e-12
_LEVELS = 63
"""Weights are from -63 to 63, one bit less than possible, because the sum of two products must not
overflow on processors without VNNI."""
_NORM = 2.4
"""The norm of errors; GPTQ works best if large errors count more than with squares."""
_SHARES = tuple(each / 50 for each in range(25, 51))
"""Candidate shares of the largest weight that the largest level represents."""


def bert_graph(weights: Mapping[str, Array], *, heads: int, quantized: bool) -> bytes:
    """An ONNX file from token ids to vectors of unit length: the mean of the last layer.

    Inputs are `input_ids` and `attention_mask`, texts by tokens; the output is `vectors`.

    Args:
        weights: the weights by their names in transformers, float32.
        heads: number of attention heads.
        quantized: whether matrices have eight bits, with a scale for each column, and
            activations are quantized dynamically.

    Raises:
        KeyError: a weight is missing.
    """
    import numpy as np

    graph = OnnxGraph()
    writer = _GraphWriter(graph, weights, quantized=quantized)
    hidden = writer.embeddings()
    mask = graph.add("Cast", "attention_mask", to="mask", to_=6)
    layer = 0
    while f"encoder.layer.{layer}.output.dense.bias" in weights:
        hidden = writer.layer(f"encoder.layer.{layer}", hidden, mask, heads)
        layer += 1
    # The mean up to its length, which the last step normalizes.
    shares = graph.add("Cast", "attention_mask", to="shares", to_=1)
    last = graph.constant("last", np.array([2], np.int64))
    columns = graph.add("Unsqueeze", shares, last, to="columns")
    kept = graph.add("Mul", hidden, columns, to="kept")
    tokens = graph.constant("tokens", np.array([1], np.int64))
    total = graph.add("ReduceSum", kept, tokens, to="total", keepdims=0)
    graph.add("LpNormalization", total, to="vectors", axis=1, p=2)
    width = weights["embeddings.LayerNorm.bias"].shape[0]
    given = ("texts", "tokens")
    return graph.to_bytes(
        {"input_ids": given, "attention_mask": given}, {"vectors": ("texts", width)}
    )


class _GraphWriter:
    def __init__(self, graph: OnnxGraph, weights: Mapping[str, Array], *, quantized: bool) -> None:
        self._graph = graph
        self._weights = weights
        self._quantized = quantized

    def embeddings(self) -> str:
        """Add the embeddings of words, positions and token type; single texts have one type."""
        import numpy as np

        graph = self._graph
        one = graph.constant("one", np.array(1, np.int64))
        zero = graph.constant("zero", np.array(0, np.int64))
        shape = graph.add("Shape", "input_ids", to="shape")
        length = graph.add("Gather", shape, one, to="length", axis=0)
        numbers = graph.add("Range", zero, length, one, to="numbers")
        name = "embeddings.position_embeddings.weight"
        kind = self._weights["embeddings.token_type_embeddings.weight"][0]
        table = graph.constant(name, self._weights[name] + kind)
        positions = graph.add("Gather", table, numbers, to="positions", axis=0)
        added = graph.add("Add", self._words(), positions, to="embedded")
        return graph.add(
            "LayerNormalization",
            *(added, *self._norm("embeddings.LayerNorm")),
            to="layer.0",
            axis=-1,
            epsilon=_EPSILON,
        )

    def _words(self) -> str:
        import numpy as np

        graph, name = self._graph, WORD_VECTORS
        words = self._weights[name]
        if not self._quantized:
            table = graph.constant(name, words)
            return graph.add("Gather", table, "input_ids", to="words", axis=0)
        # They are only added, never multiplied with other small numbers, so eight bits suffice.
        scale = np.maximum(np.abs(words).max(1, keepdims=True), _EPSILON) / 127
        rows = np.rint(words / scale).astype(np.int8)
        table = graph.constant(name, rows)
        found = graph.add("Gather", table, "input_ids", to="words.rows", axis=0)
        scales = graph.constant(f"{name}.scale", scale.astype(np.float32))
        factors = graph.add("Gather", scales, "input_ids", to="words.scales", axis=0)
        plain = graph.add("Cast", found, to="words.plain", to_=1)
        return graph.add("Mul", plain, factors, to="words")

    def layer(self, name: str, hidden: str, mask: str, heads: int) -> str:
        """Attention, then the two dense steps; each result is added to its input."""
        graph, inner = self._graph, f"{name}.attention.self"
        parts = [f"{inner}.{each}" for each in ("query", "key", "value")]
        joined = self._dense(inner, hidden, parts, bias=True)
        width = self._weights[f"{parts[0]}.bias"].shape[0]
        sizes = graph.constant(f"{inner}.sizes", _sizes(width))
        graph.add("Split", joined, sizes, to=parts, axis=-1)
        seen = graph.add(
            "MultiHeadAttention",
            *(*parts, "", mask),
            to=f"{inner}.seen",
            domain=MICROSOFT,
            num_heads=heads,
        )
        outer = f"{name}.attention.output"
        mixed = self._dense(f"{outer}.dense", seen)
        hidden = self._added(outer, hidden, mixed)
        wide = self._dense(f"{name}.intermediate.dense", hidden)
        bias = graph.constant(
            f"{name}.intermediate.bias", self._weights[f"{name}.intermediate.dense.bias"]
        )
        bent = graph.add("BiasGelu", wide, bias, to=f"{name}.gelu", domain=MICROSOFT)
        return self._added(f"{name}.output", hidden, self._dense(f"{name}.output.dense", bent))

    def _dense(
        self, name: str, given: str, parts: tuple[str, ...] | list[str] = (), *, bias: bool = False
    ) -> str:
        """Multiply with a matrix, or with several side by side; `bias` adds their biases."""
        import numpy as np

        graph = self._graph
        of = parts or (name,)
        matrix = np.concatenate([self._weights[f"{each}.weight"].T for each in of], axis=1)
        added: tuple[str, ...] = ()
        if bias:
            values = np.concatenate([self._weights[f"{each}.bias"] for each in of])
            added = (graph.constant(f"{name}.bias", values),)
        if not self._quantized:
            weight = graph.constant(f"{name}.weight", matrix)
            product = graph.add("MatMul", given, weight, to=f"{name}.product")
            return graph.add("Add", product, *added, to=f"{name}.sum") if added else product
        scale = _best_scale(matrix)
        weight = graph.constant(f"{name}.weight", _levels(matrix, scale).astype(np.int8))
        scales = graph.constant(f"{name}.scale", scale.astype(np.float32))
        zeros = graph.constant(f"{name}.zero", np.zeros(len(scale), np.int8))
        return graph.add(
            "DynamicQuantizeMatMul",
            *(given, weight, scales, zeros, *added),
            to=f"{name}.product",
            domain=MICROSOFT,
        )

    def _added(self, name: str, before: str, after: str) -> str:
        """Add input, output and bias, and normalize the sum."""
        bias = self._graph.constant(f"{name}.bias", self._weights[f"{name}.dense.bias"])
        return self._graph.add(
            "SkipLayerNormalization",
            *(before, after, *self._norm(f"{name}.LayerNorm"), bias),
            to=f"{name}.hidden",
            domain=MICROSOFT,
            epsilon=_EPSILON,
        )

    def _norm(self, name: str) -> tuple[str, str]:
        first, second = (f"{name}.{each}" for each in ("weight", "bias"))
        for each in (first, second):
            self._graph.constant(each, self._weights[each])
        return first, second


def _best_scale(matrix: Array) -> Array:
    """The scale for each column that changes its weights least.

    Clipping the few largest weights is often better than larger steps for all.
    """
    import numpy as np

    widest = np.maximum(np.abs(matrix).max(0), _EPSILON) / _LEVELS
    best, least = widest, np.full(matrix.shape[1], np.inf)
    for share in _SHARES:
        scale = widest * share
        error = (np.abs(_levels(matrix, scale) * scale - matrix) ** _NORM).sum(0)
        best = np.where(error < least, scale, best)
        least = np.minimum(error, least)
    return best


def _levels(matrix: Array, scale: Array) -> Array:
    import numpy as np

    return np.clip(np.rint(matrix / scale), -_LEVELS, _LEVELS)


def _sizes(width: int) -> Array:
    import numpy as np

    return np.array([width] * 3, np.int64)
