"""Whatever is done to the indexes of vectors, they answer as the one in memory does."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qdrant_client import QdrantClient

from tests import qdrants
from tests.doubles.vectors import MemoryVectors
from tests.vector_rows import ALL, IDS, a_fact, unit
from vaultsync.backends.qdrant.vectors import QdrantVectors
from vaultsync.backends.vectors import local as vectors_local
from vaultsync.backends.vectors import matrix as vectors_matrix
from vaultsync.backends.vectors.local import LocalVectors
from vaultsync.backends.vectors.matrix import MatrixVectors
from vaultsync.indexing.ports import VectorIndex, VectorRow
from vaultsync.model.filters import FactFilters
from vaultsync.model.permissions import Permissions, Reader

pytestmark = pytest.mark.long(5)

words = st.sampled_from(["a", "A/b", "a/b/c", "it's", 'o"x', "%_", "ä\\", "b"])
facts = st.builds(
    lambda at, **values: a_fact(IDS[at], **values),
    at=st.integers(0, 9),
    type=st.sampled_from(["note", "task"]),
    scope=st.sampled_from(["public", "private-a", "team-x"]),
    status=st.sampled_from(["active", "it's"]),
    priority=st.integers(0, 4),
    tags=st.lists(words, max_size=3),
    createdAt=st.sampled_from(
        [None, "2026-02-01T00:00:00Z", "2026-02-01T00:00:00.000001Z", "0001-01-01"]
    ),
    supersededById=st.sampled_from([None, IDS[0]]),
)


@st.composite
def rows(draw: st.DrawFn) -> list[VectorRow]:
    """Rows of facts, each of which has the same fields in all of its rows."""
    made = {fact.id: fact for fact in draw(st.lists(facts, max_size=5))}
    return [
        VectorRow(fact, f"{at}", unit(at + 1, at % 3 + 1, 1))
        for fact in made.values()
        for at in draw(st.sets(st.integers(0, 12), max_size=4))
    ]


filters = st.builds(
    FactFilters,
    scopes=st.none() | st.frozensets(st.sampled_from(["public", "private-a", "no"])),
    types=st.frozensets(st.sampled_from(["note", "no"])),
    tags=st.frozensets(words, max_size=2),
    status=st.sampled_from([None, "active", "it's", "no"]),
    max_priority=st.integers(-1, 4),
    since=st.sampled_from([None, "2026-02-01T00:00:00.000001Z", "2026-02-01"]),
    until=st.sampled_from([None, "2026-02-01T00:00:00.000001Z", "2026-02-01"]),
    heads_only=st.booleans(),
    reader=st.sampled_from([None, Reader("a", Permissions())]),
    # An index may leave these to whoever looks at the facts.
    user=st.none(),
    tiers=st.just(frozenset[str]()),
    superseded_only=st.just(False),
    hidden_statuses=st.just(frozenset[str]()),
    hide_background=st.just(False),
    alive_at=st.none(),
    themes=st.just(frozenset[str]()),
    without=st.just(frozenset[str]()),
    among=st.none(),
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), rows(), st.sets(st.sampled_from(IDS[:10]), max_size=3)),
        st.tuples(st.just("tidy")),
        st.tuples(st.just("reopen")),
        st.tuples(st.just("lose"), st.sampled_from(["matrix", "lance"])),
        st.tuples(st.just("search"), filters, st.integers(0, 6)),
    ),
    max_size=15,
)


@contextmanager
def eager() -> Iterator[None]:
    """What is for many is done for a few."""
    with (
        patch.object(vectors_matrix, "_MIN_DEAD", (1, 0.0)),
        patch.object(vectors_matrix, "_COPIED_ROWS", 3),
        patch.object(vectors_local, "_MIN_COPIED_ROWS", 1),
    ):
        yield


def _same(index: VectorIndex, model: VectorIndex, asked: FactFilters, limit: int) -> None:
    vector = unit(1, 2, 3)
    got = index.search(vector, asked, limit=limit)
    expected = model.search(vector, asked, limit=limit)
    assert [each[:2] for each in got] == [each[:2] for each in expected]
    for one, other in zip(got, expected, strict=True):
        assert one.similarity == pytest.approx(other.similarity, abs=2e-6)


def _replay(make: Callable[[], VectorIndex], done: list[tuple[object, ...]]) -> None:
    index, model = make(), MemoryVectors()
    index.reset("i")
    model.reset("i")
    for number, (name, *given_) in enumerate(done):
        if name == "put":
            put, replace = given_
            assert isinstance(put, list)
            assert isinstance(replace, set)
            # All rows of a fact have the fields it was put with last.
            replace |= {row.fact.id for row in put}
            record = f"{number}: ä'\n" if number % 3 else None
            for each in (index, model):
                each.put(put, replace=replace, record=record)
        elif name == "tidy":
            index.tidy()
        elif name == "reopen":
            index.close()
            index = make()
        elif name == "lose":
            # Of a matrix and its copy either is made again from the other, but for the record.
            if isinstance(index, LocalVectors) and model.count() and index._is_copy():
                shutil.rmtree(index._folder.with_name(f"{given_[0]}"), ignore_errors=True)
                assert index.identity() == "i"
                for each in (index, model):
                    each.put([], record=f"{number}")
        else:
            asked, limit = given_
            assert isinstance(asked, FactFilters)
            assert isinstance(limit, int)
            _same(index, model, asked, limit)
        assert index.chunks() == model.chunks()
        assert index.chunks(IDS[4:12]) == model.chunks(IDS[4:12])
        assert (index.count(), index.record()) == (model.count(), model.record())
        some = [a_fact(each, priority=1) for each in IDS[:10]]
        assert index.outdated(some) == model.outdated(some)
        names = [f"{at}" for at in range(13)]
        held = index.vectors(names)
        assert held.keys() == model.vectors(names).keys()
        for name_of_chunk, vector in model.vectors(names).items():
            assert list(held[name_of_chunk]) == pytest.approx(list(vector), abs=1e-6)
    _same(index, model, ALL, 20)
    index.close()


@given(done=steps)
def test_a_matrix_answers_as_the_model_does(done: list[tuple[object, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder, eager():
        _replay(lambda: MatrixVectors(Path(folder)), done)


def _large(folder: Path) -> Callable[[], VectorIndex]:
    """One that answers from the table of LanceDB."""

    def make() -> VectorIndex:
        made = LocalVectors(folder, index_from=0)
        made._searched = True
        return made

    return make


def _qdrant_local(_: Path) -> Callable[[], VectorIndex]:
    client = QdrantClient(":memory:", force_disable_check_same_thread=True)
    return lambda: QdrantVectors(qdrants.in_memory(client), dimension=lambda: 3)


def _qdrant_edge(_: Path) -> Callable[[], VectorIndex]:
    qdrants.emptied().close()
    return lambda: QdrantVectors(qdrants.lent(), dimension=lambda: 3)


@pytest.mark.parametrize("kind", [_large, _qdrant_local, _qdrant_edge])
@given(done=steps)
@settings(max_examples=10)
def test_others_answer_as_the_model_does(
    kind: Callable[[Path], Callable[[], VectorIndex]], done: list[tuple[object, ...]]
) -> None:
    with tempfile.TemporaryDirectory() as folder, eager():
        _replay(kind(Path(folder)), done)
