"""Split and read frontmatter, and edit the lines of single properties.

Frontmatter is never serialized as a whole, unless it is JSON. `edit_properties()` replaces the
lines of the keys that change, then parses the result to prove that all other properties are
unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from itertools import product
from typing import NamedTuple

from vaultsync.errors import UnreadableNoteError, UnsafeSpliceError
from vaultsync.markdown.yaml.key_spans import KeySpan, key_spans
from vaultsync.markdown.yaml.list_edits import comments_in, edit_flow, edit_items
from vaultsync.markdown.yaml.reader import jsonable, load_yaml
from vaultsync.markdown.yaml.writer import (
    INDENT,
    emit_flow_list,
    emit_property,
    emit_value,
    is_tall,
    quoted,
)
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.schema import Value

_BOM = "\ufeff"
_CRLF = "\r\n"
_OPENING = lazy_pattern("\ufeff?---[ \t]*\r?\n")
_CLOSING = lazy_pattern("---[ \t]*(?:\r?\n|\\Z)")


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


def split_frontmatter(text: str) -> NoteParts:
    """Split a note; never raises, and `split_frontmatter(text).text == text`."""
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
        UnreadableNoteError: the frontmatter is not YAML or not a map, or it contains tags,
            merges, duplicate keys, names that are not text, or too much.
    """
    if not parts.yaml:
        return {}
    values = load_yaml(parts.yaml, path)
    if values is None:
        why = "the frontmatter is not a list of `name: value`"
        raise UnreadableNoteError(path, why, line=2)
    return values


def split_note(text: str, path: str) -> tuple[NoteParts, dict[str, Value]]:
    """Split a note and read its properties.

    Text between two rules that is YAML, but not a map, is prose: all of the note is body.
    Raises as `read_properties()`.
    """
    parts = split_frontmatter(text)
    if not parts.yaml:
        return parts, {}
    values = load_yaml(parts.yaml, path)
    if values is None:
        return _bare(text), {}
    return parts, values


def edit_properties(
    parts: NoteParts, changes: Mapping[str, Value | None], path: str, *, before: Mapping[str, Value]
) -> NoteParts:
    """Replace the lines of the keys in `changes`; None removes a key, new keys come last.

    Frontmatter in JSON becomes YAML, as it does when Obsidian edits a property.

    `before` is the result of `read_properties()`.

    Raises:
        UnsafeSpliceError: the edit could not be proved to change only these keys.
    """
    try:
        edits, expected = _intended(before, changes)
        if not edits:
            return parts
        parts = _fenced(parts)
        if _is_json(parts.yaml):
            parts, edits, before = parts._replace(yaml=""), expected, {}
        why = "its properties do not begin on separate lines"
        indents = (INDENT, "") if any(map(is_tall, edits.values())) else (INDENT,)
        old, margin = _without_margin(parts.yaml.split("\n")[:-1])
        end = "\r" if parts.eol == _CRLF else ""
        for keeps_items, indent in product((True, False), indents):
            new = _edited_lines(old, edits, before, _Splice(indent, keeps_items, end))
            if new is None:
                continue
            edit = parts._replace(yaml="\n".join([*_with_margin(new, margin), ""]))
            flaw = _edit_flaw(parts, edit, expected, path)
            if flaw is None:
                return edit
            why = flaw
    except ValueError as error:
        raise UnsafeSpliceError(path, str(error)) from error
    raise UnsafeSpliceError(path, why)


def _intended(
    before: Mapping[str, Value], changes: Mapping[str, Value | None]
) -> tuple[dict[str, Value], dict[str, Value]]:
    """The real changes (None: removed), and all properties after them."""
    edits: dict[str, Value] = {}
    expected = dict(before)
    for key, value in changes.items():
        if value is None:
            if key in expected:
                del expected[key]
                edits[key] = None
            continue
        new = jsonable(value)
        if key not in before or repr(before[key]) != repr(new):
            expected[key] = edits[key] = new
    return edits, expected


def _fenced(parts: NoteParts) -> NoteParts:
    if parts.fence:
        return parts
    fence = f"---{parts.eol}"
    return NoteParts(parts.head + fence, "", fence, parts.body, parts.eol)


def _is_json(yaml: str) -> bool:
    """Whether the frontmatter is a JSON object, whose keys may share a line."""
    if not yaml.startswith("{"):
        return False
    try:
        json.loads(yaml)
    except ValueError:
        return False
    return True


class _Splice(NamedTuple):
    """How new lines are written."""

    indent: str
    """The indent of new literal blocks; empty to quote such texts."""
    keeps_items: bool
    """Whether items of lists keep their lines, which may be wrong for some."""
    end: str
    """What precedes the line feed of added lines."""


def _edited_lines(
    old: list[str], edits: Mapping[str, Value], before: Mapping[str, Value], splice: _Splice
) -> list[str] | None:
    """The lines of a map with new lines for some keys."""
    known = edits.keys() & before.keys()
    spans = key_spans(old, list(before), known) if known else {}
    if spans is None:
        return None
    new: list[str] = []
    at = 0
    for key, span in sorted(spans.items(), key=lambda item: item[1].start):
        new += old[at : span.start]
        lines = old[span.start : span.end]
        new += _lines_for(span, edits[key], before[key], lines, splice)
        at = span.end
    new += old[at:]
    added = [key for key in edits if key not in before]
    for key in added:
        lines = emit_property(key, edits[key], indent=splice.indent).split("\n")[:-1]
        new += [line + splice.end for line in lines]
    return new


def _without_margin(lines: list[str]) -> tuple[list[str], str]:
    """The lines without the blanks before all of them, and these; blank lines have none."""
    first = lines[0] if lines else ""
    margin = first[: len(first) - len(first.lstrip(" "))]
    if not margin or not all(
        line.startswith(margin) and line.strip() for line in lines if line.rstrip("\r")
    ):
        return lines, ""
    return [line.removeprefix(margin) for line in lines], margin


def _with_margin(lines: list[str], margin: str) -> list[str]:
    return [margin + line if line.rstrip("\r") else line for line in lines] if margin else lines


def _lines_for(
    span: KeySpan, value: Value, was: Value, lines: list[str], splice: _Splice
) -> list[str]:
    """The lines of `value` in place of `lines`, which are those of `was`."""
    if value is None:
        return []
    beside, indent = None, splice.indent
    end = "\r" if lines[0].endswith("\r") else ""  # a file may have both line ends
    if isinstance(value, list) and isinstance(was, list):
        if not span.value and splice.keeps_items:
            edit_map = partial(_edited_map, splice=splice._replace(end=end))
            below = edit_items(lines[1:], was, value, end=end, edit_map=edit_map)
            if below is not None:
                return [lines[0], *below]
        elif span.value[:1] == "[":
            beside = edit_flow(span.value, was, value) or emit_flow_list(value)
    elif isinstance(value, str) and isinstance(was, str):
        beside = _in_quotes_of(span.value, was, value)
    if indent and span.value[:1] in ("|", ">"):  # keep the author's indent
        text = next((line for line in lines[1:] if line.strip()), "")
        indent = text[: len(text) - len(text.lstrip(" "))] or indent
    first, items = (beside, []) if beside else emit_value(value, indent=indent)
    text = f"{span.gap or ' '}{first}" if first else ""
    comments = [] if span.value else comments_in(lines[1:])
    return [span.prefix + text + span.tail + end, *(item + end for item in items), *comments]


def _edited_map(
    lines: list[str], was: Value, now: Mapping[str, Value], *, splice: _Splice
) -> list[str] | None:
    """The lines of a map in a list, as an `EditMap`."""
    assert isinstance(was, Mapping)  # noqa: S101 - it has values in common with `now`
    edits, _ = _intended(was, {**dict.fromkeys(was), **now})
    return _edited_lines(lines, edits, was, splice)


def _in_quotes_of(old: str, was: str, value: str) -> str | None:
    """A new text in the quotes of the old one, if it was quoted by choice; else None."""
    if "\n" in old + value or emit_value(was)[0] == old:
        return None
    if old.startswith('"'):
        return quoted(value)
    if old.startswith("'") and value.isprintable() and "'" not in value:
        return f"'{value}'"
    return None


def _edit_flaw(old: NoteParts, new: NoteParts, expected: dict[str, Value], path: str) -> str | None:
    """Why the edit is wrong; None when it is proved to be right."""
    if split_frontmatter(new.text) != new or (new.head, new.fence, new.body) != (
        old.head,
        old.fence,
        old.body,
    ):
        return "the frontmatter would end at a different line"
    try:
        found = read_properties(new, path)
    except UnreadableNoteError as error:
        return f"the result could not be read ({error.why})"
    # repr() distinguishes 1, 1.0 and true, and the order of keys; == does not.
    if repr(found) != repr(expected):
        return "other properties would change, or the new value would read differently"
    return None
