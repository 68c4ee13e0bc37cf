"""Collect all texts of a fact, or change each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter

from vaultsync.model.fact import Fact
from vaultsync.model.schema import FIELDS, OWN_FIELDS_BY_KEY, Value, ValueKind
from vaultsync.privacy.redaction import RedactionText

TEXT_FIELDS = tuple(row for row in FIELDS if row.kind in (ValueKind.LINE, ValueKind.TEXT))
LIST_FIELDS = tuple(row for row in FIELDS if row.kind in (ValueKind.LINES, ValueKind.LINKS))
LINK_KEYS = frozenset(
    row.key for row in (*FIELDS, *OWN_FIELDS_BY_KEY.values()) if row.kind is ValueKind.LINKS
)
"""The keys of fields that contain names of notes."""
_GET_TEXTS = attrgetter("content", *(x.attr for x in TEXT_FIELDS if x.key != "content"))
_GET_LISTS = attrgetter(*(row.attr for row in LIST_FIELDS))

TextChange = Callable[[str, bool], str]
"""Takes a text and whether it is the name of a note; returns the new text."""


def joined_texts(fact: Fact) -> str:
    """All texts of a fact in one, for a single fast check."""
    parts = list(filter(None, _GET_TEXTS(fact)))
    for many in filter(None, _GET_LISTS(fact)):
        parts += many
    if fact.own or fact.properties:
        parts += (
            f"{piece.label}: {piece.text}"
            for piece in (*_loose(fact.own), *_loose(fact.properties))
        )
    return "\n".join(parts)


def fact_text_pieces(fact: Fact) -> Iterator[RedactionText]:
    """All texts of a fact."""
    for row in TEXT_FIELDS:
        text = getattr(fact, row.attr)
        if text:
            yield RedactionText(text)
    for row in LIST_FIELDS:
        for text in getattr(fact, row.attr):
            yield RedactionText(text, bare=row.kind is ValueKind.LINKS)
    yield from _loose(fact.own)
    yield from _loose(fact.properties)


def _loose(values: Mapping[str, Value]) -> Iterator[RedactionText]:
    for key, value in values.items():
        yield from texts_in_value(value, key, bare=key in LINK_KEYS)


def texts_in_value(value: Value, label: str, *, bare: bool) -> Iterator[RedactionText]:
    """All texts of a value with a label."""
    if isinstance(value, str):
        yield RedactionText(value, label, bare)
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield RedactionText(key)
            yield from texts_in_value(each, key, bare=bare)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from texts_in_value(each, label, bare=bare)


def map_value_texts(value: Value, change: TextChange, *, bare: bool = False) -> Value:
    """A value with each text changed."""
    if isinstance(value, str):
        return change(value, bare)
    if isinstance(value, Mapping):
        return {
            change(key, False): map_value_texts(each, change, bare=bare)  # noqa: FBT003 - keys are not names of notes
            for key, each in value.items()
        }
    if isinstance(value, tuple):
        return tuple(map_value_texts(each, change, bare=bare) for each in value)
    if isinstance(value, list):
        return [map_value_texts(each, change, bare=bare) for each in value]
    return value


def map_fact_texts(fact: Fact, change: TextChange) -> Fact:
    """A fact with each text changed."""
    attrs: dict[str, object] = {
        row.attr: change(text, False)  # noqa: FBT003 - not a name of a note
        for row in TEXT_FIELDS
        if (text := getattr(fact, row.attr))
    }
    for row in LIST_FIELDS:
        many = getattr(fact, row.attr)
        if many:
            bare = row.kind is ValueKind.LINKS
            attrs[row.attr] = tuple(change(each, bare) for each in many)
    for name, values in (("own", fact.own), ("properties", fact.properties)):
        attrs[name] = {
            key: map_value_texts(value, change, bare=key in LINK_KEYS)
            for key, value in values.items()
        }
    return fact.evolve(**attrs)


def text_spellings(original: Value, shown: Value) -> Iterator[tuple[str, str]]:
    """Pairs of corresponding texts in a value and its redacted form."""
    if isinstance(original, str) and isinstance(shown, str):
        yield original, shown
    elif isinstance(original, Mapping) and isinstance(shown, Mapping):
        yield from zip(original, shown, strict=False)
        for one, other in zip(original.values(), shown.values(), strict=False):
            yield from text_spellings(one, other)
    elif isinstance(original, Sequence) and isinstance(shown, Sequence):
        for one, other in zip(original, shown, strict=False):
            yield from text_spellings(one, other)
