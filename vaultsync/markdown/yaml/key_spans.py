"""Find the lines of each property in frontmatter.

`scan_spans()` reads the first column only, in microseconds, and returns None when that is not
enough; `mark_spans()` uses the positions of a full parser. Both may be wrong on hostile text,
so callers verify the result of an edit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from vaultsync.markdown.yaml.positions import KeyNodes, key_positions
from vaultsync.markdown.yaml.writer import key_text
from vaultsync.model.lazy_pattern import lazy_pattern


@dataclass(frozen=True, slots=True)
class KeySpan:
    """The lines of a property, and the parts of its first line."""

    start: int
    end: int
    """The line behind the last one."""
    prefix: str
    """`key:` as the author wrote it."""
    gap: str
    """Blanks between the colon and the value."""
    value: str
    """The value behind the colon; empty when it is below, or there is none."""
    tail: str
    """The comment behind the value, with the blanks before it."""


_REST = lazy_pattern(
    r"(?P<gap>[ \t]*+(?!#)|[ \t]*?(?=[ \t]#))"
    r"(?P<value>"
    r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'"
    r"|(?P<flow>[\[{](?:\"(?:[^\"\\]|\\.)*\"|(?<![ \t])#|[^\"#])*[\]}])"
    r"|(?P<block>[|>][0-9+-]*)"
    r"|[^ \t\"'#|>&*!\[\]{}%@`,][^ \t]*(?:[ \t]+[^ \t#][^ \t]*)*"
    r"|)"
    r"(?P<tail>(?:[ \t]+#.*)?)[ \t]*\Z",
    re.DOTALL,
)
_TAIL = lazy_pattern(r"(?P<tail>(?:[ \t]+#.*)?)[ \t]*\Z")
_COLON = lazy_pattern(r"[ \t]*:")
_NO_KEY = " \t#\r-"
"""First characters of lines that do not begin a property."""


def scan_spans(
    yaml: str, lines: list[str], keys: list[str], wanted: set[str]
) -> dict[str, KeySpan] | None:
    """The spans of the `wanted` keys; None when the first column is not enough.

    `keys` are all top-level keys in order, as the parser read them.
    """
    if "\r" in yaml and yaml.count("\r") != yaml.count("\r\n"):
        return None
    starts: list[int] = []
    names: list[str] = []
    for number, line in enumerate(lines):
        if line[:1] in _NO_KEY:  # so is an empty line
            continue
        name = line[: _colon(line)]
        names.append(_unquoted(name.rstrip(" \t")))
        starts.append(number)
    if names != keys:
        return None
    starts.append(len(lines))
    spans: dict[str, KeySpan] = {}
    for place, key in enumerate(keys):
        if key in wanted:
            span = _span(lines, starts[place], starts[place + 1])
            if span is None:
                return None
            spans[key] = span
    return spans


def _colon(line: str) -> int:
    """Where the colon behind the key is; the end of the line when there is none."""
    at = line.find(": ")
    if at < 0:
        at = len(line.rstrip(" \t\r")) - 1
        if line[at] != ":":
            return len(line)
    return at


def _unquoted(name: str) -> str:
    if name[:1] == '"' and "\\" not in name:
        return name[1:-1]
    if name[:1] == "'":
        return name[1:-1].replace("''", "'")
    return name


def _span(lines: list[str], start: int, stop: int) -> KeySpan | None:
    line = lines[start].removesuffix("\r")
    colon = _colon(line) + 1
    found = _REST.match(line, colon)
    if found is None:
        return None
    value = found["value"]
    stop = _without_trailing(lines, start, stop, header=found["block"] or "")
    if value and not found["block"]:
        # Comments below a complete value are not part of it. Anything else makes it a value
        # of several lines.
        below = (each.strip(" \t\r") for each in lines[start + 1 : stop])
        if any(text and text[0] != "#" for text in below):
            return None
        stop = start + 1
    gap = found["gap"] if value else ""
    return KeySpan(start, stop, line[:colon], gap, value, found["tail"])


def _without_trailing(lines: list[str], start: int, stop: int, *, header: str) -> int:
    """Leave out the blank lines and the comments in the first column that follow.

    Blank lines below a block of text are part of it when its `header` is such as `|+`.
    """
    last = stop
    while stop > start + 1 and (lines[stop - 1][:1] == "#" or not lines[stop - 1].strip(" \t\r")):
        stop -= 1
    while "+" in header and stop < last and lines[stop][:1] != "#":
        stop += 1
    return stop


def mark_spans(
    yaml: str, lines: list[str], keys: list[str], wanted: set[str]
) -> dict[str, KeySpan] | None:
    """As `scan_spans()`, by the positions of a full parser."""
    marks = key_positions(yaml)
    if marks is None or [mark.key.text for mark in marks] != keys:
        return None
    spans: dict[str, KeySpan] = {}
    for name, mark, follower in zip(keys, marks, [*marks[1:], None], strict=True):
        if name in wanted:
            stop = yaml.count("\n", 0, follower.key.start) if follower else len(lines)
            spans[name] = _marked(yaml, lines, mark, stop)
    return spans


def _marked(yaml: str, lines: list[str], mark: KeyNodes, stop: int) -> KeySpan:
    start = yaml.count("\n", 0, mark.key.start)
    line = lines[start].removesuffix("\r")
    empty = mark.value.start == mark.end.end
    if empty:  # the position is somewhere below, behind blank lines and comments
        stop = start + 1
    else:
        behind = yaml.count("\n", 0, mark.end.end)
        if yaml[mark.end.end - 1] != "\n":
            behind += 1
        stop = max(start + 1, min(behind, stop))
        if mark.value.style in ("block", "|", ">"):
            header = yaml[mark.value.start :].partition("\n")[0].partition("#")[0]
            header = header if mark.value.style != "block" else ""
            stop = _without_trailing(lines, start, stop, header=header)
    line_start = yaml.rfind("\n", 0, mark.key.start) + 1
    colon = _COLON.match(line, mark.key.end - line_start)
    rest = _REST.match(line, colon.end()) if colon else None
    beside = not empty and "\n" not in yaml[mark.key.start : mark.value.start]
    if not empty and mark.value.style not in ("block", "|", ">"):
        end_of_line = yaml.find("\n", mark.end.end)
        tail = _TAIL.match(yaml[mark.end.end : end_of_line].removesuffix("\r"))
    else:
        tail = rest
    if colon is None or line[: mark.key.start - line_start].strip(" "):  # `? key`
        prefix = f"{key_text(mark.key.text or '')}:"
    else:
        prefix = line[: colon.end()]
    value = yaml[mark.value.start : mark.end.end] if beside else ""
    return KeySpan(start, stop, prefix, " ", value, tail["tail"] if tail else "")
