"""Edit lists item by item, in block and in flow style.

Users write comments into lists and sort them by hand. Items that stay keep their lines or
spelling, and so does every comment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from vaultsync.markdown.yaml.writer import emit_inline
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.schema import Value

# `  - item`, with or without more below it.
_ITEM = lazy_pattern(r"([ ]*)-[ ]+(?=[^ \t\r])")
# `'item',` between brackets, with the blanks and the comments around it.
_ASIDE = r"(?:\s|(?<=\s)#[^\n]*\n)*"
_PIECE = lazy_pattern(
    rf"(?P<lead>{_ASIDE})"
    r"(?P<item>\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'"
    r"|\[[^\[\]{}\"'#]*\]|\{[^\[\]{}\"'#]*\}"
    r"|(?:[^\s\"'#|>&*!\[\]{}%@`,?:-]|[?:-](?=[^\s,\[\]{}]))[^\s,\[\]{}]*"
    r"(?:[ \t]+[^\s#,\[\]{}][^\s,\[\]{}]*)*)"
    rf"(?P<trail>{_ASIDE})"
    rf"(?P<end>,{_ASIDE}\]\Z|,|\]\Z)"
)


EditMap: TypeAlias = Callable[[list[str], Value, Mapping[str, Value]], list[str] | None]
"""The lines of a map, what it was and what it becomes -> the new lines; None if not known."""


@dataclass(frozen=True, slots=True)
class _ListLines:
    indent: str
    items: list[list[str]]
    """The lines of each item."""
    above: list[list[str]]
    """Comments and blank lines above each item, then those below the last one."""


def edit_items(
    lines: list[str], was: list[Value], value: list[Value], *, end: str, edit_map: EditMap
) -> list[str] | None:
    """Change the lines of the list `was` to those of `value`; None if that is not possible.

    They are those below the key, without line feeds; `end` precedes the line feed of new ones.
    A map that changes keeps the lines of its other values. What is below an item is not read, so
    the result has to be proved.
    """
    items = _items(lines)
    if items is None or len(items.items) != len(was) or not value:
        return None
    stays, gone = _places(was, value)
    parts: list[str] = []
    for number, (stay, each) in enumerate(zip(stays, value, strict=True)):
        place, new = stay, None
        if stay is not None:
            new = items.items[stay]
        elif isinstance(each, Mapping):
            next_stay = min((x for x in stays[number:] if x is not None), default=len(was))
            place = _former_place(was, each, [x for x in gone if x < next_stay])
            if place is not None:
                gone.remove(place)
                new = _edited_map(items.items[place], was[place], each, items.indent, edit_map)
        if place is not None:
            while gone and gone[-1] < place:
                parts += items.above[gone.pop()]
            parts += items.above[place]
        parts += new or [f"{items.indent}- {emit_inline(each)}{end}"]
    while gone:
        parts += items.above[gone.pop()]
    return parts + items.above[-1]


def _former_place(was: list[Value], now: Mapping[str, Value], places: list[int]) -> int | None:
    """The place of the map that became `now`: the one that has most in common with it."""

    def shared(place: int) -> int:
        old = was[place]
        pairs = old.items() if isinstance(old, Mapping) else ()
        return sum(key in now and repr(now[key]) == repr(each) for key, each in pairs)

    found = max(places, key=shared, default=None)
    return found if found is not None and shared(found) else None


def _edited_map(
    lines: list[str], was: Value, now: Mapping[str, Value], indent: str, edit_map: EditMap
) -> list[str] | None:
    """The lines of an item that is a map; None if that is not possible."""
    text = lines[0].removeprefix(f"{indent}-").lstrip(" ")
    start = lines[0].removesuffix(text)
    blank = " " * len(start)
    edited = edit_map([text, *(line.removeprefix(blank) for line in lines[1:])], was, now)
    if not edited:
        return None
    first, *others = edited
    return [start + first, *(blank + line if line.strip() else line for line in others)]


def comments_in(lines: list[str]) -> list[str]:
    """The comments below a key, among the items of a list or alone; none where there is more."""
    items = _items(lines)
    return [line for above in items.above for line in above if "#" in line] if items else []


def _places(was: list[Value], value: list[Value]) -> tuple[list[int | None], list[int]]:
    """The old place of each item (None: it is new), and removed places, the last one first."""
    numbers: dict[str, list[int]] = {}
    for number, each in enumerate(was):
        numbers.setdefault(repr(each), []).append(number)
    stays: list[int | None] = []
    for each in value:
        free = numbers.get(repr(each))
        stays.append(free.pop(0) if free else None)
    gone = (number for free in numbers.values() for number in free)
    return stays, sorted(gone, reverse=True)


def edit_flow(text: str, was: list[Value], value: list[Value]) -> str | None:
    """Change the `text` of the flow list `was` to that of `value`; None if an item is nested."""
    found = _pieces(text)
    if found is None or len(found[0]) != len(was) or not value:
        return None
    pieces, end = found
    opening = pieces[0].lead if "#" not in pieces[0].lead else ""
    usual = pieces[1].lead if len(pieces) > 1 and "#" not in pieces[1].lead else " "
    stays, gone = _places(was, value)
    parts: list[str] = []
    aside = ""
    for number, (place, each) in enumerate(zip(stays, value, strict=True)):
        blank = usual if number else opening
        if place is None:
            parts.append(blank + emit_inline(each))
            continue
        while gone and gone[-1] < place:
            aside += pieces[gone.pop()].comments
        lead, item, trail = pieces[place]
        if (number > 0) != (place > 0) and "#" not in lead:
            lead = blank
        parts.append(aside + lead + item + trail)
        aside = ""
    aside += "".join(pieces[number].comments for number in reversed(gone))
    return f"[{','.join(parts)}{aside}{end}"


class _ListItem(NamedTuple):
    """An item between brackets, with the blanks and comments around it."""

    lead: str
    item: str
    trail: str

    @property
    def comments(self) -> str:
        """The comments, which stay when the item is removed; the next item must be indented."""
        text = "".join(text for text in (self.lead, self.trail) if "#" in text)
        return f"{text}  " if text.endswith("\n") else text


def _pieces(text: str) -> tuple[list[_ListItem], str] | None:
    """The items of a list in brackets, and how it ends."""
    pieces: list[_ListItem] = []
    end, at = "", 1
    while not end.endswith("]"):
        found = _PIECE.match(text, at)
        if found is None:
            return None
        pieces.append(_ListItem(found["lead"], found["item"], found["trail"]))
        end, at = found["end"], found.end()
    lead, item, trail = pieces.pop()
    return [*pieces, _ListItem(lead, item, "")], trail + end


def _items(lines: list[str]) -> _ListLines | None:
    """The items of a list in lines; what is indented below an item is part of it."""
    items: list[list[str]] = []
    above: list[list[str]] = [[]]
    indent: str | None = None
    for line in lines:
        text = line.lstrip(" ")
        start = _ITEM.match(line)
        if not text.strip("\t\r") or text.lstrip("\t").startswith("#"):
            above[-1].append(line)
        elif start is not None and indent in (None, start[1]):
            indent = start[1]
            items.append([line])
            above.append([])
        elif indent is not None and len(line) - len(text) > len(indent):
            items[-1] += [*above[-1], line]
            above[-1] = []
        else:
            return None
    return _ListLines(indent or "", items, above)
