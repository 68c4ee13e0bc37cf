from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultsync.indexing.note_series import REACH, series_place
from vaultsync.model.paths import VaultPath

ROWS = [
    ("a/01.md", "a/02.md"),
    ("a/9.md", "a/10.md"),
    ("a/07 Lisbon.md", "a/08 Porto.md"),
    ("a/1. Why.md", "a/2. How.md"),
    ("Chapter 9.md", "chapter 10.md"),
    ("a/2026-04-30.md", "a/2026-05-01.md"),
    ("a/20261231.md", "a/20270101.md"),
    ("a/2026-04-09 1.md", "a/2026-04-09 2.md"),
    ("a/202604092358 Tea.md", "a/202604100003.md"),
    ("a/2026-04-09 15.30.05 Tea.md", "a/2026-04-09T15-38.md"),
]
APART = [
    ("a/01.md", "b/02.md"),
    ("a/01.md", "a/05.md"),
    ("a/Chapter 1.md", "a/Verse 2.md"),
    ("a/2026-04-01.md", "a/2026-04-08.md"),
    ("a/2026-04-09 1.md", "a/2026-04-10 2.md"),
    ("a/202604091530 Tea.md", "a/202604091541 Milk.md"),
]
ALONE = [
    "a/Tea.md",
    "Tea.md",
    "a/.md",
    "a/2026-04-09 Tea.md",
    "a/2026-04-09-tea-2.md",
    "a/2026-13-40.md",
    "a/20260409123.md",
    "a/2026 Budget.md",
    "a/Order 12345678.md",
]


def is_near(one: str, other: str) -> bool:
    left, right = series_place(VaultPath(one)), series_place(VaultPath(other))
    assert left is not None
    assert right is not None
    return left.series == right.series and abs(left.number - right.number) <= REACH


@pytest.mark.parametrize(("one", "other"), ROWS)
def test_notes_are_in_a_row_by_number_by_day_and_by_time(one: str, other: str) -> None:
    assert is_near(one, other)
    before, after = series_place(VaultPath(one)), series_place(VaultPath(other))
    assert before is not None
    assert after is not None
    assert before.number < after.number


@pytest.mark.parametrize(("one", "other"), APART)
def test_other_folders_other_names_and_gaps_part_them(one: str, other: str) -> None:
    assert not is_near(one, other)


@pytest.mark.parametrize("path", ALONE)
def test_a_note_without_such_a_name_is_in_no_row(path: str) -> None:
    assert series_place(VaultPath(path)) is None


@given(st.text())
def test_every_path_has_an_answer(path: str) -> None:
    place = series_place(VaultPath(path))
    assert place is None or place.series.startswith(path.rpartition("/")[0])
