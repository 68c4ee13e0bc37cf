"""Collect all texts of a fact, or change each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Protocol, TypeVar

from vaultsync.model.fact import Fact
from vaultsync.model.schema import FIELDS, OWN_FIELDS_BY_KEY, Value, ValueKind
from vaultsync.privacy.placeholders import RedactionText

TEXT_FIELDS = tuple(row for row in FIELDS if row.kind in (ValueKind.LINE, ValueKind.TEXT))
LIST_FIELDS = tuple(row for row in FIELDS if row.kind in (ValueKind.LINES, ValueKind.LINKS))
LINK_KEYS = frozenset(
    row.key for row in (*FIELDS, *OWN_FIELDS_BY_KEY.values()) if row.kind is ValueKind.LINKS
)
"""The keys of fields that contain names of notes."""
_GET_TEXTS = attrgetter("content", *(x.attr for x in TEXT_FIELDS if x.key != "content"))
_GET_LISTS = attrgetter(*(row.attr for row in LIST_FIELDS))


T_co = TypeVar("T_co", covariant=True)


class TextFunction(Protocol[T_co]):
    """Takes a text; `bare` says whether it is the name of a note."""

    def __call__(self, text: str, *, bare: bool) -> T_co:
        """What it makes of the text."""
        ...


def joined_texts(fact: Fact) -> str:
    """All texts of a fact in one, for a single fast check."""
    parts = list(filter(None, _GET_TEXTS(fact)))
    for many in filter(None, _GET_LISTS(fact)):
        parts += many
    for key, value in (*fact.own.items(), *fact.properties.items()):
        for each in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(each, str):  # as most are
                parts.append(f"{key}: {each}")
            else:
                pieces = _texts_in(each, key, bare=key in LINK_KEYS)
                parts += [f"{one.label}: {one.text}" for one in pieces]
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
    yield from loose_text_pieces([*fact.own.items(), *fact.properties.items()])


def loose_text_pieces(values: Iterable[tuple[str, Value]]) -> Iterator[RedactionText]:
    """All texts of some values, which are labelled by their keys."""
    for key, value in values:
        yield from _texts_in(value, key, bare=key in LINK_KEYS)


def _texts_in(value: Value, label: str, *, bare: bool) -> Iterator[RedactionText]:
    if isinstance(value, str):
        yield RedactionText(value, label, bare)
    elif isinstance(value, (list, tuple)):  # many are, and `Mapping` is slow to test
        for each in value:
            yield from _texts_in(each, label, bare=bare)
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield RedactionText(key)
            yield from _texts_in(each, key, bare=bare)


def map_value_texts(value: Value, change: TextFunction[str], *, bare: bool = False) -> Value:
    """A value with each text changed."""
    if isinstance(value, str):
        return change(value, bare=bare)
    if isinstance(value, Mapping):
        return {
            change(key, bare=False): map_value_texts(each, change, bare=bare)
            for key, each in value.items()
        }
    if isinstance(value, (list, tuple)):
        return type(value)([map_value_texts(each, change, bare=bare) for each in value])
    return value


def restore_value_texts(
    value: Value, restore: TextFunction[tuple[str, list[str]]], unknown: list[str], *, bare: bool
) -> Value:
    """A value with each text restored; what `restore` does not know is added to `unknown`."""

    def change(text: str, *, bare: bool) -> str:
        restored, missing = restore(text, bare=bare)
        unknown.extend(missing)
        return restored

    return map_value_texts(value, change, bare=bare)


def map_fact_values(fact: Fact, change: Callable[[str, Value], Value]) -> Fact:
    """A fact with each value that can hold a text changed, by its key."""
    attrs: dict[str, object] = {}
    for row in (*TEXT_FIELDS, *LIST_FIELDS):
        value = getattr(fact, row.attr)
        if value:
            attrs[row.attr] = change(row.key, value)
    for name, values in (("own", fact.own), ("properties", fact.properties)):
        attrs[name] = {key: change(key, value) for key, value in values.items()}
    return fact.evolve(**attrs)


def map_fact_texts(fact: Fact, change: TextFunction[str]) -> Fact:
    """A fact with each text changed."""
    return map_fact_values(
        fact, lambda key, value: map_value_texts(value, change, bare=key in LINK_KEYS)
    )


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
