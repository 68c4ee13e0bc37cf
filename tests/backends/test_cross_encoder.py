from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.embedding import Loads, fake_sentence_transformers, need
from vaultsync.backends.embedders.sentence import CrossReranker, packaged_model
from vaultsync.errors import EmbedderError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "tea-ranker"
    made.mkdir()
    (made / "config.json").write_text("{}")
    return made


def given(monkeypatch: pytest.MonkeyPatch, error: Exception | None = None) -> Loads:
    """A sentence-transformers whose cross-encoder counts the words both share."""

    def predict(pairs: Sequence[tuple[str, str]], **_: object) -> object:
        shared = [len({*a.split()} & {*b.split()}) for a, b in pairs]
        made = SimpleNamespace(tolist=lambda: [float(each) for each in shared])
        return SimpleNamespace(astype=lambda _: made)

    return fake_sentence_transformers(monkeypatch, "CrossEncoder", error, predict=predict)


def test_each_text_has_a_score(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = given(monkeypatch)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setenv("TRANSFORMERS_OFFLINE", "0")
    reranker = CrossReranker(folder)

    assert reranker.model == "tea-ranker"
    assert reranker.scores("green tea", []) == []
    assert calls == []
    assert reranker.scores("green tea", ["cake", "green tea", "tea"]) == [0, 2, 1]
    assert reranker.scores("green tea", ["tea"]) == [1]

    ((name, options, offline),) = calls
    assert name == str(folder)
    assert options["local_files_only"] is True
    assert offline == "1"
    assert "HF_HUB_OFFLINE" not in os.environ
    assert os.environ["TRANSFORMERS_OFFLINE"] == "0"


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError) as caught:
        CrossReranker(tmp_path)

    assert str(tmp_path) in caught.value.message
    assert caught.value.hint


def test_a_model_that_cannot_be_loaded_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given(monkeypatch, ValueError("not a cross-encoder"))

    with pytest.raises(EmbedderError, match="not a cross-encoder"):
        CrossReranker(folder).scores("tea", ["tea"])


def test_without_the_packages_their_extra_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)

    with pytest.raises(EmbedderError) as caught:
        CrossReranker(folder).scores("tea", ["tea"])

    assert "pip install 'vaultsync[sentence]'" in caught.value.hint


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_real_cross_encoder_reads_both_texts(tmp_path: Path) -> None:
    """One of random weights: it knows nothing, but all parts fit together."""
    need("sentence_transformers")
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        hidden_size=16,
        intermediate_size=16,
        num_attention_heads=2,
        num_hidden_layers=1,
        num_labels=1,
    )
    folder = tmp_path / "tiny"
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(packaged_model().path)
    tokenizer.save_pretrained(folder)

    scores = CrossReranker(folder).scores("green tea", ["tea", "cake", "tea"])

    assert scores[0] == pytest.approx(scores[2], abs=1e-5)
    assert scores[0] != scores[1]
