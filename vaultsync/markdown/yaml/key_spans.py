"""Find the lines of each property in frontmatter.

Only the beginnings of lines are read, in microseconds. That may be wrong on hostile text, so
callers verify the result of an edit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import yaml_rs

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
    """The value behind the colon, of one line or more; empty when it is below, or none."""
    tail: str
    """The comment behind the value, with the blanks before it."""


_BEGIN = r"(?:&\S++[ \t]++)?(?P<name>\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'|[^\s\"']"
"""The name of a property, or the first letter of it, behind the anchor that it may have."""
_KEY = lazy_pattern(rf"{_BEGIN}(?:[ \t]*+[^ \t])*?)[ \t]*+:(?=[ \t\r]|\Z)")
_EXPLICIT_KEY = lazy_pattern(rf"\?[ ]+{_BEGIN}(?:.*[^ \t\r])?)[ \t]*\r?\Z")
"""A key alone on its line, whose value follows on another one, behind a colon."""
_QUOTED = r"\"(?>(?:[^\"\\]|\\.)*)\"|'(?>(?:[^']|'')*)'"
_OPENED = r"[\s\[{,:]"
"""What is before a quote that begins an item; in others, such as `don't`, it is a letter."""
_REST = lazy_pattern(
    r"(?P<gap>[ \t]*+(?!#)|[ \t]*?(?=[ \t]#))"
    rf"(?P<value>{_QUOTED}"
    rf"|[\[{{](?:(?<={_OPENED})(?:{_QUOTED}|#[^\n]*+)|(?<!{_OPENED})[\"'#]|[^\"'#])*[\]}}]"
    r"|(?P<block>[|>][0-9+-]*)"
    r"|[^ \t\r\n\"'#|>!\[\]{}%@`,][^ \t\r\n]*+(?>(?:[ \t\r\n]++(?!#)[^ \t\r\n]++)*)"
    r"|)"
    r"(?P<tail>(?:[ \t]+#[^\r\n]*+)?)(?>(?:[ \t\r]*+\n(?:[ \t]*+#[^\n]*+)?)*)[ \t\r]*+\Z",
    re.DOTALL,
)
"""A value of one line or more, and the comments below it, which are not part of it."""


def key_spans(lines: list[str], keys: list[str], wanted: set[str]) -> dict[str, KeySpan] | None:
    """The spans of the `wanted` keys; None when one of them cannot be told apart.

    `keys` are all top-level keys in order, as the parser read them. Each begins a line; other
    lines in the first column belong to the value above.
    """
    starts: list[int] = []
    for number, line in enumerate(lines):
        if len(starts) < len(keys) and _begins(line, keys[len(starts)]):
            starts.append(number)
    spans: dict[str, KeySpan] = {}
    for key, start, stop in zip(keys, starts, [*starts[1:], len(lines)], strict=False):
        span = _span(lines, start, stop, key) if key in wanted else None
        if span is not None:
            spans[key] = span
    return spans if spans.keys() == wanted else None


def _begins(line: str, key: str) -> bool:
    pattern = _EXPLICIT_KEY if line.startswith("? ") else _KEY
    found = pattern.match(line) if line.startswith((key, '"', "'", "&", "? ")) else None
    if found is None:
        return False
    name: object = found["name"]
    if found["name"][0] in "\"'":
        name = yaml_rs.loads(found["name"])
    return name == key


def _span(lines: list[str], start: int, stop: int, name: str) -> KeySpan | None:
    if lines[start].startswith("? "):
        stop = _without_trailing(lines, start, stop, header="")
        has_comments = any("#" in line for line in lines[start:stop])
        return None if has_comments else KeySpan(start, stop, f"{key_text(name)}:", "", "", "")
    key = _KEY.match(lines[start])
    assert key is not None  # noqa: S101 - the line was found by it
    found = _REST.match(lines[start], key.end())
    if found is not None and (found["block"] or not found["value"]):
        stop = _without_trailing(lines, start, stop, header=found["block"] or "")
    else:
        if start + 1 < stop:
            found = _REST.match("\n".join(lines[start:stop]), key.end())
        if found is None:
            return None
        stop = start + 1 + found.string.count("\n", 0, found.end("tail"))
    gap = found["gap"] if found["value"] else ""
    return KeySpan(start, stop, key[0], gap, found["value"], found["tail"])


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
