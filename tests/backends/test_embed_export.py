from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from tests.embedding import need
from vaultsync.backends.embedders import onnx_export as embed_export
from vaultsync.backends.embedders.hashing import HashEmbedder
from vaultsync.backends.embedders.onnx import read_export
from vaultsync.backends.embedders.onnx_export import TracedModel, agreement
from vaultsync.backends.embedders.sentence import SentenceModel
from vaultsync.errors import EmbedderError

MODEL = "tea+int8-1"


class Reference:
    """A reference whose model is a few bytes."""

    def __init__(self, _: object = None) -> None:
        self.loads = 0

    def loaded(self) -> SimpleNamespace:
        self.loads += 1
        return SimpleNamespace(max_seq_length=None)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return HashEmbedder().embed(texts)


@pytest.fixture(autouse=True)
def doubles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the reference nor the export loads a model."""

    def write(loaded: object, folder: Path) -> None:
        (folder / "model.onnx").write_bytes(b"model")

    monkeypatch.setattr(embed_export, "_write_model", write)
    monkeypatch.setattr(embed_export, "SentenceEmbedder", Reference)
    monkeypatch.setattr(embed_export, "OnnxEmbedder", lambda *_, **__: HashEmbedder())


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "tokenizer.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "models" / MODEL


def export(source: Path, folder: Path) -> None:
    embed_export.export_model(TracedModel(SentenceModel("tea", source, 64)), folder)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_an_export_says_what_it_was_made_of(source: Path, folder: Path) -> None:
    need("sentence_transformers")

    export(source, folder)

    manifest = json.loads((folder / "manifest.json").read_bytes())
    assert names(folder) == ["manifest.json", "model.onnx", "tokenizer.json"]
    assert names(folder.parent) == [MODEL, f"{MODEL}.lock"]
    assert (manifest["model"], manifest["max_length"]) == (MODEL, 512)
    assert manifest["source_sha256"] == sha256(b"weights").hexdigest()
    assert manifest["made_with"].keys() >= {"onnxruntime", "torch"}
    assert manifest["agreement"] == {"cosine": 1.0, "least": 1.0, "neighbours": 1.0}
    assert read_export(folder, MODEL) is not None


def test_an_export_that_does_not_agree_is_refused(
    source: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {"cosine": 0.99, "least": 0.98, "neighbours": 0.5}
    with monkeypatch.context() as patch:
        patch.setattr(embed_export, "agreement", lambda *_: found)
        with pytest.raises(EmbedderError, match="50% of the neighbours"):
            export(source, folder)
    turned = SimpleNamespace(embed=lambda texts: HashEmbedder().embed(texts)[::-1])
    monkeypatch.setattr(embed_export, "OnnxEmbedder", lambda *_, **__: turned)

    with pytest.raises(EmbedderError, match="does not agree") as caught:
        export(source, folder)

    assert f"sentence:{source}" in caught.value.hint
    assert names(folder.parent) == [f"{MODEL}.lock"]


def test_a_whole_export_stays(source: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export(source, folder)
    before = (folder / "manifest.json").stat()
    monkeypatch.setattr(embed_export, "SentenceEmbedder", None)

    export(source, folder)

    after = (folder / "manifest.json").stat()  # reading it may move its access time
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_what_a_crash_left_is_replaced(source: Path, folder: Path) -> None:
    making = folder.with_name(f"{MODEL}.making")
    for left in (making, folder):
        left.mkdir(parents=True)
        (left / "traced.onnx").write_bytes(b"half")

    export(source, folder)

    assert names(folder) == ["manifest.json", "model.onnx", "tokenizer.json"]
    assert not making.exists()


def test_of_many_that_export_at_once_one_works(
    source: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = Reference()
    monkeypatch.setattr(embed_export, "SentenceEmbedder", lambda _: reference)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: export(source, folder), range(4)))

    assert reference.loads == 1
    assert read_export(folder, MODEL) is not None


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ImportError("No module named 'onnx'"), "No module named 'onnx'"),
        (RuntimeError("No such layer\n" + "0.1 0.2\n" * 9_999), "No such layer"),
        (None, r"no tokenizer\.json"),
    ],
)
def test_what_cannot_be_exported_says_why(
    error: Exception | None, words: str, source: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if error is None:
        (source / "tokenizer.json").unlink()
    else:
        monkeypatch.setattr(embed_export, "_write_model", Mock(side_effect=error))

    with pytest.raises(EmbedderError, match=words) as caught:
        export(source, folder)

    assert len(caught.value.message) < 300
    assert names(folder.parent) == [f"{MODEL}.lock"]


def test_agreement_counts_cosines_and_neighbours() -> None:
    ways = [[1.0, 0.0], [0.8, 0.6], [0.0, 1.0], [-0.6, 0.8], [-1.0, 0.0]]
    turned = [[-x, -y] for x, y in ways]

    assert agreement(ways, ways) == {"cosine": 1.0, "least": 1.0, "neighbours": 1.0}
    assert agreement(ways, turned)["cosine"] == -1.0
    assert agreement(ways, turned)["neighbours"] == 1.0
    assert agreement(ways, ways[::-1])["least"] == -1.0
