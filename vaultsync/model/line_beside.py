"""The metadata line of a fact beside a text that already has the content of the fact."""

from __future__ import annotations

import msgspec

from vaultsync.model.fact import Fact
from vaultsync.model.serialization import fact_from_values, fact_line, fact_to_values

_CONTENT = "content"
_MIN_QUOTED = 64
"""Characters of a content that is looked for in a text; the place of a shorter one saves little."""


def fact_line_beside(fact: Fact, text: bytes) -> bytes:
    """`fact_line()` beside a text in UTF-8 that has the content of the fact, most often its note.

    Where the content stands in the text, the line has its place instead: the number of bytes
    before it, and of its own.
    """
    if len(fact.content) >= _MIN_QUOTED:
        content = fact.content.encode()
        start = text.find(content)
        if start >= 0:
            values = fact_to_values(fact)
            return msgspec.json.encode(values | {_CONTENT: [start, len(content)]}, order="sorted")
    return fact_line(fact)


def fact_from_line_beside(line: str | bytes, text: bytes | None, **attrs: object) -> Fact:
    """The reverse of `fact_line_beside()`, with other attributes as given.

    Raises:
        ValueError: the content stands in the text, which is missing, or another one.
    """
    values = msgspec.json.decode(line)
    if values.get(_CONTENT).__class__ is list:
        start, size = values[_CONTENT]
        content = (text or b"")[start : start + size]
        if len(content) != size:
            raise ValueError("the text is missing that has the content of a fact")
        values[_CONTENT] = content.decode()
    return fact_from_values(values, **attrs)
