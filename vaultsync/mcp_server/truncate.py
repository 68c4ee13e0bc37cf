"""Answers that fit: long texts and long lists are cut, and the answer says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from vaultsync.model.schema import Value

TEXT, LEAST = 16_000, 100
"""Letters of one text: what it may have at first, and what is left to it at last."""
LIST = 100
"""Elements of one list."""


class Cut(msgspec.Struct, frozen=True):
    """What was cut, where."""

    where: str
    shown: int
    of: int


def bounded(answer: Mapping[str, Value], longest: int, rest: str) -> dict[str, Value]:
    """The answer in `longest` letters of JSON, or as near to it as its shape allows.

    Args:
        answer: what would be said.
        longest: letters.
        rest: how to get what was cut, told when something was.
    """
    text = TEXT
    while True:
        cuts: list[Cut] = []
        found = _cut(answer, "", text, cuts)
        assert isinstance(found, dict)  # noqa: S101 - as the answer was
        if text <= LEAST or len(encoded(found)) <= longest:
            break
        text //= 2
    if cuts:
        found["cut"] = [msgspec.to_builtins(each) for each in cuts]
        found["rest"] = rest
    return found


def encoded(answer: Mapping[str, Value]) -> str:
    """The answer as JSON, in one line."""
    return msgspec.json.encode(answer).decode()


def _cut(value: Value, where: str, text: int, cuts: list[Cut]) -> Value:
    if isinstance(value, str):
        if len(value) <= text:
            return value
        cuts.append(Cut(where, text, len(value)))
        return value[:text] + "…"
    if isinstance(value, Mapping):
        return {
            key: _cut(each, f"{where}.{key}" if where else str(key), text, cuts)
            for key, each in value.items()
        }
    if isinstance(value, Sequence):
        if len(value) > LIST:
            cuts.append(Cut(where, LIST, len(value)))
        return [
            _cut(each, f"{where}[{n}]", text, cuts)
            for n, each in enumerate(value[:LIST])
        ]
    return value
