"""Vectors of the reference, in `golden/embedding`, and how near the export comes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.embedding import cosine, local_embedder, need
from tests.fakes import FakeClock
from tests.golden import GOLDEN, RENEW
from vaultsync.backends.embedders.choose_embedder import embedder_for
from vaultsync.backends.embedders.onnx_export import (
    MIN_COSINE,
    MIN_SHARED_NEIGHBOURS,
    SENTENCES,
    agreement,
)

PAGE = GOLDEN / "embedding" / "reference.jsonl"


def stored() -> list[list[float]]:
    """The vectors on the page, one line for each of the sentences."""
    rows = [json.loads(line) for line in PAGE.read_text(encoding="utf-8").splitlines()]
    assert tuple(row["text"] for row in rows) == SENTENCES
    return [row["vector"] for row in rows]


def test_the_export_agrees_with_the_golden_vectors(request: pytest.FixtureRequest) -> None:
    made = local_embedder(request.config).embed(SENTENCES)

    found = agreement(stored(), made)

    assert found["cosine"] >= MIN_COSINE
    assert found["neighbours"] >= MIN_SHARED_NEIGHBOURS


@pytest.mark.slow
def test_the_reference_makes_the_golden_vectors() -> None:
    need("sentence_transformers")
    embedder = embedder_for("sentence", models=Path("none"), clock=FakeClock())
    assert embedder is not None
    made = embedder.embed(SENTENCES)

    if RENEW:
        PAGE.parent.mkdir(exist_ok=True)
        rows = (
            {"text": text, "vector": [round(each, 4) for each in vector]}
            for text, vector in zip(SENTENCES, made, strict=True)
        )
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
        PAGE.write_text("".join(lines), encoding="utf-8")
    assert all(cosine(a, b) > 0.9999 for a, b in zip(stored(), made, strict=True))
