from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.embedding import cosine, local_embedder, need, serving
from tests.fakes import FakeClock
from vaultsync.backends.embedders.choose_embedder import embedder_for
from vaultsync.backends.embedders.hashing import HashEmbedder
from vaultsync.backends.embedders.http_embedder import HttpEmbedder
from vaultsync.indexing.ports import Embedder

Opening = Callable[[pytest.Config, ExitStack], Embedder]


def _http(config: pytest.Config, closing: ExitStack) -> Embedder:
    service = closing.enter_context(serving())
    return HttpEmbedder(service.url, "hash", clock=FakeClock())


def _sentence(config: pytest.Config, closing: ExitStack) -> Embedder:
    need("sentence_transformers")
    embedder = embedder_for("sentence", models=Path("none"), clock=FakeClock())
    assert embedder is not None
    return embedder


EMBEDDERS: dict[str, Opening] = {
    "hash": lambda config, closing: HashEmbedder(),
    "http": _http,
    "local": lambda config, closing: local_embedder(config),
    "sentence": _sentence,
}
_SLOW = {"sentence"}


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=[pytest.mark.slow] * (name in _SLOW)) for name in EMBEDDERS],
)
def embedder(request: pytest.FixtureRequest) -> Iterator[Embedder]:
    with ExitStack() as closing:
        opened = EMBEDDERS[request.param](request.config, closing)
        yield opened
        opened.close()


def test_each_text_has_a_vector_of_unit_length(embedder: Embedder) -> None:
    texts = ["tea", "", "Green tea, twice a day.", "茶", "\n", "word " * 2_000]

    vectors = embedder.embed(texts)

    assert [len(each) for each in vectors] == [embedder.dimension] * len(texts)
    assert all(math.isclose(cosine(v, v), 1.0, abs_tol=1e-5) for v in vectors)
    assert all(isinstance(number, float) for number in vectors[0])
    assert embedder.embed(texts[2:3]) == embedder.embed(texts[2:3])
    assert embedder.embed([]) == []
    assert embedder.model


def test_the_order_of_vectors_is_that_of_texts(embedder: Embedder) -> None:
    texts = [f"{'long ' * (n * 7 % 40)}note number {n}" for n in range(40)]

    together = embedder.embed(texts)

    alone = [embedder.embed([text])[0] for text in texts]
    for a, b in zip(together, alone, strict=True):
        assert cosine(a, b) > 0.99


def test_similar_texts_have_similar_vectors(embedder: Embedder) -> None:
    near, also, far = embedder.embed(
        [
            "We keep the vectors in LanceDB.",
            "The vectors are kept in LanceDB by us.",
            "My grandmother bakes apple cake on Sundays.",
        ]
    )

    assert cosine(near, also) > cosine(near, far) + 0.2


def test_an_embedder_that_was_closed_starts_again(embedder: Embedder) -> None:
    before = embedder.embed(["tea"])

    embedder.close()
    embedder.close()

    assert embedder.embed(["tea"]) == before
