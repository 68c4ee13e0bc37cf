"""What a daemon measures of itself."""

from __future__ import annotations

from threading import Lock

from hypothesis import given
from hypothesis import strategies as st

from vaultsync.sync.report import counted
from vaultsync.sync.telemetry import (
    KEPT,
    SavedTelemetry,
    SavedTimes,
    TelemetryRecorder,
    TimePercentiles,
)


def recorder() -> TelemetryRecorder:
    return TelemetryRecorder(SavedTelemetry("2026-02-14T13:45:00Z"), Lock())


def test_percentiles_are_of_times_that_were_measured() -> None:
    times = SavedTimes()
    assert times.percentiles() is None
    for number in range(1, 101):
        times.add(float(number))
    assert times.percentiles() == TimePercentiles(100, 50.0, 95.0, 99.0)


@given(times=st.lists(st.floats(0, 1e6), min_size=1, max_size=20))
def test_percentiles_are_in_order_and_among_the_times(times: list[float]) -> None:
    saved = SavedTimes()
    for each in times:
        saved.add(each)
    found = saved.percentiles()
    assert found is not None
    assert found.p50 <= found.p95 <= found.p99
    assert {found.p50, found.p95, found.p99} <= set(saved.newest)


def test_only_the_newest_times_are_kept_and_all_are_counted() -> None:
    times = SavedTimes()
    for number in range(3 * KEPT):
        times.add(float(number))
    assert (times.count, len(times.newest), times.newest[0]) == (3 * KEPT, KEPT, 2 * KEPT)


def test_a_run_is_measured_on_the_side_that_it_wrote() -> None:
    measured = recorder()
    measured.record_run(counted({"created_in_vault": 2}), to_vault=0.5, to_store=9.0)
    measured.record_run(counted({"updated_in_store": 1}), to_vault=9.0, to_store=1.5)
    found = measured.report()
    assert found.write_through == TimePercentiles(1, 0.5, 0.5, 0.5)
    assert (found.note_to_store, found.edits) == (TimePercentiles(1, 1.5, 1.5, 1.5), 3)


def test_a_merge_is_measured_on_both_sides_and_a_quiet_run_on_none() -> None:
    measured = recorder()
    measured.record_run(counted({"unchanged": 9}), to_vault=1.0, to_store=1.0)
    assert not measured.is_changed
    measured.record_run(counted({"merged": 1, "conflicts": 1}), to_vault=1.0, to_store=None)
    measured.record_run(counted({"deleted_in_vault": 1}), to_vault=None, to_store=None)
    found = measured.report()
    assert found.write_through == TimePercentiles(1, 1.0, 1.0, 1.0)
    assert found.note_to_store is None
    assert (found.edits, found.conflicts, found.conflicts_per_1000_edits) == (2, 1, 500.0)


def test_answers_are_told_apart_by_their_source() -> None:
    measured = recorder()
    for source, seconds in (("set", 0.001), ("fused", 0.02), ("fused", 0.04)):
        measured.record_answer(source, seconds)
    assert measured.report().recall == {
        "fused": TimePercentiles(2, 0.02, 0.04, 0.04),
        "set": TimePercentiles(1, 0.001, 0.001, 0.001),
    }


def test_restarts_are_counted_and_crashes_among_them() -> None:
    first = recorder()
    first.start()
    first.end()
    second = TelemetryRecorder(first.saved())
    second.start()
    third = TelemetryRecorder(second.saved())
    third.start()
    third.record_lag(2.5)
    third.record_lag(1.0)
    found = third.report()
    assert (found.restarts, found.crashes, found.longest_lag_seconds) == (2, 1, 2.5)


def test_what_is_saved_does_not_change_later() -> None:
    measured = recorder()
    measured.record_answer("index", 0.1)
    kept = measured.saved()
    assert not measured.is_changed
    measured.record_answer("index", 0.2)
    assert kept.recall["index"].count == 1
    assert measured.is_changed
