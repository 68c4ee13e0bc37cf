"""Compare values as JSON does; to Python, 1 equals True."""

from __future__ import annotations

from collections.abc import Mapping

from vaultsync.model.schema import Value


def equal_as_json(one: Value, other: Value) -> bool:
    """Whether two values are equal as JSON: `true` is not 1, but 1.0 is."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(
            equal_as_json(value, other[key]) for key, value in one.items()
        )
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(equal_as_json, one, other))
    return one == other
