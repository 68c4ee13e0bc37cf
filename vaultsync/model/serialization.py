"""A fact as JSON holds it, and back: for stores, exports and surfaces.

Keys are spelled as in frontmatter. Reading trusts what writing made: text that came from
elsewhere goes through `make_fact()` instead.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from operator import itemgetter
from typing import NotRequired, TypedDict, cast

import msgspec

from vaultsync.model.fact import Fact
from vaultsync.model.schema import FIELDS, OWN_FIELDS_BY_KEY, Value

_ATTRS = tuple(row.attr for row in FIELDS)
_KEYS = tuple(row.key for row in FIELDS)
_GET = itemgetter(*_ATTRS)  # of `vars(fact)`: half of what `attrgetter` takes
_DEFAULT_VALUES = vars(Fact(""))
_ATTR = {**dict(zip(_KEYS, _ATTRS, strict=True)), "properties": "properties"}
_UNSET = (None, (), "")
_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder().decode


def fact_to_values(fact: Fact) -> dict[str, Value]:
    """All that is set, by key, with `properties` as a map of its own when there are any."""
    found: dict[str, Value] = {
        key: value
        for key, value in zip(_KEYS, _GET(vars(fact)), strict=True)
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
    """One line of JSON, the same for equal facts."""
    return _encode(fact_to_values(fact)).decode()


def fact_line(fact: Fact) -> bytes:
    """A line that `from_json()` makes the fact of: the one it was read from, or a new one.

    It is kept with the fact: what both sides are to say is written to several places.
    """
    line = fact.line
    if line is None:
        line = vars(fact)["line"] = _encode(fact_to_values(fact))
    return line


def fact_from_values(values: Mapping[str, Value], **more: object) -> Fact:
    """The fact that `to_values()` made these values of, without checking them.

    Other attributes (its path, its revision) are taken as they are given.
    """
    own: dict[str, Value] = {}
    # A dict that is copied whole keeps its size; one that is filled grows three times.
    attrs = {**_DEFAULT_VALUES, "own": own, "properties": {}, **more}
    for key, value in values.items():
        attr = _ATTR.get(key)
        if attr is not None:
            attrs[attr] = tuple(value) if value.__class__ is list else value
        elif key in OWN_FIELDS_BY_KEY:
            own[key] = value
    fact = object.__new__(Fact)
    object.__setattr__(fact, "__dict__", attrs)
    return fact


def fact_from_json(text: str, **more: object) -> Fact:
    """The fact of one line that `to_json()` made, with other attributes as given."""
    return fact_from_values(json.loads(text), **more)


def from_line(line: bytes, revision: str) -> Fact:
    """The fact of one line that `line_of()` made, with its revision."""
    fact = fact_from_values(_decode(line), revision=revision)
    vars(fact)["line"] = line
    return fact


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


class NewFact(PublicFact):
    """A fact that was remembered."""

    mirrored: bool
    """Whether its note is there already."""


def public_values(fact: Fact) -> PublicFact:
    """What surfaces show of a fact: its values, its path and its revision."""
    values = fact_to_values(fact)
    return cast("PublicFact", {**values, "path": fact.path, "revision": fact.revision})


def public_new(fact: Fact) -> NewFact:
    """What surfaces show of a fact that was just remembered."""
    return {**public_values(fact), "mirrored": fact.path is not None}
