"""Truncate long answers: texts and lists are cut, and the answer says where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from vaultsync.model.schema import Value

MAX_TEXT_CHARS, MIN_TEXT_CHARS = 16_000, 100
"""Length of one text in characters: the limit at first, and the lowest it is reduced to."""
MAX_LIST_ITEMS = 100
"""Maximum number of elements of one list."""


class Truncation(msgspec.Struct, frozen=True):
    """A text or a list that was cut."""

    where: str
    """Its path in the answer, such as `hits[0].snippet`."""
    shown: int
    """Characters or elements that are left."""
    of: int


def truncate(answer: Mapping[str, Value], longest: int, rest: str) -> dict[str, Value]:
    """Cut an answer until its JSON has at most `longest` characters, as far as that is possible.

    `rest` says how to get what was cut; it is added to the answer when something was.
    """
    text = MAX_TEXT_CHARS
    while True:
        cuts: list[Truncation] = []
        found = _truncate_value(answer, "", text, cuts)
        assert isinstance(found, dict)  # noqa: S101 - a mapping stays one
        if text <= MIN_TEXT_CHARS or len(to_json_line(found)) <= longest:
            break
        text = max(text // 2, MIN_TEXT_CHARS)
    if cuts:
        found["cut"] = [msgspec.to_builtins(each) for each in cuts]
        found["rest"] = rest
    return found


def to_json_line(answer: Mapping[str, Value]) -> str:
    """The answer as JSON, in one line."""
    return msgspec.json.encode(answer).decode()


def _truncate_value(value: Value, where: str, text: int, cuts: list[Truncation]) -> Value:
    if isinstance(value, str):
        if len(value) <= text:
            return value
        cuts.append(Truncation(where, text, len(value)))
        return value[:text] + "…"
    if isinstance(value, Mapping):
        return {
            key: _truncate_value(each, f"{where}.{key}" if where else str(key), text, cuts)
            for key, each in value.items()
        }
    if isinstance(value, Sequence):
        if len(value) > MAX_LIST_ITEMS:
            cuts.append(Truncation(where, MAX_LIST_ITEMS, len(value)))
        return [
            _truncate_value(each, f"{where}[{n}]", text, cuts)
            for n, each in enumerate(value[:MAX_LIST_ITEMS])
        ]
    return value
