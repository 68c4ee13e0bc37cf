"""The open check boxes of a note: `- [ ] buy milk 📅 2026-12-01`."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from vaultsync.markdown.blocks import without_code
from vaultsync.model.lazy_pattern import lazy_pattern

_SIGNS = ("[ ]", "[/]")
"""To do, and in progress; any other sign means done or cancelled, or is of a user's own."""
_KEPT_NOTES = 512
"""Notes whose boxes stay in memory: a question for tasks reads those of a note up to five times."""
_OPEN = lazy_pattern(r"\n[ \t>]*((?:[-*+]|\d{1,9}[.)])[ \t]+\[[ /]\][ \t]+)(\S.*)")
_COMMENT = lazy_pattern(r"<!--(?:(?!<!--|-->).)*-->")
_DUE = lazy_pattern(r"(?:📅\ufe0f?[ ]*|\bdue::[ ]*)(\d{4}-\d\d-\d\d)")
"""The due date as the plugins Tasks and Dataview write it."""


class OpenBox(NamedTuple):
    """An open check box."""

    line: str
    """Its line as written, without indentation."""
    text: str
    """What is to be done: the line without markup."""
    due: str
    """Its due date, ISO; empty if it has none."""


def open_boxes(content: str) -> tuple[OpenBox, ...]:
    """The open check boxes of a note, in order, without those in fenced code."""
    return _boxes(content) if any(map(content.__contains__, _SIGNS)) else ()


@lru_cache(_KEPT_NOTES)
def _boxes(content: str) -> tuple[OpenBox, ...]:
    boxes = []
    for mark, rest in _OPEN.findall("\n" + without_code(content)):
        due = _DUE.search(rest)
        if text := _COMMENT.sub("", rest).strip():
            boxes.append(OpenBox(f"{mark}{rest}".rstrip(), text, due[1] if due else ""))
    return tuple(boxes)
