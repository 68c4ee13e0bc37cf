from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.recalls import LengthReranker
from tests.rerankers import write_cross_encoder
from vaultsync.backends.embedders.choose_embedder import reranker_for
from vaultsync.recall.ports import Reranker

Opening = Callable[[Path], "Reranker | None"]
RERANKERS: dict[str, Opening] = {
    "length": lambda folder: LengthReranker(),
    "onnx": lambda folder: reranker_for(f"local:{write_cross_encoder(folder / 'tea-model')}"),
}


@pytest.fixture(params=RERANKERS)
def reranker(request: pytest.FixtureRequest, tmp_path: Path) -> Reranker:
    opened = RERANKERS[request.param](tmp_path)
    assert opened is not None
    return opened


def test_each_text_has_one_score_in_order(reranker: Reranker) -> None:
    texts = ["cake", "green tea", "", "\n", "茶", "word " * 2_000, "green tea with apple cake"]

    scores = reranker.scores("green tea", texts)

    assert all(isinstance(each, float) for each in scores)
    assert len(scores) == len(texts)
    assert scores[1] > scores[0]
    assert reranker.scores("green tea", []) == []
    assert reranker.model


def test_a_text_scores_the_same_alone_and_among_others(reranker: Reranker) -> None:
    texts = ["tea", "green tea", "apple cake"]

    together = reranker.scores("green tea", texts)

    assert together == [reranker.scores("green tea", [each])[0] for each in texts]
    assert together == reranker.scores("green tea", texts)
