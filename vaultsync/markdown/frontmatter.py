"""Frontmatter: split, read, and edit the lines of one property and nothing else.

A note's text is never re-dumped. `splice()` replaces the lines of the keys that change
and then proves it: the result is read again, and everything else has to be what it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import product
from typing import NamedTuple

from vaultsync.errors import UnreadableNoteError, UnsafeSpliceError
from vaultsync.markdown.yaml.key_spans import KeySpan, mark_spans, scan_spans
from vaultsync.markdown.yaml.list_edits import edit_flow, edit_items
from vaultsync.markdown.yaml.reader import jsonable, load_yaml
from vaultsync.markdown.yaml.writer import (
    INDENT,
    emit_flow_list,
    emit_property,
    emit_value,
    is_tall,
)
from vaultsync.model.schema import Value

__all__ = [
    "NoteParts",
    "edit_properties",
    "emit_property",
    "read_properties",
    "split_frontmatter",
    "split_note",
]

_BOM = "\ufeff"
_CRLF = "\r\n"
_OPENING = re.compile("\ufeff?---[ \t]*\r?\n")
_CLOSING = re.compile("---[ \t]*(?:\r?\n|\\Z)")


class NoteParts(NamedTuple):
    """A note's text in pieces that join back to it."""

    head: str
    """Byte order mark and opening fence; just the mark, or nothing, without one."""
    yaml: str
    """The lines between the fences, with their line ends."""
    fence: str
    """The closing fence with its line end; empty when there is no frontmatter."""
    body: str
    """Everything below."""
    eol: str
    """The line end of the first line, `\\n` when there is none."""

    @property
    def text(self) -> str:
        """The whole text."""
        return self.head + self.yaml + self.fence + self.body

    @property
    def has_frontmatter(self) -> bool:
        """Whether there are fences."""
        return self.fence != ""


def split_frontmatter(text: str) -> NoteParts:
    """Take a note's text apart; never raises, and `split(text).text == text`."""
    opening = _OPENING.match(text)
    if opening is None:
        return _bare(text)
    start = opening.end()
    at = text.find("\n---", start - 1)
    while at >= 0:
        closing = _CLOSING.match(text, at + 1)
        if closing is not None:
            end = closing.end()
            return NoteParts(
                text[:start],
                text[start : at + 1],
                text[at + 1 : end],
                text[end:],
                _CRLF if text[start - 2] == "\r" else "\n",
            )
        at = text.find("\n---", at + 1)
    return _bare(text)


def _bare(text: str) -> NoteParts:
    head = _BOM if text.startswith(_BOM) else ""
    at = text.find("\n")
    eol = _CRLF if at > 0 and text[at - 1] == "\r" else "\n"
    return NoteParts(head, "", "", text[len(head) :], eol)


def read_properties(parts: NoteParts, path: str) -> dict[str, Value]:
    """The properties; none when there is no frontmatter.

    Raises:
        UnreadableNoteError: the frontmatter is no YAML, no map, or holds what a note
            cannot: tags, merges, duplicate keys, names that are not text, too much.
    """
    if not parts.yaml:
        return {}
    values = load_yaml(parts.yaml, path)
    if values is None:
        why = "the frontmatter is no list of `name: value`"
        raise UnreadableNoteError(path, why, line=2)
    return values


def split_note(text: str, path: str) -> tuple[NoteParts, dict[str, Value]]:
    """Take a note apart and read its properties.

    What stands between two rules and is YAML, but no map, is prose: all of it is body.

    Raises:
        UnreadableNoteError: as `read()`.
    """
    parts = split_frontmatter(text)
    if not parts.yaml:
        return parts, {}
    values = load_yaml(parts.yaml, path)
    if values is None:
        return _bare(text), {}
    return parts, values


def edit_properties(
    parts: NoteParts,
    changes: Mapping[str, Value | None],
    path: str,
    *,
    before: dict[str, Value] | None = None,
) -> NoteParts:
    """Replace the lines of the keys in `changes`; None removes one, new ones come last.

    Args:
        parts: the note.
        changes: the new values by key.
        path: of the note, for errors.
        before: the properties as `read()` gave them, when the caller has them.

    Raises:
        UnreadableNoteError: the note itself cannot be read.
        UnsafeSpliceError: the edit could not be proved to change these keys only.
    """
    if before is None:
        before = read_properties(parts, path)
    try:
        edits, expected = _intended(before, changes)
        if not edits:
            return parts
        parts = _fenced(parts)
        why = "its properties cannot be told apart line by line"
        indents = (INDENT, "") if any(map(is_tall, edits.values())) else (INDENT,)
        for indent, find_spans in product(indents, (scan_spans, mark_spans)):
            edit = _edited(parts, edits, before, find_spans, indent)
            if edit is None:
                continue
            flaw = _edit_flaw(parts, edit, expected, path)
            if flaw is None:
                return edit
            why = flaw
    except ValueError as error:
        raise UnsafeSpliceError(path, str(error)) from error
    raise UnsafeSpliceError(path, why)


def _intended(
    before: dict[str, Value], changes: Mapping[str, Value | None]
) -> tuple[dict[str, Value], dict[str, Value]]:
    """What really changes (None: goes), and all properties as they are to be."""
    edits: dict[str, Value] = {}
    expected = dict(before)
    for key, value in changes.items():
        if value is None:
            if key in expected:
                del expected[key]
                edits[key] = None
            continue
        meant = jsonable(value)
        if key not in before or repr(before[key]) != repr(meant):
            expected[key] = edits[key] = meant
    return edits, expected


def _fenced(parts: NoteParts) -> NoteParts:
    if parts.fence:
        return parts
    fence = f"---{parts.eol}"
    return NoteParts(parts.head + fence, "", fence, parts.body, parts.eol)


def _edited(
    parts: NoteParts,
    edits: Mapping[str, Value],
    before: dict[str, Value],
    find_spans: Callable[[str, list[str], list[str], set[str]], dict[str, KeySpan] | None],
    indent: str,
) -> NoteParts | None:
    """The note with other lines for some keys; all others are those it had.

    `indent` is that of a new text of several lines, empty to have it in quotes.
    """
    old = parts.yaml.split("\n")[:-1]
    known = edits.keys() & before.keys()
    spans = find_spans(parts.yaml, old, list(before), known) if known else {}
    if spans is None:
        return None
    end = "\r" if parts.eol == _CRLF else ""
    new: list[str] = []
    at = 0
    for key, span in sorted(spans.items(), key=lambda item: item[1].start):
        if span.start < at:
            return None
        new += old[at : span.start]
        lines = old[span.start : span.end]
        new += _lines_for(span, edits[key], before[key], lines, end=end, indent=indent)
        at = span.end
    new += old[at:]
    added = [key for key in edits if key not in before]
    for key in added:
        lines = emit_property(key, edits[key], "\n", indent=indent).split("\n")[:-1]
        new += [line + end for line in lines]
    yaml = "".join([line + "\n" for line in new])
    return NoteParts(parts.head, yaml, parts.fence, parts.body, parts.eol)


def _lines_for(
    span: KeySpan, value: Value, was: Value, lines: list[str], *, end: str, indent: str
) -> list[str]:
    """The lines that stand for `value` where `lines` said `was`."""
    if value is None:
        return []
    beside = None
    if isinstance(value, list) and isinstance(was, list):
        if not span.value:
            below = edit_items(lines[1:], was, value, end=end)
            if below is not None:
                return [lines[0], *below]
        elif span.value[0] == "[":
            beside = edit_flow(span.value, was, value) or emit_flow_list(value)
    if indent and span.value[:1] in ("|", ">"):  # an indent of the author's stays
        text = next((line for line in lines[1:] if line.strip()), "")
        indent = text[: len(text) - len(text.lstrip(" "))] or indent
    first, items = (beside, []) if beside else emit_value(value, indent=indent)
    text = f"{span.gap or ' '}{first}" if first else ""
    return [span.prefix + text + span.tail + end, *(item + end for item in items)]


def _edit_flaw(old: NoteParts, new: NoteParts, expected: dict[str, Value], path: str) -> str | None:
    """Why the edit is not what was meant; None when it is proved to be."""
    if split_frontmatter(new.text) != new or (new.head, new.fence, new.body) != (
        old.head,
        old.fence,
        old.body,
    ):
        return "the frontmatter would end elsewhere"
    try:
        found = read_properties(new, path)
    except UnreadableNoteError as error:
        return f"the result could not be read ({error.why})"
    # The text of values tells 1 from 1.0 from true, and the order of keys; == does not.
    if repr(found) != repr(expected):
        return "other properties would change, or the new value would read differently"
    return None
