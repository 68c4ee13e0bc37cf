"""Read a long JSON array, or lines of JSON, one value at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from vaultsync.exchange.ports import SourceFiles
from vaultsync.exchange.source_facts import NOT_UTF8, Found, Unreadable, is_damaged, skipping

_BLANK = " \t\r\n"
MAX_ELEMENT = 64 << 20
"""Maximum length of one value in characters, so that an endless one does not fill memory."""


class _Buffer:
    """A text that arrives in pieces; only the unread part is kept."""

    def __init__(self, pieces: Iterable[str]) -> None:
        self._pieces = iter(pieces)
        self.text = ""
        self.at = 0
        self.ended = False
        self.is_damaged = False
        """Whether the last value has bytes that are no characters."""

    def more(self) -> None:
        """Read at least as much text as is buffered, so that the total time stays linear."""
        pieces = [self.text[self.at :]]
        missing = max(len(pieces[0]), 1)
        while missing > 0 and not self.ended:
            piece = next(self._pieces, None)
            self.ended = piece is None
            pieces.append(piece or "")
            missing -= len(piece or "")
        self.text, self.at = "".join(pieces), 0

    def peek(self) -> str:
        """The next non-blank character; "" at the end."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in _BLANK:
                self.at += 1
            if self.at < len(self.text):
                return self.text[self.at]
            if self.ended:
                return ""
            self.more()


def read_objects(
    files: SourceFiles, names: Iterable[str], read: Callable[[Mapping[str, Any], str], Found]
) -> Found:
    """What `read` finds in each JSON object of some of the files, given the object and its place.

    It raises UnreadablePartError where there is no memory.
    """
    for name in names:
        for number, value in enumerate(json_values(files.text(name)), 1):
            where = f"{name}: element {number}"
            if isinstance(value, Mapping):
                yield from skipping(where, read(value, where))
            else:
                why = value.why if isinstance(value, Unreadable) else "it is not an object"
                yield Unreadable(where, why)


def json_values(pieces: Iterable[str]) -> Iterator[Any]:
    """The elements of a JSON array, the value of a JSON text, or the value of each line.

    An element that is not UTF-8 is an `Unreadable`. Reading stops at a syntax error; the last
    element is then one, too.
    """
    buffer = _Buffer(pieces)
    in_array = buffer.peek() == "["
    buffer.at += in_array
    decoder = json.JSONDecoder()
    number = 0
    while True:
        number += 1
        if in_array and buffer.peek() == ",":
            buffer.at += 1
        first = buffer.peek()
        if not first and in_array:
            yield Unreadable(f"element {number}", "the file ends in the middle")
        if not first or (in_array and first == "]"):
            return
        value = _next_value(buffer, decoder, number)
        yield Unreadable(f"element {number}", NOT_UTF8) if buffer.is_damaged else value
        if isinstance(value, Unreadable):
            return


def _next_value(buffer: _Buffer, decoder: json.JSONDecoder, number: int) -> Any:  # noqa: ANN401 - JSON
    """The value that begins here, reading pieces until it is complete."""
    while True:
        try:
            value, end = decoder.raw_decode(buffer.text, buffer.at)
        except RecursionError:
            return Unreadable(f"element {number}", "it is nested too deeply")
        except ValueError as error:
            if buffer.ended:
                why = f"it is not JSON ({error})"[:200] + ", and what follows was not read"
                return Unreadable(f"element {number}", why)
            if len(buffer.text) - buffer.at > MAX_ELEMENT:
                return Unreadable(f"element {number}", "it is not JSON, or larger than 64 MiB")
        else:
            # A number may continue in the next piece: `1` is the beginning of `1e+5`.
            if end + 2 < len(buffer.text) or buffer.ended:
                buffer.is_damaged = is_damaged(buffer.text, buffer.at, end)
                buffer.at = end
                return value
        buffer.more()
