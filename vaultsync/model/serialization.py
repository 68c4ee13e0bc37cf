"""Facts as JSON, for stores, exports and surfaces.

Keys are spelled as in frontmatter. Reading trusts that the JSON was written here; values from
elsewhere go through `make_fact()` instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import Annotated, Literal, NotRequired, TypedDict, cast

import msgspec
from msgspec import Meta, structs

from vaultsync.model.fact import Fact
from vaultsync.model.schema import (
    FIELDS,
    LIST_KINDS,
    LOWEST_PRIORITY,
    OWN_FIELDS_BY_KEY,
    TYPES,
    Value,
    ValueKind,
)

_KEYS = tuple(row.key for row in FIELDS)
field_values = attrgetter(*(row.attr for row in FIELDS))
_EMPTY = Fact("")
_ATTR = {row.key: row.attr for row in FIELDS} | {"properties": "properties"}
_UNSET = (None, (), "")
_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder().decode


def fact_to_values(fact: Fact) -> dict[str, Value]:
    """All values that are set, by key, with `properties` as a map when there are any."""
    found: dict[str, Value] = {
        key: value
        for key, value in zip(_KEYS, field_values(fact), strict=True)
        if value or value not in _UNSET
    }
    if not fact.access_count:
        del found["accessCount"]
    if fact.own:
        found.update(fact.own)
    if fact.properties:
        found["properties"] = dict(fact.properties)
    return found


def fact_to_json(fact: Fact) -> str:
    """The same as text."""
    return fact_line(fact).decode()


def fact_line(fact: Fact) -> bytes:
    """One line of JSON in UTF-8, the same for equal facts."""
    return _encode(fact_to_values(fact))


def fact_from_values(values: Mapping[str, Value], **attrs: object) -> Fact:
    """The fact with the values of `fact_to_values()`, which are not checked.

    Other attributes (path, revision) are set as given.
    """
    own: dict[str, Value] = {}
    attrs |= {"own": own, "properties": {}}
    for key, value in values.items():
        attr = _ATTR.get(key)
        if attr is not None:
            attrs[attr] = tuple(value) if value.__class__ is list else value
        elif key in OWN_FIELDS_BY_KEY:
            own[key] = value
    return structs.replace(_EMPTY, **attrs)


def fact_from_json(line: str | bytes, **attrs: object) -> Fact:
    """The fact of one line of JSON, with other attributes as given."""
    return fact_from_values(_decode(line), **attrs)


@cache
def _stored_kinds() -> type[msgspec.Struct]:
    """What the values of a stored fact are, by key; built when a store is first read."""
    kinds: dict[ValueKind, object] = dict.fromkeys(LIST_KINDS, list[str]) | {
        ValueKind.TYPE: Literal[tuple(TYPES)],
        ValueKind.TIME: Annotated[datetime, Meta(tz=True)],
        ValueKind.PRIORITY: Annotated[int, Meta(ge=0, le=LOWEST_PRIORITY)],
        ValueKind.COUNT: Annotated[int, Meta(ge=0)],
        ValueKind.SHARE: Annotated[float, Meta(ge=0, le=1)],
    }
    fields = [(row.key, kinds.get(row.kind, str), None) for row in FIELDS]
    return msgspec.defstruct("StoredFact", [*fields, ("properties", dict[str, object], None)])


def fact_from_stored_values(values: Mapping[str, Value], **attrs: object) -> Fact:
    """The same for values in a store, to which other programs may write.

    Raises:
        msgspec.ValidationError: a field has a value that it does not accept.
    """
    msgspec.convert(values, _stored_kinds())
    return fact_from_values(values, **attrs)


class PublicFact(TypedDict):
    """A fact; fields that are not set are left out, and a type's own may follow."""

    id: str
    type: str
    scope: str
    priority: int
    status: str
    title: NotRequired[str]
    content: NotRequired[str]
    context: NotRequired[str]
    tags: NotRequired[list[str]]
    entities: NotRequired[list[str]]
    createdAt: NotRequired[str]
    updatedAt: NotRequired[str]
    agentId: NotRequired[str]
    supersedesId: NotRequired[str]
    supersededById: NotRequired[str]
    properties: NotRequired[dict[str, Value]]
    path: str | None
    """Where its note is; null while it has none."""
    revision: str
    """To be given as `expect` to change just this version."""


def public_values(fact: Fact) -> PublicFact:
    """What surfaces show of a fact: its values, its path and its revision."""
    values = fact_to_values(fact)
    return cast("PublicFact", {**values, "path": fact.path, "revision": fact.revision})


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
