"""The journal of Qdrant's embedded engine: nothing is lost when that is killed while it flushes."""

from __future__ import annotations

import shutil
import struct
import zlib
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pytest

from tests.fakes import FakeClock
from tests.qdrants import PLACE, in_process
from tests.vector_rows import X
from vaultsync.backends.qdrant import edge, edge_journal
from vaultsync.backends.qdrant.edge_journal import JOURNAL_FILE, EdgeJournal, without_condition
from vaultsync.backends.qdrant.operations import (
    DeletePoints,
    IsEmpty,
    MatchAny,
    NumberRange,
    Payload,
    Point,
    PointFilter,
    UpsertPoints,
)
from vaultsync.errors import StoreUnavailableError

CLOCK = FakeClock()
A, B, C, D = (CLOCK.new_id() for _ in range(4))


def test_what_the_engine_lost_while_it_flushed_is_done_again(tmp_path: Path) -> None:
    """Killed while it flushes, the engine may lose what it was given since the last flush."""
    points, folder = in_process(tmp_path), tmp_path / "edge" / PLACE.collection
    points.make(3)
    points.do([UpsertPoints([Point(A, {"kind": "old", "seq": 1}, X), Point(B, {"kind": "old"})])])
    points.close()
    assert not (folder / JOURNAL_FILE).exists()
    flushed = shutil.copytree(folder, tmp_path / "flushed")

    points = in_process(tmp_path)
    below = PointFilter((NumberRange("seq", below=2),))
    points.do([UpsertPoints([Point(A, {"kind": "new", "seq": 2}, X)], below)])
    points.do([UpsertPoints([Point(A, {"kind": "late", "seq": 1})], below)])
    points.do([UpsertPoints([Point(C, {"kind": "new"})], mode="new")])
    points.do([DeletePoints(PointFilter((MatchAny("kind", ["old"]),)))])
    with pytest.raises(Exception, match="vector"):
        points.do([UpsertPoints([Point(D, {}, (1.0, 0.0))])])
    held = points.take([A, B, C, D])
    assert held == {A: {"kind": "new", "seq": 2}, C: {"kind": "new"}}
    journal = (folder / JOURNAL_FILE).read_bytes()
    points.close()

    for cut_off in (0, 5):
        shutil.rmtree(folder)
        shutil.copytree(flushed, folder)
        (folder / JOURNAL_FILE).write_bytes(journal[: len(journal) - cut_off])
        again = in_process(tmp_path)
        assert again.take([A, B, C, D]) == held
        assert again.vectors(PointFilter(()), "kind", 3).keys() == {"new"}
        again.close()
        assert not (folder / JOURNAL_FILE).exists()


def test_a_step_that_failed_is_done_before_later_ones(tmp_path: Path) -> None:
    """Else a crash would do it in their place, under a condition that no longer holds."""
    points, folder = in_process(tmp_path), tmp_path / "edge" / PLACE.collection
    points.make(3)
    points.do([UpsertPoints([Point(A, {"kind": "first"})])])
    first = PointFilter((MatchAny("kind", ["first"]),))
    away = patch.object(points, "_ask", side_effect=StoreUnavailableError("gone"))
    with away, pytest.raises(StoreUnavailableError):
        points.do([UpsertPoints([Point(A, {"kind": "failed"})], first)])
    points.do([UpsertPoints([Point(A, {"kind": "later"})], first)])
    assert points.take([A]) == {A: {"kind": "failed"}}
    assert len([*EdgeJournal(folder).read()]) == 1
    points.close()


def test_nothing_is_written_to_a_disk_with_little_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system would end a process that writes to a mapped file of a full disk."""
    points = in_process(tmp_path)
    points.make(3)
    points.do([UpsertPoints([Point(A, {"kind": "fact"})])])
    free = edge.MIN_FREE_BYTES
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    for write in (points.tidy, points.compact):
        with pytest.raises(StoreUnavailableError, match=r"this needs ([4-9]\d|\d{3}) MiB"):
            write()
    points.do([UpsertPoints([Point(B, {"kind": "fact"})])])
    free -= 1
    for write in (points.tidy, points.compact, lambda: points.do([DeletePoints(PointFilter(()))])):
        with pytest.raises(StoreUnavailableError, match="disk is full"):
            write()
    with pytest.raises(StoreUnavailableError, match="disk is full"):
        points.add_dimension(4)
    assert points.take([A, B]).keys() == {A, B}
    points.close()

    # To open a shard is to write to it, too.
    again = in_process(tmp_path)
    with pytest.raises(StoreUnavailableError, match="disk is full: this needs 32 MiB free") as full:
        again.take([A])
    assert "free some space" in full.value.hint
    with pytest.raises(StoreUnavailableError, match="disk is full"):
        in_process(tmp_path / "other").make(3)
    free += 1
    assert again.take([A, B]).keys() == {A, B}
    again.close()


def test_what_follows_a_record_that_was_cut_off_is_done_again(tmp_path: Path) -> None:
    points, file = in_process(tmp_path), tmp_path / "edge" / PLACE.collection / JOURNAL_FILE
    points.make(3)
    points.close()
    file.write_bytes(b"\0\0\1\0cut")
    again = in_process(tmp_path)
    again.do([UpsertPoints([Point(A, {"kind": "new"}, X)])])
    assert len([*EdgeJournal(file.parent).read()]) == 1
    again.close()


def test_nothing_is_read_or_lost_until_all_steps_are_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points, folder = in_process(tmp_path), tmp_path / "edge" / PLACE.collection
    points.make(3)
    points.close()
    EdgeJournal(folder).add([UpsertPoints([Point(A, {"kind": "new"}, X)])])

    def fail(*_: object) -> None:
        raise OSError("No space left on device")

    again = in_process(tmp_path)
    with monkeypatch.context() as full:
        full.setattr(edge.EdgePointCollection, "_redo_step", fail)
        for _ in range(2):
            with pytest.raises(StoreUnavailableError, match="disk is full"):
                again.take([A])
    assert again.take([A]) == {A: {"kind": "new"}}
    again.close()


def test_a_journal_that_cannot_be_read_ends_there(tmp_path: Path) -> None:
    journal = EdgeJournal(tmp_path)
    journal.add([DeletePoints(PointFilter((IsEmpty("kind"),)))])
    journal.add([DeletePoints(PointFilter(()))])
    data = (tmp_path / JOURNAL_FILE).read_bytes()
    for damaged, left in ((data[:-1], 1), (data[:-1] + b"x", 1), (b"", 0)):
        (tmp_path / JOURNAL_FILE).write_bytes(damaged)
        assert len([*EdgeJournal(tmp_path).read()]) == left


def test_steps_of_another_version_stay_until_it_has_done_them(tmp_path: Path) -> None:
    points, file = in_process(tmp_path), tmp_path / "edge" / PLACE.collection / JOURNAL_FILE
    points.make(3)
    points.close()
    EdgeJournal(file.parent).add([DeletePoints(PointFilter((IsEmpty("kind"),)))])
    unknown = file.read_bytes().replace(b"IsEmpty", b"IsOther")[8:]
    file.write_bytes(struct.pack(">II", len(unknown), zlib.crc32(unknown)) + unknown)
    before = file.read_bytes()
    again = in_process(tmp_path)
    with pytest.raises(StoreUnavailableError, match="another version of vaultsync has to open the"):
        again.take([A])
    again.close()
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("step", "stored", "writes"),
    [
        (UpsertPoints([Point(A, {})], mode="known"), None, False),
        (UpsertPoints([Point(A, {})], mode="known"), {}, True),
        (UpsertPoints([Point(A, {})], mode="new"), {}, False),
        (UpsertPoints([Point(A, {})], PointFilter((IsEmpty("x"),))), {"x": []}, True),
        (UpsertPoints([Point(A, {})], PointFilter((IsEmpty("x"),))), {"x": "a"}, False),
        (UpsertPoints([Point(A, {})], PointFilter((MatchAny("x", ["a"]),))), {"x": "a"}, True),
        (UpsertPoints([Point(A, {})], PointFilter((MatchAny("x", ["a"]),))), {"x": ["a"]}, True),
        (UpsertPoints([Point(A, {})], PointFilter((MatchAny("x", ["a"]),))), {}, False),
        (UpsertPoints([Point(A, {})], PointFilter((NumberRange("x", 1, 2),))), {"x": 2}, True),
        (UpsertPoints([Point(A, {})], PointFilter((NumberRange("x", 1, 2),))), {"x": 3}, False),
        (UpsertPoints([Point(A, {})], PointFilter((NumberRange("x", 1, 2),))), {"x": "1"}, False),
    ],
)
def test_a_condition_is_decided_by_what_is_stored(
    step: UpsertPoints, stored: Payload | None, writes: bool
) -> None:
    done = without_condition(step, {} if stored is None else {A: stored})
    assert done == UpsertPoints(step.points if writes else [])


def test_a_folder_that_the_killed_engine_left_in_its_log_stops_no_write(tmp_path: Path) -> None:
    points = in_process(tmp_path)
    points.make(3)
    (tmp_path / "edge" / PLACE.collection / "wal" / ".atomicwrite1a2b").mkdir()
    points.do([UpsertPoints([Point(A, {"kind": "fact"})])])
    assert points.take([A]) == {A: {"kind": "fact"}}
    points.close()


def test_a_long_journal_is_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge_journal, "MAX_BYTES", 10)
    points = in_process(tmp_path)
    points.make(3)
    points.do([UpsertPoints([Point(A, {"kind": "fact"})])])
    assert not [*tmp_path.rglob(JOURNAL_FILE)]
    points.close()
