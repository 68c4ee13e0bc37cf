"""Canvases follow the notes that they link to, and an undo gives them their bytes back."""

from __future__ import annotations

import json

import pytest

from tests.operations.test_relink import NEW, Moving
from vaultsync.notes.view import IDENTITY_VIEW
from vaultsync.operations.undo import undo_run
from vaultsync.storage.archive import CANVAS_FIELD
from vaultsync.sync.history import readable_history
from vaultsync.sync.report import Report

BOARD = "Boards/Plan.canvas"


def _board(path: str) -> str:
    cards = [
        {"id": "1", "type": "file", "file": path, "x": 0},
        {"id": "2", "type": "text", "text": "Ask [[Alice]] – ü"},
    ]
    return json.dumps({"nodes": cards, "edges": []}, indent="\t", ensure_ascii=False)


@pytest.fixture
def world() -> Moving:
    return Moving()


def _moved(world: Moving) -> tuple[str, Report]:
    """The text of a board before its note moved, and the run that found that."""
    path = world.path(world.alice().id)
    text = _board(path)
    world.person_writes(BOARD, text)
    world.person_renames(path, NEW)
    return text, world.sync()


def test_a_canvas_follows_a_note_that_moved(world: Moving) -> None:
    text, report = _moved(world)

    after = text.replace("team-core/people/Alice.md", NEW).replace("[[Alice]]", "[[Alice Smith]]")
    assert world.text(BOARD) == after
    assert (BOARD, "update_vault") in {(each.path, each.action) for each in report.actions}
    assert report.counts["updated_in_vault"] == 1
    assert world.archive.runs(limit=1)[0].report["counts"] == report.counts
    assert not world.vault.ops()
    world.assert_at_rest()


def test_undo_gives_a_canvas_its_bytes_back_and_the_undo_can_be_undone(world: Moving) -> None:
    text, report = _moved(world)
    moved = world.text(BOARD)

    undone = undo_run(world.ctx, report.run)

    assert world.text(BOARD) == text
    assert BOARD in {each.path for each in undone.actions}
    undo_run(world.ctx, undone.run)
    assert world.text(BOARD) == moved


def test_undo_keeps_a_canvas_that_was_changed_since(world: Moving) -> None:
    _, report = _moved(world)
    world.person_edits(BOARD, "Ask", "Tell")
    text = world.text(BOARD)

    undone = undo_run(world.ctx, report.run)

    assert world.text(BOARD) == text
    assert [(each.path, each.action) for each in undone.actions] == [(BOARD, "keep")]


def test_a_canvas_that_is_saved_meanwhile_keeps_what_was_saved(world: Moving) -> None:
    path = world.path(world.alice().id)
    world.person_writes(BOARD, _board(path))
    world.person_renames(path, NEW)

    def save(method: str) -> None:
        if method == "exchange":
            world.vault.before = lambda _: None
            world.vault.save_in_place(BOARD, b"{}")

    world.vault.before = save

    report = world.sync()

    assert world.text(BOARD) == "{}"
    assert BOARD not in {each.path for each in report.actions}


def test_a_canvas_that_cannot_be_read_or_does_not_link_is_left_alone(world: Moving) -> None:
    world.person_writes("Boards/Bad.canvas", b"\xff")
    world.person_writes("Boards/Odd.canvas", "[]")
    world.person_writes("Boards/Other.canvas", _board("Bob.md").replace("Alice", "Bob"))
    _, report = _moved(world)

    assert world.data("Boards/Bad.canvas") == b"\xff"
    assert (report.counts["moved"], {each.path for each in report.actions}) == (1, {NEW, BOARD})
    history = world.archive.history(field=CANVAS_FIELD)
    shown = [(x.before, x.after) for x in readable_history(history, IDENTITY_VIEW, None)]
    assert shown == [(BOARD, BOARD)]


def test_without_a_move_no_canvas_is_read(world: Moving) -> None:
    path = world.path(world.alice().id)
    world.person_writes(BOARD, _board(path))
    world.person_edits(path, "Knows", "Has")
    read: list[str] = []
    world.vault.before = read.append

    world.sync()

    assert "canvases" not in read
