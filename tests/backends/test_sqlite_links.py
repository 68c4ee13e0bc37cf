"""What is special to the link index in a file: trouble, and other processes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from vaultsync.backends.sqlite.links import SqliteLinks
from vaultsync.errors import IndexBusyError, IndexChangedError
from vaultsync.links.ports import LinkedFact, LinkReference
from vaultsync.storage.erasure import Traces

LINK = LinkReference("a", "x", "", "wiki")
Ruin: TypeAlias = Callable[[Path], None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index" / "links.sqlite3"


def _filled(path: Path) -> SqliteLinks:
    index = SqliteLinks(path)
    index.update([LinkedFact("a", [LINK])], [], version="v")
    return index


def test_it_outlives_its_process_and_others_see_it_at_once(path: Path) -> None:
    SqliteLinks(path).close()
    assert not path.parent.exists()  # nothing is made before it is asked

    one, other = _filled(path), SqliteLinks(path)

    assert other.links_to(["x"]) == [LINK]
    one.update([LinkedFact("a")], [], version="w")
    assert other.links_to(["x"]) == []
    assert other.version() == "w"
    one.close()
    other.close()
    assert SqliteLinks(path).version() == "w"
    assert path.stat().st_mode & 0o077 == 0


def _garbage(path: Path) -> None:
    path.write_bytes(b"no database at all" * 100)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def _foreign(path: Path) -> None:
    path.unlink()
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE other (x)")
    db.close()


def _newer(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("INSERT INTO migrations (name) VALUES ('m999_future')")
    db.close()


@pytest.mark.parametrize("ruin", [_garbage, _cut, _foreign, _newer, Path.unlink, None])
def test_a_file_that_is_no_index_is_made_anew(path: Path, ruin: Ruin | None) -> None:
    index = _filled(path)
    if ruin is None:  # while it is open
        path.unlink()
    else:
        index.close()
        ruin(path)
        index = SqliteLinks(path)

    assert index.links_to(["x"]) == []
    assert index.version() is None
    index.update([LinkedFact("a", [LINK])], [], version="v")
    assert index.links_to(["x"]) == [LINK]
    index.close()


def test_a_file_that_is_found_damaged_by_a_change_is_begun_anew(path: Path) -> None:
    index = _filled(path)
    index.update([LinkedFact(f"{n}", [LINK]) for n in range(999)], [], version="v")
    index.close()
    with path.open("r+b") as file:  # behind the version and the schema
        file.seek(8 * 16_384)
        file.write(b"\xff" * (path.stat().st_size - file.tell()))
    index = SqliteLinks(path)
    assert index.version() == "v"

    with pytest.raises(OSError, match="damaged"):
        index.update([LinkedFact(f"{n}") for n in range(999)], [], version="w")

    assert index.version() is None
    index.update([LinkedFact("a", [LINK])], [], version="w")
    assert [each.fact_id for each in index.links_to(["x"])] == ["a"]
    index.close()


def test_while_another_process_writes_only_reading_is_possible(path: Path) -> None:
    index = _filled(path)
    index._opened().execute("PRAGMA busy_timeout = 20")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(IndexBusyError):
        index.update([LinkedFact("a")], [], version="w")
    assert index.links_to(["x"]) == [LINK]

    other.close()
    index.update([LinkedFact("a")], [], version="w")
    assert index.version() == "w"


def _cleared(index: SqliteLinks) -> None:
    index.clear()


def _put(index: SqliteLinks) -> None:
    index.update([LinkedFact("b", [LINK])], [], version="w")


def _compacted(index: SqliteLinks) -> None:
    index.erase(Traces(["sextant"]))


def _discarded(index: SqliteLinks) -> None:
    index.erase(Traces(["b"], ["x"]))


@pytest.mark.parametrize("is_empty", [False, True])
@pytest.mark.parametrize("change", [_cleared, _put, _compacted, _discarded])
def test_an_update_after_another_process_changed_the_index_does_nothing(
    path: Path, change: Callable[[SqliteLinks], None], is_empty: bool
) -> None:
    """As during a purge: the links of a fact would come back, and others be missing for good."""
    index = _filled(path)
    if is_empty:
        index.clear()
    late = SqliteLinks(path)
    assert late.version() == (None if is_empty else "v")
    change(index)
    before = index.version(), index.links_to(["x"])

    with pytest.raises(IndexChangedError, match="the link index"):
        late.update([LinkedFact("c", [LINK])], [], version="z")
    with pytest.raises(IndexChangedError):
        late.update([LinkedFact("c", [LINK])], [], version="z")

    assert (index.version(), index.links_to(["x"])) == before
    assert late.version() == before[0]
    for version in "yz":  # its own changes do not count
        late.update([LinkedFact("c", [LINK])], [], version=version)
        late.erase(Traces(["sextant"]))
    assert index.version() == "z"
    late.close()
    index.close()


def test_a_full_disk_and_a_bug_of_ours_leave_the_index_as_it_was(path: Path) -> None:
    index = _filled(path)
    index._opened().execute("PRAGMA max_page_count = 14")
    links = (LinkReference(str(n), "y" * 999, "", "wiki") for n in range(999))
    many = [LinkedFact(each.fact_id, [each]) for each in links]

    with pytest.raises(OSError, match="full"):
        index.update(many, [], version="w")
    with pytest.raises(sqlite3.IntegrityError), index._changing() as db:
        db.execute("INSERT INTO links VALUES (1, 0, 1, '', '', '')")
    assert index.version() == "v"
    assert index.links_to(["x"]) == [LINK]


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "index").write_text("a file stands where the folder should be")

    with pytest.raises(OSError, match="index"):
        SqliteLinks(tmp_path / "index" / "links.sqlite3").version()


def test_erasing_keeps_the_links_of_others_and_leaves_no_text_of_a_removed_link(path: Path) -> None:
    index = _filled(path)
    link = LinkReference("sextant", "Alice", "", "wiki")
    index.update([LinkedFact("sextant", [link])], [], version="w")
    index.update([], ["sextant"], version="x")

    traces = Traces(["sextant"], ["Alice"])
    index.erase(traces)
    assert (index.version(), index.links_from("a")) == ("x", [LINK])
    assert not traces.mentions(path.read_bytes())
    index.close()
