"""A fact as JSON holds it, and back: for stores, exports and surfaces.

Keys are spelled as in frontmatter. Reading trusts what writing made: text that came from
elsewhere goes through `make_fact()` instead.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from operator import attrgetter

from vaultsync.core.fact import Fact
from vaultsync.core.fields import FIELDS, OWN, Value

_ATTRS = tuple(row.attr for row in FIELDS)
_KEYS = tuple(row.key for row in FIELDS)
_GET = attrgetter(*_ATTRS)
_EMPTY = Fact("")
_ATTR = dict(zip(_KEYS, _ATTRS, strict=True))
_UNSET = (None, (), "")


def to_values(fact: Fact) -> dict[str, Value]:
    """All that is set, by key, with `properties` as a map of its own when there are any."""
    found: dict[str, Value] = {
        key: value
        for key, value in zip(_KEYS, _GET(fact), strict=True)
        if value or value not in _UNSET
    }
    if not fact.access_count:
        del found["accessCount"]
    found.update(fact.own)
    if fact.properties:
        found["properties"] = dict(fact.properties)
    return found


def to_json(fact: Fact) -> str:
    """One line of JSON, the same for equal facts."""
    return _encoder()(to_values(fact)).decode()


@cache
def _encoder() -> Callable[[object], bytes]:
    import msgspec  # noqa: PLC0415 - dear to load, and a question writes nothing

    return msgspec.json.Encoder(order="sorted").encode


def from_values(values: Mapping[str, Value], **more: object) -> Fact:
    """The fact that `to_values()` made these values of, without checking them.

    Other attributes (its path, its revision) are taken as they are given.
    """
    attrs: dict[str, object] = {"properties": {}, **more}
    own: dict[str, Value] = {}
    attrs["own"] = own
    for key, value in values.items():
        attr = _ATTR.get(key)
        if attr is not None:
            attrs[attr] = tuple(value) if isinstance(value, list) else value
        elif key in OWN:
            own[key] = value
        elif key == "properties":
            attrs[key] = value
    return _EMPTY.but(**attrs)


def from_json(text: str, **more: object) -> Fact:
    """The fact of one line that `to_json()` made, with other attributes as given."""
    return from_values(json.loads(text), **more)


def public(fact: Fact) -> dict[str, Value]:
    """What surfaces show of a fact: its values, its path and its revision."""
    return {**to_values(fact), "path": fact.path, "revision": fact.revision}
