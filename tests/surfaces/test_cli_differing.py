"""Long texts are shown by what differs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.surfaces.command_line import ID, RUN
from vaultsync.cli.format_conflicts import (
    MAX_CHANGED_LINES,
    changed_lines,
    differing_parts,
    draw_conflict,
)
from vaultsync.model.paths import vault_path
from vaultsync.notes.conflict_note import COMMAND_ACTOR, ConflictRecord, FieldConflict

LINES = [f"Line {number}." for number in range(20)]
TEXTS = st.lists(st.sampled_from("abcd"), max_size=30).map("\n".join)


def with_line(number: int, text: str) -> str:
    return "\n".join([*LINES[:number], text, *LINES[number + 1 :]])


def test_texts_are_cut_to_the_lines_that_differ() -> None:
    mine, yours = with_line(10, "Mine."), with_line(10, "Yours.")

    assert differing_parts(["\n".join(LINES), mine, yours]) == [
        "…\nLine 9.\nLine 10.\nLine 11.\n…",
        "…\nLine 9.\nMine.\nLine 11.\n…",
        "…\nLine 9.\nYours.\nLine 11.\n…",
    ]


def test_short_texts_are_shown_whole() -> None:
    assert differing_parts(["a\nb", "a\nc", "–"]) == ["a\nb", "a\nc", "–"]


@given(TEXTS, TEXTS)
def test_no_line_that_only_one_text_has_is_omitted(one: str, other: str) -> None:
    shown = differing_parts([one, other])
    for mine, yours, kept in ((one, other, shown[0]), (other, one, shown[1])):
        only = set(mine.split("\n")) - set(yours.split("\n"))
        assert only <= set(kept.split("\n"))


def test_a_long_line_is_cut_around_the_change() -> None:
    before = f"{'a' * 100}b{'c' * 100}"
    shown = changed_lines(before, before.replace("b", "B"), width=32)

    assert [len(line) for line in shown] == [32, 32]
    assert shown[0].replace("b", "B").replace("-", "+") == shown[1]
    assert "B" in shown[1]


def test_a_change_of_many_lines_is_counted() -> None:
    shown = changed_lines("\n".join(LINES), "\n".join(LINES).upper(), width=40)

    assert len(shown) == MAX_CHANGED_LINES + 1
    assert shown[-1] == f"… {40 - MAX_CHANGED_LINES} more lines"


def test_a_conflict_names_who_wrote_the_stores_value(capsys: pytest.CaptureFixture[str]) -> None:
    field = FieldConflict("content", "a", "b", "c")
    conflict = ConflictRecord("1", ID, vault_path("a.md"), None, (field,), "indy", "now", RUN)

    for actor, who in (("indy", "indy"), (COMMAND_ACTOR, "command"), ("", "agent")):
        draw_conflict(replace(conflict, actor=actor))
        assert f"store ({who})" in capsys.readouterr().out
