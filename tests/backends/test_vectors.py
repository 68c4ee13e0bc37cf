"""What happens to the indexes of vectors when files, disks and other processes fail."""

from __future__ import annotations

import errno
import os
import random
import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import filelock
import pytest

from tests.filtering import FACTS, SEEDS, check_found
from tests.snippets import run
from tests.vector_rows import IDS, X, Y, found, holds, row, unit
from vaultsync.backends.vectors.columns import FilterFields
from vaultsync.backends.vectors.files import MATRIX_PARTS
from vaultsync.backends.vectors.lancedb import LanceVectors
from vaultsync.backends.vectors.local import LocalVectors
from vaultsync.backends.vectors.matrix import MatrixVectors
from vaultsync.errors import DerivedError, IndexBusyError
from vaultsync.indexing.ports import VectorIndex
from vaultsync.model.filters import FactFilters

pytestmark = pytest.mark.long(5)

I = TypeVar("I", bound=VectorIndex | LanceVectors)  # noqa: E741 - as I of index

ROOT = Path(__file__).parents[2]
A, B, C = IDS[:3]
LASTING: dict[str, Callable[[Path], VectorIndex | LanceVectors]] = {
    "matrix": MatrixVectors,
    "lancedb": LanceVectors,
    "local": LocalVectors,
}


def filled(index: I) -> I:
    index.reset("m/3/c")
    index.put([row(A, tags=["tea"]), row(A, "two", Y), row(B)], record="first")
    index.put([row(C, "c", Y)], replace=[B], record="second")
    return index


def large(folder: Path) -> LocalVectors:
    """One that takes any number of rows for many."""
    return LocalVectors(folder, index_from=0)


def replaced(folder: Path) -> MatrixVectors:
    """One with twice as many dead rows as living ones."""
    index = MatrixVectors(folder)
    index.reset("m/3/c")
    for vector in (X, Y, X):
        index.put([row(each, "c", vector) for each in IDS], replace=IDS)
    return index


def many(index: VectorIndex, *, tag: str = "a") -> None:
    index.put(
        [row(each, f"{at}", unit(1, at, 1), tags=[tag]) for at, each in enumerate(IDS)],
        replace=IDS,
        record=tag,
    )


def held_facts(index: VectorIndex | LanceVectors) -> set[str]:
    chunks = holds(index)[2]
    assert isinstance(chunks, dict)
    return set(chunks)


def parts(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "lock")


@pytest.fixture(params=LASTING)
def make(request: pytest.FixtureRequest) -> Callable[[Path], VectorIndex | LanceVectors]:
    return LASTING[request.param]


def test_an_index_that_was_deleted_is_an_empty_one(
    make: Callable[[Path], VectorIndex | LanceVectors], tmp_path: Path
) -> None:
    index = filled(make(tmp_path / "v"))
    shutil.rmtree(tmp_path / "v")

    assert holds(index) == (None, None, {}, {}, [])
    with pytest.raises(DerivedError):
        index.put([row()])
    index.tidy()
    assert holds(filled(index))[:2] == ("m/3/c", "second")
    index.close()


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "emptied": lambda data: b"",
    "half written": lambda data: data.rstrip(b"\0")[: len(data.rstrip(b"\0")) // 2],
    "a bit flipped": lambda data: bytes([data[0] ^ 4]) + data[1:],
    "overwritten": lambda data: b"\0" * len(data),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.long(4)
def test_a_damaged_file_hides_no_other_and_breaks_nothing(
    make: Callable[[Path], VectorIndex | LanceVectors], damage: str, tmp_path: Path
) -> None:
    whole = filled(make(tmp_path / "whole"))
    right = holds(whole)
    whole.close()
    for path in parts(tmp_path / "whole"):
        folder = tmp_path / "broken"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(tmp_path / "whole", folder)
        broken = folder / path.relative_to(tmp_path / "whole")
        broken.write_bytes(DAMAGES[damage](broken.read_bytes()))
        index = make(folder)

        holds(index)  # the damage may be found on the way
        seen = holds(index)

        if "vectors.part" in path.name or path.suffix == ".lance":
            continue  # what is behind a vector is seen when all are read
        # A table that lost all of its versions has no record, by which its owner knows.
        identities = (None, "m/3/c") if isinstance(index, LanceVectors) else (None,)
        assert seen in (right, *((each, None, {}, {}, []) for each in identities)), path
        again = filled(index)
        assert holds(again) == right, path
        index.close()


def test_a_vector_that_rotted_ends_the_index_when_it_is_rewritten(tmp_path: Path) -> None:
    index = replaced(tmp_path)
    (path,) = tmp_path.glob("*-vectors.part")
    with path.open("r+b") as file:
        file.write(b"\1")

    with pytest.raises(DerivedError):
        index.tidy()

    assert index.identity() is None


def test_a_matrix_of_many_dead_rows_is_rewritten_once_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, reader = replaced(tmp_path), MatrixVectors(tmp_path)
    right, before = holds(index), found(reader, limit=3)
    names = {path.name for path in parts(tmp_path)}
    search = reader._now()
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", _full_after(2))
        with pytest.raises(OSError, match="full"):
            index.tidy()
    assert holds(index) == right

    index.tidy()

    rewritten = {path.name for path in parts(tmp_path)}
    assert rewritten & names == {"header.json"}
    assert len(rewritten) == 4
    assert index.rows() == 600
    assert search.vectors.shape == (1800, 3)  # whoever is in the middle goes on
    assert found(reader, limit=3) == before
    assert len(index._now().rows) == 600
    assert holds(index) == right
    index.put([], replace=IDS[:9])
    index.tidy()  # a few dead rows are left where they are
    assert {path.name for path in parts(tmp_path)} > rewritten
    assert index._now().vectors.shape == (600, 3)


def test_many_kinds_of_filters_are_answered_rightly_in_turns(tmp_path: Path) -> None:
    index = filled(MatrixVectors(tmp_path))

    for each in (*range(40), *range(40)):
        tags = frozenset({"tea" if each % 2 else f"{each}"})
        right = [A] if each % 2 and each > 2 else []
        assert found(index, FactFilters(tags=tags, max_priority=each)) == right


def test_a_late_reader_rereads_the_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index, reader = filled(MatrixVectors(tmp_path)), MatrixVectors(tmp_path)
    right = holds(index)
    seen = reader._files.header()
    assert seen is not None
    index.reset("m/3/c")
    filled(index)
    stale = iter([seen])
    fresh = reader._files.header
    monkeypatch.setattr(reader._files, "header", lambda: next(stale, None) or fresh())

    assert holds(reader) == right


def test_a_full_disk_leaves_the_table_as_it_was(tmp_path: Path) -> None:
    index = filled(LanceVectors(tmp_path))
    right = holds(index)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, limits[1]))
    try:
        with pytest.raises(OSError, match="LanceDB"):
            index.put([row(each, f"{each}{n}", unit(1, 1, 1)) for each in IDS for n in range(5)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert holds(index) == right
    index.put([row(B)])
    assert held_facts(index) == {A, B, C}


FULL = [*((MatrixVectors, number) for number in range(1, 7)), (LanceVectors, 6)]
"""The matrix writes five parts and the header, whose replacing is the sixth step."""


@pytest.mark.parametrize(("kind", "failing"), FULL)
def test_a_full_disk_leaves_the_index_as_it_was(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: type[MatrixVectors | LanceVectors],
    failing: int,
) -> None:
    index = filled(kind(tmp_path))
    right = holds(index)
    with monkeypatch.context() as patch:
        if failing <= len(MATRIX_PARTS):
            patch.setattr(os, "pwrite", _full_after(failing))
        else:
            patch.setattr(os, "replace", _full)
        with pytest.raises(OSError, match="full"):
            index.put([row(B, "b", Y, tags=["new"])], replace=[A], record="third")

    assert holds(index) == holds(kind(tmp_path)) == right
    index.put([row(B, "b", Y, tags=["new"])], replace=[A], record="third")
    assert holds(index)[1:3] == ("third", {B: {"b"}, C: {"c"}})
    assert holds(kind(tmp_path)) == holds(index)


def _full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "the disk is full")


def _full_after(calls: int) -> Callable[[int, bytes, int], int]:
    left, real = iter(range(1, calls)), os.pwrite

    def pwrite(fd: int, data: bytes, at: int) -> int:
        if next(left, None) is not None:
            return real(fd, data, at)
        real(fd, bytes(data[: len(data) // 2]), at)
        raise OSError(errno.ENOSPC, "the disk is full")

    return pwrite


def test_a_disk_that_takes_little_gets_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = holds(filled(MatrixVectors(tmp_path / "whole")))
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: real(fd, data[:7], at))

    assert holds(filled(MatrixVectors(tmp_path / "slow"))) == right


def test_a_table_that_lost_a_write_has_no_record(tmp_path: Path) -> None:
    index = filled(LanceVectors(tmp_path))
    index.close()
    (table,) = tmp_path.glob("*.lance")
    newest = min((table / "_versions").glob("*.manifest"))
    newest.unlink()
    (table / "_versions" / "latest_version_hint.json").unlink(missing_ok=True)

    again = LanceVectors(tmp_path)

    assert again.record() is None
    assert again.identity() == "m/3/c"
    assert held_facts(again) == {A, B}


@pytest.mark.parametrize("kind", [MatrixVectors, LanceVectors])
def test_two_do_not_write_at_once(kind: type[MatrixVectors | LanceVectors], tmp_path: Path) -> None:
    index = filled(kind(tmp_path))
    right = holds(index)
    other = kind(tmp_path, wait=0.0)

    with filelock.FileLock(tmp_path / "lock"):
        with pytest.raises(IndexBusyError):
            other.put([row(B)])
        with pytest.raises(IndexBusyError):
            other.reset("n")
        assert holds(other) == right

    other.put([row(B)])
    assert held_facts(index) == {A, B, C}


# --- the table -----------------------------------------------------------------------


def test_the_table_itself_takes_all_filters(tmp_path: Path) -> None:
    index = LanceVectors(tmp_path)
    index.reset("m/3/c")
    index.put([row(each) for each in FACTS])
    for asked in SEEDS:
        check_found(found(index, asked, limit=len(FACTS)), asked)


def test_each_put_is_one_version_of_the_table(tmp_path: Path) -> None:
    index = filled(LanceVectors(tmp_path))
    before = index._table.version

    index.put([row(each) for each in IDS], replace=[A, C], record="r")

    assert index._table.version == before + 1


def test_tidying_indexes_and_drops_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from vaultsync.backends.vectors import lancedb as vectors_lancedb

    index = filled(LanceVectors(tmp_path, index_from=600))
    index.tidy()
    version = index._table.version
    index.tidy()
    assert index._table.version == version
    index.reset("m/16/c")
    rng = random.Random(1)
    spread = [unit(*(rng.gauss(0, 1) for _ in range(16))) for _ in IDS]
    rows = [row(each, "c", one) for each, one in zip(IDS, spread, strict=True)]
    index.put(rows)
    right = found(index, near=spread[7])

    index.tidy()

    names = {each.name for each in index._table.list_indices()}
    fields = ("scope", "type", "status", "priority", "head", "made", "tags")
    assert names == {f"{each}_idx" for each in ("key", "vector", *fields)}
    assert index._table.index_stats("vector_idx").num_unindexed_rows == 0
    assert found(index, near=spread[7]) == right
    monkeypatch.setattr(vectors_lancedb, "_VERSIONS", 3)
    for at in range(4):
        index.put([], replace=[IDS[at]])
    files = len(parts(tmp_path))
    index.tidy()
    assert index._table.index_stats("key_idx").num_unindexed_rows == 0
    tidied = index._file.read()
    assert tidied is not None
    assert tidied["tidied"] == index._table.version
    assert len(parts(tmp_path)) < files + 20


# --- both ----------------------------------------------------------------------------


def copy(index: LocalVectors) -> LanceVectors:
    return index._table


@pytest.fixture
def copied(tmp_path: Path) -> LocalVectors:
    """One with a copy."""
    index = filled(LocalVectors(tmp_path))
    many(index)
    index.tidy()
    return index


def test_many_rows_are_copied_and_copied_again(copied: LocalVectors, tmp_path: Path) -> None:
    assert holds(copy(copied)) == holds(copied)
    copied.put([row(A, "new", X)], replace=[A, B], record="last")
    assert holds(copy(copied)) != holds(copied)
    copied.tidy()  # it is open by now
    assert holds(copy(copied)) == holds(copied)
    assert copied.uncopied() == 0

    shutil.rmtree(tmp_path / "lance")
    many(copied, tag="b")
    copied.tidy()
    assert holds(copy(copied)) == holds(copied)


def test_a_copy_has_the_fields_that_filters_ask(tmp_path: Path) -> None:
    index = LocalVectors(tmp_path)
    index.reset("m/3/c")
    facts = [
        row(
            each,
            "c",
            unit(1, at, 1),
            tags=[f"t/{at % 3}", "x"][: at % 3],
            type="task" if at % 2 else "note",
            scope=f"team-{at % 4}",
            status="done" if at % 5 else "active",
            priority=at % 5,
            createdAt=f"2026-02-0{at % 7 + 1}T00:00:00.5Z" if at % 7 else None,
            supersededById=A if at % 6 else None,
        )
        for at, each in enumerate(IDS)
    ]
    index.put(facts)
    index.tidy()

    copied = {each.fact.id: each.fact for page in copy(index).rows() for each in page}
    for each in facts:
        assert FilterFields.of(copied[each.fact.id]) == FilterFields.of(each.fact)
    assert index.outdated([each.fact for each in facts]) == set()


def test_a_copy_that_lost_a_write_is_made_again(copied: LocalVectors, tmp_path: Path) -> None:
    many(copied, tag="b")
    copied.tidy()
    copied.close()
    (table,) = (tmp_path / "lance").glob("*.lance")
    for path in sorted((table / "_versions").glob("*"))[:2]:
        path.unlink()

    again = large(tmp_path)
    again._searched = True
    assert found(again, limit=2) == [IDS[0], IDS[1]]
    many(again, tag="c")
    again.tidy()
    assert holds(copy(again)) == holds(again)


def test_a_rewriting_before_all_is_copied_begins_another_copy(copied: LocalVectors) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(copied, "_copy", lambda: None)
        many(copied, tag="b")
        many(copied, tag="c")
        copied.put([], replace=IDS[3:])
        copied.tidy()
    assert copied.rows() == 3
    many(copied, tag="d")
    copied.put([], replace=IDS[400:])
    copied.tidy()

    assert holds(copy(copied)) == holds(copied)


def test_the_table_answers_for_many_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = filled(large(tmp_path))
    many(index)
    asked: list[str] = []

    def noted(kind: type[LanceVectors | MatrixVectors]) -> Callable[..., object]:
        def search(*args: Any, **named: Any) -> object:  # noqa: ANN401 - passed on
            asked.append(kind.__name__)
            return real(*args, **named)

        real = kind.search
        return search

    for kind in (LanceVectors, MatrixVectors):
        monkeypatch.setattr(kind, "search", noted(kind))

    assert found(index, limit=1) == [IDS[0]]
    MatrixVectors.put(index, [row(A, "waits", Y)])
    found(index)
    index.put([])
    found(index)
    shutil.rmtree(tmp_path / "lance")
    assert found(index, limit=1) == [IDS[0]]
    table, matrix = LanceVectors.__name__, MatrixVectors.__name__
    assert asked == [table, matrix, table, matrix]


def test_a_single_question_does_not_load_lancedb(tmp_path: Path) -> None:
    index = filled(large(tmp_path))
    many(index)
    index.close()
    again = large(tmp_path)

    for is_open in (False, True):
        found(again)
        assert copy(again).is_open is is_open


def test_without_lancedb_a_matrix_does_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: object) -> None:
        raise ImportError("no module named lancedb")

    monkeypatch.setattr(LanceVectors, "_database", missing)
    index = filled(large(tmp_path))
    many(index)
    many(index, tag="b")
    many(index, tag="c")
    index.tidy()

    assert found(index, limit=2) == [IDS[0], IDS[1]]
    assert found(index, limit=2) == [IDS[0], IDS[1]]
    assert index.record() == "c"
    shutil.rmtree(tmp_path / "matrix")
    assert index.identity() is None


COLD = """
import sys
from pathlib import Path
from tests.snippets import run
from tests.vector_rows import ALL, IDS, X, row
from vaultsync.backends.vectors.local import LocalVectors

index = LocalVectors(Path(sys.argv[1]))
assert len(index.search(X, ALL, limit=5)) == 2
index.put([row(IDS[9])], record="r")
index.tidy()
assert len(index.search(X, ALL, limit=5)) == 3
print(*sorted({"lancedb", "pyarrow", "torch", "pandas"} & {*sys.modules}))
"""


def test_from_cold_nothing_but_numpy_is_loaded(tmp_path: Path) -> None:
    filled(LocalVectors(tmp_path)).close()

    assert run(COLD, tmp_path) == "\n"
