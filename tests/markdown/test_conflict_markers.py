"""Conflict markers of git: found where they stand, and only there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultsync.markdown.blocks import conflict_marker_line

CONFLICT = "<<<<<<< HEAD\nOne.\n=======\nTwo.\n>>>>>>> main\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (CONFLICT, 1),
        (f"# T\n\nWords.\n{CONFLICT}", 4),
        (f"---\n{CONFLICT}---\n", 2),
        (CONFLICT.replace("\n", "\r\n"), 1),
        (CONFLICT.replace("=======", "||||||| base\nZero.\n======="), 1),
        (f"```\n{CONFLICT}```\n\n{CONFLICT}", 9),
        (f"<<<<<<< HEAD\n{CONFLICT}", 2),
        (f"```text\n{CONFLICT}```\n", None),
        ("<<<<<<< HEAD\n>>>>>>> main\n", None),
        ("=======\n>>>>>>> main\n<<<<<<< HEAD\n", None),
        (" ".join(CONFLICT.split("\n")), None),
        ("Title\n=======\n\n> quote\n", None),
        ("", None),
    ],
)
def test_conflict_markers_are_found_in_order_outside_code(text: str, line: int | None) -> None:
    assert conflict_marker_line(text.encode()) == line


@given(st.binary())
def test_any_bytes_can_be_looked_through(data: bytes) -> None:
    assert conflict_marker_line(data) is None
    assert conflict_marker_line(CONFLICT.encode() + data) == 1
