"""Compare two facts, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter

import msgspec

from vaultsync.model.fact import Fact
from vaultsync.model.schema import (
    FIELDS,
    OWN_FIELDS_BY_KEY,
    Field,
    FieldOwner,
    MergeRule,
    Value,
    equal_as_json,
)


def differing_keys(one: Fact, other: Fact, *, volatile: bool = False) -> tuple[str, ...]:
    """The keys of all values that differ: fields, then own fields, then properties.

    The order of a list that merges by element is ignored.
    """
    rows, get = _ALL if volatile else _LASTING
    ones, others = get(one), get(other)
    found = []
    if ones != others:
        found = [
            row.key
            for row, left, right in zip(rows, ones, others, strict=True)
            if left is not right and left != right and not agree(row, left, right)
        ]
    if not (_same(one.own, other.own) and _same(one.properties, other.properties)):
        found += [
            key
            for key, row in loose_rows(one, other)
            if not agree(row, one.value(key), other.value(key))
        ]
    return tuple(found)


_encode = msgspec.json.Encoder(order="sorted").encode


def _same(one: Mapping[str, Value], other: Mapping[str, Value]) -> bool:
    """A fast check; maps that fail it may be equal still, and are compared key by key."""
    return one is other or (len(one) == len(other) and _encode(one) == _encode(other))


_UNSET = (None, "")
_ALL = (FIELDS, attrgetter(*(row.attr for row in FIELDS)))
_LASTING_ROWS = tuple(row for row in FIELDS if row.owner is not FieldOwner.VOLATILE)
_LASTING = (_LASTING_ROWS, attrgetter(*(row.attr for row in _LASTING_ROWS)))


def loose_rows(*facts: Fact) -> Iterator[tuple[str, Field | None]]:
    """The keys of own fields and of properties."""
    own: set[str] = set().union(*(fact.own for fact in facts))
    properties: set[str] = set().union(*(fact.properties for fact in facts))
    yield from ((key, row) for key, row in OWN_FIELDS_BY_KEY.items() if key in own)
    yield from ((key, None) for key in sorted(properties))


def agree(row: Field | None, one: Value, other: Value) -> bool:
    """Whether two values of a field mean the same; without a row, of a property."""
    if row is not None and row.rule is MergeRule.SET:
        return set(elements(one)) == set(elements(other))
    unset = row is not None and one in _UNSET and other in _UNSET
    return unset or equal_as_json(one, other)


def elements(value: Value) -> Sequence[Value]:
    """The elements of a list; none for any other value."""
    return value if isinstance(value, (list, tuple)) else []
