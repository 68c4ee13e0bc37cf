"""The lines of a block list, edited item by item.

People write comments into lists of tags and sort them by hand. What stays in the list
keeps its line as it is; so does every comment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from vaultsync.core.fields import Value
from vaultsync.core.yaml_emit import inline

# `  - item  # comment`: an item that is complete on its line.
_ITEM = re.compile(
    r"([ ]*)-[ ]+"
    r"(?:\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'"
    r"|(?:[^ \t\r\"'#|>&*!\[\]{}%@`,?:-]|[?:-](?=[^ \t\r]))[^ \t\r]*"
    r"(?:[ \t]+[^ \t\r#][^ \t\r]*)*)"
    r"(?:[ \t]+#[^\r]*)?[ \t\r]*\Z"
)


@dataclass(frozen=True, slots=True)
class _Items:
    """The lines of a list."""

    indent: str
    lines: list[str]
    """One an item."""
    above: list[list[str]]
    """Comments and blank lines above each item, and at last those below them all."""


def edit_items(
    lines: list[str], was: list[Value], value: list[Value], *, end: str
) -> list[str] | None:
    """The lines of the list `value` made from those of the list `was`.

    Args:
        lines: those below the key, without their line feeds.
        was: what they say now.
        value: what they are to say.
        end: what new lines end with, before their line feeds.

    Returns:
        None when the lines are not one item each.
    """
    items = _items(lines)
    if items is None or len(items.lines) != len(was) or not value:
        return None
    numbers: dict[str, list[int]] = {}
    for number, each in enumerate(was):
        numbers.setdefault(repr(each), []).append(number)
    stays: list[int | None] = []
    for each in value:
        free = numbers.get(repr(each))
        stays.append(free.pop(0) if free else None)
    gone = sorted(
        (number for free in numbers.values() for number in free), reverse=True
    )
    made: list[str] = []
    for place, each in zip(stays, value, strict=True):
        if place is None:
            made.append(f"{items.indent}- {inline(each)}{end}")
            continue
        while gone and gone[-1] < place:
            made += items.above[gone.pop()]
        made += items.above[place]
        made.append(items.lines[place])
    while gone:
        made += items.above[gone.pop()]
    return made + items.above[-1]


def _items(lines: list[str]) -> _Items | None:
    items: list[str] = []
    above: list[list[str]] = [[]]
    indents: set[str] = set()
    for line in lines:
        found = _ITEM.match(line)
        if found is not None:
            items.append(line)
            above.append([])
            indents.add(found[1])
        elif not line.strip(" \t\r") or line.lstrip(" \t").startswith("#"):
            above[-1].append(line)
        else:
            return None
    return _Items(indents.pop(), items, above) if len(indents) == 1 else None
