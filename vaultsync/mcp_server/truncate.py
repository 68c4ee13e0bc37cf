"""Answers that fit: long texts and long lists are cut, and the answer says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from vaultsync.model.schema import Value

MAX_TEXT_CHARS, MIN_TEXT_CHARS = 16_000, 100
"""Letters of one text: what it may have at first, and what is left to it at last."""
MAX_LIST_ITEMS = 100
"""Elements of one list."""


class Truncation(msgspec.Struct, frozen=True):
    """What was cut, where."""

    where: str
    shown: int
    of: int


def truncate(answer: Mapping[str, Value], longest: int, rest: str) -> dict[str, Value]:
    """The answer in `longest` letters of JSON, or as near to it as its shape allows.

    Args:
        answer: what would be said.
        longest: letters.
        rest: how to get what was cut, told when something was.
    """
    text = MAX_TEXT_CHARS
    while True:
        cuts: list[Truncation] = []
        found = _truncate_value(answer, "", text, cuts)
        assert isinstance(found, dict)  # noqa: S101 - as the answer was
        if text <= MIN_TEXT_CHARS or len(to_json_line(found)) <= longest:
            break
        text //= 2
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
