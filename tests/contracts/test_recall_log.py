"""The contract of `RecallLog`, which a file keeps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vaultsync.backends.state.recall_log import RECALL_LOG_NAME, FileRecallLog
from vaultsync.recall.ports import RecallLog
from vaultsync.storage.store import AccessCount

EARLY, LATE = "2026-02-14T13:45:00Z", "2026-02-14T13:46:00Z"


@pytest.fixture
def make(tmp_path: Path) -> Callable[[], RecallLog]:
    """Makes another process's view of the log each time."""
    return lambda: FileRecallLog(tmp_path)


def taken(log: RecallLog) -> dict[str, AccessCount]:
    """What was logged, as its reader counts it."""
    batch = log.batch()
    if batch is None:
        return {}
    log.drop(batch.op)
    return {**batch.counts}


def test_what_is_noted_is_counted_once(make: Callable[[], RecallLog]) -> None:
    make().note(["a", "b"], EARLY)
    make().note(["a"], LATE)
    assert make().size() == len(f"{EARLY} a b\n{LATE} a\n")
    assert taken(make()) == {"a": AccessCount(2, LATE), "b": AccessCount(1, EARLY)}
    assert make().size() == 0
    assert make().batch() is None
    make().note(["b"], LATE)
    make().note(["b"], EARLY)  # the clock may go back
    assert taken(make()) == {"b": AccessCount(2, LATE)}


def test_a_batch_stays_until_it_was_counted(make: Callable[[], RecallLog]) -> None:
    make().note(["a"], EARLY)
    batch = make().batch()
    assert batch is not None
    make().note(["b"], LATE)
    assert make().batch() == batch
    assert make().size() == len(f"{EARLY} a\n{LATE} b\n")
    make().drop("another")
    assert make().batch() == batch
    make().drop(batch.op)
    make().drop(batch.op)
    following = make().batch()
    assert following is not None
    assert following.op != batch.op
    assert following.counts == {"b": AccessCount(1, LATE)}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.sampled_from("abcd"), min_size=1)))
def test_each_use_counts(make: Callable[[], RecallLog], answers: list[list[str]]) -> None:
    for answer in answers:
        make().note(answer, EARLY)
    every = [each for answer in answers for each in answer]
    assert taken(make()) == {each: AccessCount(every.count(each), EARLY) for each in set(every)}


def test_a_file_that_cannot_be_written_costs_the_count_alone(tmp_path: Path) -> None:
    log = FileRecallLog(tmp_path / "gone")
    log.note(["a"], EARLY)
    assert (log.size(), log.batch()) == (0, None)
    log.drop("x")


def test_torn_and_foreign_lines_count_nothing(tmp_path: Path) -> None:
    log = FileRecallLog(tmp_path)
    (tmp_path / RECALL_LOG_NAME).write_bytes(b"\n\xff\xfe\n" + EARLY.encode() + b" a\n2026-")
    log.note(["b"], EARLY)
    assert taken(log) == {"a": AccessCount(1, EARLY)}
    assert list(tmp_path.iterdir()) == []

    log.note(["a"], EARLY)
    assert (tmp_path / RECALL_LOG_NAME).stat().st_mode & 0o777 == 0o600
