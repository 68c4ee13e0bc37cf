from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import pytest

from vaultsync.adapters.embed_hash import HashEmbedder
from vaultsync.ports import Embedder

EMBEDDERS: dict[str, Callable[[], Embedder]] = {"hash": HashEmbedder}


@pytest.fixture(params=EMBEDDERS)
def embedder(request: pytest.FixtureRequest) -> Iterator[Embedder]:
    opened = EMBEDDERS[request.param]()
    yield opened
    opened.close()


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def test_each_text_has_a_vector_of_unit_length(embedder: Embedder) -> None:
    texts = ["tea", "", "Green tea, twice a day.", "茶", "\n", "word " * 2_000]

    vectors = embedder.embed(texts)

    assert [len(each) for each in vectors] == [embedder.dimension] * len(texts)
    assert all(math.isclose(cosine(v, v), 1.0, abs_tol=1e-5) for v in vectors)
    assert all(isinstance(number, float) for number in vectors[0])


def test_nothing_to_embed_is_no_vector(embedder: Embedder) -> None:
    assert embedder.embed([]) == []


def test_the_order_of_vectors_is_that_of_texts(embedder: Embedder) -> None:
    texts = [f"{'long ' * (n * 7 % 40)}note number {n}" for n in range(40)]

    together = embedder.embed(texts)

    alone = [embedder.embed([text])[0] for text in texts]
    for a, b in zip(together, alone, strict=True):
        assert cosine(a, b) > 0.99


def test_the_same_text_has_the_same_vector(embedder: Embedder) -> None:
    assert embedder.embed(["green tea"]) == embedder.embed(["green tea"])


def test_similar_texts_have_similar_vectors(embedder: Embedder) -> None:
    near, also, far = embedder.embed(
        [
            "We keep the vectors in LanceDB.",
            "The vectors are kept in LanceDB by us.",
            "My grandmother bakes apple cake on Sundays.",
        ]
    )

    assert cosine(near, also) > cosine(near, far) + 0.2


def test_a_model_has_a_name(embedder: Embedder) -> None:
    assert embedder.model
    assert embedder.dimension > 0


def test_closing_twice_is_harmless(embedder: Embedder) -> None:
    embedder.embed(["tea"])
    embedder.close()
    embedder.close()
