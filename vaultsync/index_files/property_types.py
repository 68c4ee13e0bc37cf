"""The property types in Obsidian, which has one type for each property name.

Obsidian keeps them in `.obsidian/types.json`, which it does not document; the form, and the
names of the types, are those that it writes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from msgspec import Struct

from vaultsync.graph.colours import settings_text
from vaultsync.model.schema import FIELDS, OWN_FIELDS_BY_KEY, FieldOwner, Value, ValueKind

_TEXT, _LIST, _NUMBER = "text", "multitext", "number"
_LISTS = (_LIST, "tags", "aliases")
_TYPES = {
    ValueKind.LINES: _LIST,
    ValueKind.LINKS: _LIST,
    ValueKind.IDS: _LIST,
    ValueKind.TIME: "datetime",
    ValueKind.DATE: "date",
    ValueKind.PRIORITY: _NUMBER,
    ValueKind.SHARE: _NUMBER,
    ValueKind.NUMBER: _NUMBER,
    ValueKind.COUNT: _NUMBER,
    ValueKind.FLAG: "checkbox",
}
_OBSIDIANS_OWN = {"tags": "tags", "aliases": "aliases"}
"""Properties whose type is fixed."""
_IN_NO_PROPERTY = ("title", "context", "content")

PROPERTY_TYPES: Mapping[str, str] = {
    each.key: _OBSIDIANS_OWN.get(each.key, _TYPES.get(each.kind, _TEXT))
    for each in (*FIELDS, *OWN_FIELDS_BY_KEY.values())
    if each.key not in _IN_NO_PROPERTY
    and each.owner is not FieldOwner.PLACE
    and each.kind is not ValueKind.TEXT
}
"""Key -> the type of Obsidian that fits its values."""


class PropertyClash(Struct, frozen=True):
    """A property that Obsidian has another type for."""

    key: str
    type: str
    """The type that fits."""
    found: str
    """The type that it has in this vault."""


class TypedProperties(Struct, frozen=True):
    """What Obsidian knows of the types of our properties."""

    missing: Mapping[str, str]
    """Key -> the type that fits, where Obsidian has none: it guesses."""
    clashes: tuple[PropertyClash, ...]


def typed_properties(text: str | None) -> TypedProperties:
    """Compare the text of `types.json` with the types that fit; None when there is no file.

    Raises:
        ValueError: the text is not as Obsidian writes it.
    """
    known = _known(text)[1]
    # A text shows every value that is no list.
    clashes = [
        PropertyClash(key, fits, str(known[key]))
        for key, fits in PROPERTY_TYPES.items()
        if known.get(key, fits) != fits and (known[key] != _TEXT or fits in _LISTS)
    ]
    missing = {key: fits for key, fits in PROPERTY_TYPES.items() if key not in known}
    return TypedProperties(missing, tuple(clashes))


def with_missing_types(text: str | None) -> str:
    """The text of `types.json` with the missing types; those that are there stay.

    Raises: as `typed_properties()`.
    """
    file, known = _known(text)
    missing = typed_properties(text).missing
    return settings_text({**file, "types": {**known, **missing}}) if missing else text or ""


def _known(text: str | None) -> tuple[Mapping[str, Value], Mapping[str, Value]]:
    """The file, and the types in it."""
    file: Value = {}
    try:
        file = json.loads(text) if text and text.strip() else {}
    except RecursionError:
        file = None
    types = file.get("types", {}) if isinstance(file, dict) else None
    if not isinstance(file, dict) or not isinstance(types, dict):
        why = "it has no types of properties"
        raise ValueError(why)  # noqa: TRY004 - the file is wrong, not the call
    return file, types
