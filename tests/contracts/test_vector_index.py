from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from tests import qdrants
from tests.doubles.vectors import MemoryVectors
from tests.filtering import FACTS, check_found, filters, with_seeds
from tests.vector_rows import ALL, IDS, X, Y, Z, a_fact, found, row, unit
from vaultsync.backends.qdrant.operations import POINTS_PER_REQUEST, PointCollection
from vaultsync.backends.qdrant.vectors import QdrantVectors
from vaultsync.backends.vectors import local as vectors_local
from vaultsync.backends.vectors.local import LocalVectors
from vaultsync.backends.vectors.matrix import MatrixVectors
from vaultsync.errors import DerivedError, EmbedderError
from vaultsync.indexing.ports import NearFact, VectorIndex, VectorRow
from vaultsync.model.filters import FactFilters
from vaultsync.model.schema import Value

pytestmark = pytest.mark.long(5)


def _large(folder: Path) -> VectorIndex:
    """One that takes any number of rows for many, and has answered before."""
    made = LocalVectors(folder, index_from=0)
    made._searched = True
    return made


def _qdrant_local(folder: Path) -> VectorIndex:
    return QdrantVectors(qdrants.in_folder(folder), dimension=lambda: 3)


def _qdrant_edge(folder: Path) -> VectorIndex:
    return QdrantVectors(qdrants.in_process(folder), dimension=lambda: 3)


INDEXES: dict[str, Callable[[Path], VectorIndex]] = {
    "memory": lambda folder: MemoryVectors(),
    "matrix": MatrixVectors,
    "local": LocalVectors,
    "local, answered by the table": _large,
    "qdrant local": _qdrant_local,
    "qdrant edge": _qdrant_edge,
    "qdrant isolated": lambda _: QdrantVectors(qdrants.isolated(), dimension=lambda: 3),
}
if qdrants.SERVER:
    INDEXES["qdrant at a server"] = lambda _: QdrantVectors(
        qdrants.at_server(), dimension=lambda: 3
    )
LASTING = [
    name for name in INDEXES if name not in ("memory", "qdrant isolated", "qdrant at a server")
]
SHARED = [name for name in LASTING if "qdrant" not in name]
"""Those that several may have open at once: not Qdrant within a process."""

A, B, C, D = IDS[:4]


EMPTIED: dict[str, Callable[[], PointCollection]] = {
    "qdrant local": qdrants.in_memory,
    "qdrant edge": qdrants.emptied,
}
"""What need not be a folder of its own where nobody opens it again."""


@pytest.fixture(scope="module", autouse=True)
def _copied_at_once() -> Iterator[None]:
    """A table is worth its loading for one row, so that it answers here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors_local, "_MIN_COPIED_ROWS", 1)
        yield


@pytest.fixture(params=INDEXES)
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorIndex]:
    opened: VectorIndex
    if request.param in EMPTIED:
        opened = QdrantVectors(EMPTIED[request.param](), dimension=lambda: 3)
    else:
        opened = INDEXES[request.param](tmp_path / "vectors")
    opened.reset("m/3/c")
    yield opened
    opened.close()


@pytest.fixture(params=LASTING)
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], VectorIndex]]:
    """Opens the same index each time it is called."""
    opened = []

    def open_again() -> VectorIndex:
        opened.append(INDEXES[request.param](tmp_path / "vectors"))
        return opened[-1]

    yield open_again
    for each in opened:
        each.close()


def test_a_new_index_has_no_identity(tmp_path: Path) -> None:
    for name, opened in INDEXES.items():
        index = opened(tmp_path / name)

        assert index.identity() is None
        assert index.record() is None
        assert dict(index.chunks()) == dict(index.chunks([A])) == {}
        assert index.outdated([a_fact()]) == set()
        assert index.count() == 0
        assert index.vectors(["one"]) == {}
        assert index.search(X, ALL, limit=3) == []
        index.tidy()
        with pytest.raises(DerivedError):
            index.put([row()])
        index.close()


CHANGES: tuple[dict[str, Value], ...] = (
    {"scope": "public"},
    {"type": "lesson"},
    {"status": "dormant"},
    {"priority": 1},
    {"createdAt": "2026-02-01T00:00:01Z"},
    {"supersededById": B},
    {"tags": ["x/y", "z", "zz"]},
    {"tags": ["x/y"]},
)


def test_a_row_is_outdated_when_what_filters_ask_has_changed(index: VectorIndex) -> None:
    fact = a_fact(A, scope="team-x", createdAt="2026-02-01T00:00:00Z", tags=["x/y", "z"])
    index.put([row(fact, "one", X), row(fact, "two", Y), row(B)])

    assert index.outdated([fact, a_fact(C)]) == set()
    for change in CHANGES:
        assert index.outdated([fact.replace(change), a_fact(B)]) == {A}, change
    assert index.outdated([fact.replace({"accessCount": 3, "tags": ["X/Y", "z"]})]) == set()


def test_a_tag_in_a_text_is_a_tag_of_the_fact(index: VectorIndex) -> None:
    fact = a_fact(A, content="Leeks. #food/soup", tags=["winter"])
    index.put([row(fact, "one", X), row(B, "b", X)])

    for tag in ("food", "food/soup", "winter"):
        assert found(index, FactFilters(tags=frozenset({tag}))) == [A]
    assert index.outdated([fact]) == set()


def test_the_nearest_facts_come_first_each_once(index: VectorIndex) -> None:
    index.put([row(A, "far", Y), row(A, "near", unit(3, 4, 0))])
    index.put([row(B, "b", X), row(C, "c", unit(-1, 0, 0))])

    near = index.search(X, ALL, limit=10)

    assert near == [NearFact(B, "b", 1.0), NearFact(A, "near", 0.6), NearFact(C, "c", -1.0)]


def test_the_cosines_of_chunks_come_nearest_first(index: VectorIndex, many: list[str]) -> None:
    assert dict(index.cosines(X, [A])) == {}
    index.put([row(A, "far", Y), row(A, "near", unit(3, 4, 0)), row(B, "b", X)])
    index.put([row(each, f"{at}", unit(1, at, 0)) for at, each in enumerate(many[2:])])
    index.put([row(A, "third", unit(-1, 0, 0)), row(C, "gone", Y)])
    index.put([], replace=[C])

    assert dict(index.cosines(X, [B, C, A, "unknown"])) == {A: [0.6, 0.0, -1.0], B: [1.0]}
    assert dict(index.cosines(X, [])) == {}
    assert index.cosines(X, many).keys() == {*many} - {C}
    with pytest.raises(EmbedderError):
        index.cosines((1.0, 0.0), [A])


def test_a_limit_counts_facts_and_of_equals_the_smaller_id_comes_first(index: VectorIndex) -> None:
    index.put([row(A, f"{at}", unit(100, at, 0)) for at in range(50)])
    index.put([row(each, "same", X) for each in (C, A, D, B)])

    assert found(index) == [A, B, C, D]
    assert index.search(X, ALL, limit=2) == [NearFact(A, "0", 1.0), NearFact(B, "same", 1.0)]
    assert (found(index, limit=1), found(index, limit=0)) == ([A], [])


def test_a_row_that_is_put_again_replaces_itself(index: VectorIndex) -> None:
    index.put([row(A, "one", X), row(A, "one", Z)])
    assert index.search(Z, ALL, limit=5) == [NearFact(A, "one", 1.0)]
    numbers = np.array(Y, np.float32)  # they may come in an array
    index.put([VectorRow(a_fact(A), "one", numbers)])  # type: ignore[arg-type]

    assert dict(index.chunks()) == {A: {"one"}}
    assert index.search(numbers, ALL, limit=5) == [NearFact(A, "one", 1.0)]  # type: ignore[arg-type]
    index.put([], replace=[A])
    index.put([], record="r")
    assert (index.count(), index.record()) == (0, "r")


def test_reset_forgets_everything(index: VectorIndex) -> None:
    index.put([row(A, "one", X)], record="r")
    index.reset("other/2/c")

    assert (index.identity(), index.record()) == ("other/2/c", None)
    assert dict(index.chunks()) == {}
    assert index.vectors(["one"]) == {}
    index.put([row(A, "one", (1.0, 0.0))])
    assert index.search((1.0, 0.0), ALL, limit=1) == [NearFact(A, "one", 1.0)]


NO_VECTORS = [(1.0, 0.0), *((0.0, number, 0.0) for number in (math.nan, math.inf, -math.inf))]


def test_vectors_of_another_dimension_or_of_no_numbers_are_refused(index: VectorIndex) -> None:
    with pytest.raises(EmbedderError):
        index.put([row(A, "one", X), row(B, "two", (1.0, 0.0))])
    index.put([row(A, "one", X)], record="r")

    for wrong in NO_VECTORS:
        with pytest.raises(EmbedderError):
            index.put([row(B, "b", X), row(C, "c", wrong)], replace=[A], record="s")
        assert found(index) == [A]
    with pytest.raises(EmbedderError):
        index.search((1.0, 0.0), ALL, limit=1)

    assert dict(index.chunks()) == {A: {"one"}}
    assert index.record() == "r"


@pytest.fixture(scope="module", params=INDEXES)
def filled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[VectorIndex]:
    """One that holds facts of all kinds."""
    opened = INDEXES[request.param](tmp_path_factory.mktemp("filled") / "vectors")
    opened.reset("m/3/c")
    opened.put([row(each) for each in FACTS])
    yield opened
    opened.close()


@with_seeds
@given(asked=filters)
def test_filters_mean_the_same_in_all(filled: VectorIndex, asked: FactFilters) -> None:
    check_found(found(filled, asked, limit=len(FACTS)), asked)


def test_who_is_asked_for_is_found_and_by_qdrant_nobody_else(index: VectorIndex) -> None:
    index.put([row(A, userId="u-1"), row(B), row(C, userId="u-2")])

    about = found(index, ALL._replace(user="u-1"))
    assert about == [A] or (about == [A, B, C] and not isinstance(index, QdrantVectors))
    index.put([row(C, userId="u-1")], replace=[C])
    assert {A, C} <= set(found(index, ALL._replace(user="u-1")))


@pytest.fixture
def many(request: pytest.FixtureRequest) -> list[str]:
    """More ids than an index takes in one step."""
    slow = "qdrant" in request.node.callspec.params["index"]
    return IDS[: POINTS_PER_REQUEST + 10] if slow else IDS


def test_a_filter_that_leaves_few_of_many_finds_them(index: VectorIndex, many: list[str]) -> None:
    rng = random.Random(1)
    rows = [
        row(each, "c", unit(*(rng.gauss(0, 1) for _ in "xyz")), tags=["rare"][at % 100 != 7 :])
        for at, each in enumerate(many)
    ]
    index.put(rows)

    nearest = sorted(rows, key=lambda each: -each.vector[0])
    rare = [each.fact.id for each in nearest if each.fact.tags]
    assert len(rare) > 2
    assert found(index, FactFilters(tags=frozenset({"rare"})), limit=4) == rare[:4]
    assert found(index, limit=20) == [each.fact.id for each in nearest[:20]]


def test_much_writing_and_tidying_changes_no_answer(index: VectorIndex, many: list[str]) -> None:
    for turn in range(4):
        rows = [
            row(each, f"{turn}", unit(at + 1, turn + 1, 1), tags=[f"t{at % 3}"])
            for at, each in enumerate(many)
        ]
        index.put(rows, replace=many, record=f"{turn}")
    index.put([], replace=many[5:])
    before = index.search(X, ALL, limit=9)
    index.tidy()

    assert index.search(X, ALL, limit=9) == before
    assert [each.fact_id for each in before] == IDS[4::-1]
    assert found(index, FactFilters(tags=frozenset({"t1"}))) == [IDS[4], IDS[1]]
    assert dict(index.chunks()) == dict.fromkeys(IDS[:5], frozenset({"3"}))
    assert (index.identity(), index.record()) == ("m/3/c", "3")
    index.put([row(A, "new", X, tags=["t9"])], replace=[A])
    assert found(index, limit=1) == [A]
    assert found(index, FactFilters(tags=frozenset({"t9"}))) == [A]


def test_what_was_put_is_there_after_closing(reopen: Callable[[], VectorIndex]) -> None:
    first = reopen()
    first.reset("m/3/c")
    first.put([row(A, tags=["tea"]), row(B)], record="r")
    first.close()
    first.close()
    again = reopen()

    assert (again.identity(), again.record()) == ("m/3/c", "r")
    assert dict(again.chunks()) == {A: {"one"}, B: {"one"}}
    assert found(again, FactFilters(tags=frozenset({"tea"}))) == [A]


@pytest.mark.parametrize("name", SHARED)
def test_what_one_puts_another_finds_at_once(name: str, tmp_path: Path) -> None:
    writer, reader = (INDEXES[name](tmp_path / "vectors") for _ in range(2))
    writer.reset("m/3/c")
    assert reader.identity() == "m/3/c"
    for at, each in enumerate([A, B, C]):
        writer.put([row(each, tags=["tea"])], record=f"{at}")
        assert len(found(reader, FactFilters(tags=frozenset({"tea"})))) == at + 1
        assert reader.record() == f"{at}"
    writer.put([], replace=[A])
    assert found(reader) == [B, C]
    reader.put([row(D)])
    assert found(writer) == [B, C, D]
    writer.reset("n/3/c")
    assert reader.identity() == "n/3/c"
    assert found(reader) == []
    writer.close()
    reader.close()
