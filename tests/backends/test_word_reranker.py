from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.embedding import local_embedder
from vaultsync.backends.embedders import rerankers
from vaultsync.backends.embedders.rerankers import FIRST_WORD, WordReranker

np = pytest.importorskip("numpy")
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


def test_the_default_model_knows_words_that_mean_much_the_same(
    request: pytest.FixtureRequest,
) -> None:
    reranker = WordReranker(local_embedder(request.config))  # type: ignore[arg-type]

    texts = ["The cat was fed.", "The ship was sold.", "Mangoes are ripe."]
    scores = reranker.scores("Who has bought the boat?", texts)

    assert scores.index(max(scores)) == 1
