from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultsync.model.canonical import to_microseconds
from vaultsync.model.paths import VaultPath
from vaultsync.notes.parse import read_note
from vaultsync.storage.vault import FileStamp
from vaultsync.sync.creation_time import creation_time

NOW = datetime(2026, 2, 14, 13, 45, tzinfo=UTC)
PRESENT = "2026-02-14T13:45:00Z"


def created(
    properties: str = "", path: str = "Notes/Tea.md", saved: datetime | int | None = None
) -> str:
    text = f"---\n{properties}\n---\nGreen.\n" if properties else "Green.\n"
    ns = int(saved.timestamp()) * 1_000_000_000 if isinstance(saved, datetime) else saved
    stamp = None if ns is None else FileStamp(9, ns, ns, 1)
    return creation_time(read_note(text.encode(), VaultPath(path)), stamp, NOW)


@pytest.mark.parametrize(
    ("properties", "time"),
    [
        ("created: 2024-05-01", "2024-05-01T12:00:00Z"),
        ("date: 2024-05-01", "2024-05-01T12:00:00Z"),
        ("Date Created: 2024-05-01", "2024-05-01T12:00:00Z"),
        ("created-on: 2024-05-01T23:10", "2024-05-01T23:10:00Z"),
        ("creation_date: 2024-05-01 23:10:05+02:00", "2024-05-01T21:10:05Z"),
        ('created: "[[2024-05-01]]"', "2024-05-01T12:00:00Z"),
        ('created: "[[Daily/2024-05-01|May Day]]"', "2024-05-01T12:00:00Z"),
        ("date: 2024-05-02\ncreated: 2024-05-01", "2024-05-01T12:00:00Z"),
        ("createdAt: 2024-05-03T01:02:03Z\ncreated: 2024-05-01", "2024-05-03T01:02:03Z"),
    ],
)
def test_a_note_that_states_its_date_was_created_then(properties: str, time: str) -> None:
    assert created(properties, "2023-01-01.md", datetime(2025, 1, 1, tzinfo=UTC)) == time


@pytest.mark.parametrize(
    "properties",
    [
        "created: 2026-02-15",
        "created: 2024-13-01",
        "created: 2024-05-0100",
        "created: spring",
        "created: 2024",
        "created: [2024-05-01]",
        "created:",
        "updated: 2024-05-01",
        "due: 2024-05-01",
    ],
)
def test_what_is_no_past_date_counts_for_nothing(properties: str) -> None:
    assert created(properties) == PRESENT
    assert created(f"date: 2024-05-01\n{properties}") == "2024-05-01T12:00:00Z"


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("2024-05-01.md", "2024-05-01"),
        ("2024-05-01 Team meeting.md", "2024-05-01"),
        ("2024_05_01.md", "2024-05-01"),
        ("2024.05.01.md", "2024-05-01"),
        ("20240501.md", "2024-05-01"),
        ("202405011530 Lisbon.md", "2024-05-01"),
        ("20240501153059.md", "2024-05-01"),
        ("2024-05.md", None),
        ("2024-13-01.md", None),
        ("2027-05-01.md", None),
        ("202405019 invoice.md", None),
        ("Meeting 2024-05-01.md", None),
    ],
)
def test_a_daily_note_was_created_on_its_day(name: str, day: str | None) -> None:
    assert created(path=f"Daily/{name}") == (f"{day}T12:00:00Z" if day else PRESENT)


def test_a_note_without_a_date_was_created_before_it_was_last_saved() -> None:
    assert created(saved=NOW - timedelta(days=400)) == "2025-01-10T13:45:00Z"
    assert created(saved=NOW - timedelta(hours=23)) == PRESENT
    assert created(saved=NOW + timedelta(days=9)) == PRESENT
    assert created(saved=datetime(1980, 1, 1, tzinfo=UTC)) == PRESENT


@given(
    saved=st.integers(-(2**80), 2**80), name=st.from_regex(r"[0-9_.-]{1,20}\.md", fullmatch=True)
)
def test_no_note_is_created_in_the_future(saved: int, name: str) -> None:
    assert to_microseconds(created(path=name, saved=saved)) <= to_microseconds(PRESENT)
