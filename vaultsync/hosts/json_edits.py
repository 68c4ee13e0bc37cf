"""Change single values of a JSON file and keep every other byte, including comments.

The settings of hosts are JSON that people edit; some hosts allow comments and a comma after
the last value (https://code.visualstudio.com/docs/languages/json#_json-with-comments).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_BLANK = re.compile(r"(?:[\s\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?>(?:[^"\\\n]++|\\.)*)"')
_PLAIN = re.compile(r"[^\s,\]}\[{:\"/]+")
_MAX_DEPTH = 100
_INDENT = "  "


class JsonSyntaxError(ValueError):
    """The text is not JSON."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value of a JSON text."""

    start: int
    end: int
    """It is `text[start:end]`."""
    kind: str
    """`object`, `array` or `plain`."""
    keys: tuple[str, ...] = ()
    starts: tuple[int, ...] = ()
    """Where each member begins: at its key, or at the value of an array."""
    values: tuple[Node, ...] = ()
    commas: tuple[int, ...] = ()
    """Where the commas are; one more than members less one if the last has one, too."""

    def index(self, key: str) -> int:
        """The number of a member, -1 for none; of two with one key the last, as readers do."""
        return max((at for at, each in enumerate(self.keys) if each == key), default=-1)


def parse(text: str) -> Node:
    """The positions of all values.

    Raises:
        JsonSyntaxError: it is not JSON, even if comments are.
    """
    node = _value(text, _skip(text, 0), 0)
    if _skip(text, node.end) != len(text):
        raise JsonSyntaxError(_message(text, node.end, "text after the end"))
    return node


def value_of(text: str, node: Node) -> Any:  # noqa: ANN401 - whatever JSON holds
    """A value without its comments.

    Raises:
        JsonSyntaxError: a number or a word in it is not JSON.
    """
    if node.kind == "object":
        pairs = zip(node.keys, node.values, strict=True)
        return {key: value_of(text, each) for key, each in pairs}
    if node.kind == "array":
        return [value_of(text, each) for each in node.values]
    try:
        return json.loads(text[node.start : node.end])
    except ValueError:
        raise JsonSyntaxError(_message(text, node.start, "not a JSON value")) from None


def find(text: str, path: Sequence[str]) -> Node | None:
    """The value at a path of keys; None if there is none.

    Raises:
        JsonSyntaxError: the text is not JSON, or something on the way is not an object.
    """
    nodes = _nodes(text, path)
    return nodes[-1] if len(nodes) > len(path) else None


def set_value(text: str, path: Sequence[str], value: object) -> str:
    """Set the value at a path of keys; objects that are missing on the way are made.

    Raises:
        JsonSyntaxError: as of `find()`.
    """
    nodes = _nodes(text, path)
    node, missing = nodes[-1], path[len(nodes) - 1 :]
    if not missing:
        depth = _indent_at(text, node.start)
        return text[: node.start] + _rendered(value, depth, text) + text[node.end :]
    for key in reversed(missing[1:]):
        value = {key: value}
    return _add(text, node, f"{json.dumps(missing[0], ensure_ascii=False)}: ", value)


def append_value(text: str, path: Sequence[str], value: object) -> str:
    """Append a value to the array at a path of keys, which is made if it is missing.

    Raises:
        JsonSyntaxError: as of `find()`, or there is no array.
    """
    found = find(text, path)
    if found is None:
        return set_value(text, path, [value])
    if found.kind != "array":
        message = f"{'.'.join(path)} is not an array"
        raise JsonSyntaxError(message)
    return _add(text, found, "", value)


def remove_value(text: str, path: Sequence[str], number: int | None = None) -> str:
    """Remove the value at a path, and the objects and arrays above it that become empty.

    Those with comments stay. Nothing happens if there is none. With `number`, that element of the
    array at the path is removed.

    Raises:
        JsonSyntaxError: as of `find()`.
    """
    nodes = _nodes(text, path)
    if len(nodes) <= len(path):
        return text
    if number is not None:
        text = without_member(text, nodes[-1], number)
    else:
        text = without_member(text, nodes[-2], nodes[-2].index(path[-1]))
        path = path[:-1]
    while path and _is_blank(text, (nodes := _nodes(text, path))[-1]):
        text, path = without_member(text, nodes[-2], nodes[-2].index(path[-1])), path[:-1]
    return text


def _nodes(text: str, path: Sequence[str]) -> list[Node]:
    """The values on a path of keys, from the whole down, as far as they are there."""
    nodes = [parse(text)]
    for depth, key in enumerate(path):
        node = nodes[-1]
        if node.kind != "object":
            message = f"{'.'.join(path[:depth]) or 'the whole'} is not an object"
            raise JsonSyntaxError(message)
        number = node.index(key)
        if number < 0:
            break
        nodes.append(node.values[number])
    return nodes


def _add(text: str, parent: Node, key: str, value: object) -> str:
    """The text with one more member at the end of an object or an array."""
    line = _newline(text) or "\n"
    outer = _indent_at(text, parent.start)
    own_lines = bool(parent.starts) and "\n" in text[parent.start : parent.starts[0]]
    step = "\t" if outer.endswith("\t") else _INDENT
    inner = _indent_at(text, parent.starts[0]) if own_lines else outer + step
    added = f"{line}{inner}{key}{_rendered(value, inner, text)}"
    if not parent.values:
        return text[: parent.end - 1].rstrip() + added + line + outer + text[parent.end - 1 :]
    if len(parent.commas) == len(parent.values):
        at = parent.commas[-1] + 1
        return text[:at] + added + "," + text[at:]
    at = parent.values[-1].end
    if own_lines:
        return text[:at] + "," + added + text[at:]
    comment = text[at : parent.end - 1].rstrip()
    return text[:at] + "," + comment + added + line + outer + text[parent.end - 1 :]


def without_member(text: str, parent: Node, number: int) -> str:
    """The text without a member and one comma; the comments around them stay."""
    last, end = len(parent.values) - 1, parent.values[number].end
    if number < len(parent.commas):
        comma = parent.commas[number]
        rest = text[end:comma] + text[comma + 1 :]
    else:
        rest = text[end:]
    if number < last:
        return text[: parent.starts[number]] + rest.lstrip()
    start = at = parent.start + 1
    if last > 0:  # a comma after the last member stays after the one before
        at = parent.commas[last - 1] + 1
        start = at if len(parent.commas) > last else at - 1
    comments = text[at : parent.starts[last]].rstrip()
    tail = text[parent.end - 1 :]
    if not last and not (comments + rest[: -len(tail)]).strip():
        rest = tail
    elif comments and rest.lstrip(" \t")[:1] not in ("\r", "\n"):
        comments += _newline(text) or "\n"  # they may end with the line
    return text[:start] + comments + rest


def _is_blank(text: str, node: Node) -> bool:
    """Whether an object or an array has neither a member nor a comment."""
    return not text[node.start + 1 : node.end - 1].strip()


def _rendered(value: object, indent: str, text: str) -> str:
    unit = "\t" if indent.endswith("\t") else _INDENT
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    return ((_newline(text) or "\n") + indent).join(lines)


def _newline(text: str) -> str:
    """The newline of a text; "" if it has none."""
    end = text.find("\n")
    return "" if end < 0 else "\r\n" if text[end - 1 : end] == "\r" else "\n"


def _indent_at(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int, depth: int) -> Node:
    if depth > _MAX_DEPTH:
        raise JsonSyntaxError(_message(text, at, "nested too deeply"))
    if text[at : at + 1] == "{" or text[at : at + 1] == "[":
        return _container(text, at, depth)
    found = (_STRING if text[at : at + 1] == '"' else _PLAIN).match(text, at)
    if found is None:
        raise JsonSyntaxError(_message(text, at, "a value is missing"))
    return Node(at, found.end(), "plain")


def _container(text: str, start: int, depth: int) -> Node:
    close, kind = ("}", "object") if text[start] == "{" else ("]", "array")
    keys: list[str] = []
    starts: list[int] = []
    values: list[Node] = []
    commas: list[int] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != close:
        if len(commas) < len(values):
            raise JsonSyntaxError(_message(text, at, f"`,` or `{close}` is missing"))
        starts.append(at)
        if kind == "object":
            key = _STRING.match(text, at)
            if key is None:
                raise JsonSyntaxError(_message(text, at, "a key is missing"))
            try:
                keys.append(json.loads(key.group()))
            except ValueError:
                raise JsonSyntaxError(_message(text, at, "not a JSON value")) from None
            at = _skip(text, key.end())
            if text[at : at + 1] != ":":
                raise JsonSyntaxError(_message(text, at, "`:` is missing"))
            at = _skip(text, at + 1)
        values.append(_value(text, at, depth + 1))
        at = _skip(text, values[-1].end)
        if text[at : at + 1] == ",":
            commas.append(at)
            at = _skip(text, at + 1)
    parts = tuple(keys), tuple(starts), tuple(values), tuple(commas)
    return Node(start, at + 1, kind, *parts)


def _message(text: str, at: int, what: str) -> str:
    return f"{what} on line {text.count(chr(10), 0, at) + 1}"
