from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.rerankers import write_cross_encoder
from vaultsync.backends.embedders.choose_embedder import reranker_for
from vaultsync.backends.embedders.rerankers import OnnxReranker
from vaultsync.errors import EmbedderError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_cross_encoder(tmp_path / "tea-model")


@pytest.mark.parametrize("threads", [1, 2])
def test_a_cross_encoder_reads_question_and_text_together(folder: Path, threads: int) -> None:
    reranker = OnnxReranker(folder, threads=threads)

    texts = ["apple cake", "green tea", "tea tea tea", "nothing known"]
    assert reranker.scores("green tea", texts) == [0, 2, 1, 0]
    assert reranker.scores("apple cake", texts) == [2, 0, 0, 0]
    assert reranker.model == "tea-model"


def test_a_long_text_is_cut_and_the_question_is_not(folder: Path) -> None:
    scores = OnnxReranker(folder).scores("green tea", ["word " * 600 + "tea", "tea " * 600])

    assert scores == [0, 1]


def test_a_folder_with_an_export_is_run_by_onnxruntime(folder: Path) -> None:
    assert isinstance(reranker_for(str(folder)), OnnxReranker)
    assert isinstance(reranker_for(f"local:{folder}"), OnnxReranker)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_missing_file_is_named(name: str, folder: Path) -> None:
    (folder / name).unlink()

    with pytest.raises(EmbedderError, match=name) as caught:
        reranker_for(f"local:{folder}")
    assert caught.value.hint


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_damaged_file_is_no_crash(name: str, folder: Path) -> None:
    (folder / name).write_bytes(b"no model")
    reranker = OnnxReranker(folder)

    with pytest.raises(EmbedderError, match="cannot be used") as caught:
        reranker.scores("tea", ["tea"])
    assert caught.value.hint


def test_a_model_of_several_scores_is_refused(tmp_path: Path) -> None:
    reranker = OnnxReranker(write_cross_encoder(tmp_path / "two", labels=2))

    with pytest.raises(EmbedderError, match="cannot be used") as caught:
        reranker.scores("tea", ["tea"])
    assert "one score" in caught.value.hint


@pytest.mark.parametrize("package", ["numpy", "onnxruntime", "tokenizers"])
def test_a_package_that_is_missing_is_named(
    package: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(EmbedderError, match=package) as caught:
        OnnxReranker(folder).scores("tea", ["tea"])
    assert "vaultsync[local]" in caught.value.hint
