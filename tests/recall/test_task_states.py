"""The check boxes of a note."""

from __future__ import annotations

import pytest

from vaultsync.model.fact import Fact
from vaultsync.recall.task_states import check_boxes, closed_status

NOTES: dict[str, list[tuple[str, str]]] = {
    "- [ ] Buy milk": [("Buy milk", "")],
    "Monday\n\n* [ ] One\n\t+ [/] Two\r\n3. [ ] Three": [("One", ""), ("Two", ""), ("Three", "")],
    "> [!todo]\n> - [ ] In a callout": [("In a callout", "")],
    "- [ ] Pay rent 📅 2026-12-01 ⏫": [("Pay rent 📅 2026-12-01 ⏫", "2026-12-01")],
    "- [ ] Pay rent [due:: 2026-12-01]": [("Pay rent [due:: 2026-12-01]", "2026-12-01")],
    "- [ ] Sign ➕ 2026-11-01": [("Sign ➕ 2026-11-01", "")],
    "- [ ] Sign <!-- by hand -->": [("Sign", "")],
    "- [x] Done\n- [X] Done\n- [-] Cancelled\n- [>] Moved": [],
    "- [ ]\n- [ ] \n- [ ] <!-- nothing -->": [],
    "```\n- [ ] An example\n```\nThe sign [ ] is a box, and -[ ] or [ ] this is none.": [],
    "- [ ](https://example.org) a link": [],
}


@pytest.mark.parametrize("content", NOTES)
def test_open_check_boxes_have_a_text_and_perhaps_a_due_date(content: str) -> None:
    boxes = [each for each in check_boxes(content) if each.is_open]
    assert [(each.text, each.due) for each in boxes] == NOTES[content]
    assert all(each.line in content and each.text in each.line for each in boxes)


def test_a_closed_check_box_is_done_or_cancelled() -> None:
    boxes = check_boxes("- [x] One\n- [X] Two [ ]\n- [-] Three\n- [ ] Four [x]\n- [>] Five")
    assert [(each.text, each.is_open) for each in boxes] == [
        *(("One", False), ("Two [ ]", False), ("Three", False), ("Four [x]", True))
    ]


def test_only_tasks_and_promises_have_a_status_that_closes_them() -> None:
    assert closed_status(Fact("a", type="task", status="Done")) == "Done"
    assert closed_status(Fact("a", type="commitment", own={"commitmentStatus": "kept"})) == "kept"
    assert closed_status(Fact("a", type="task")) == ""
    assert closed_status(Fact("a", type="note", status="done")) == ""
