"""All texts of a fact: gathered to be looked over, and changed one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter

from vaultsync.model.fact import Fact
from vaultsync.model.schema import FIELDS, OWN, Kind, Value
from vaultsync.privacy.redaction import Piece

TEXTS = tuple(row for row in FIELDS if row.kind in (Kind.LINE, Kind.TEXT))
LISTS = tuple(row for row in FIELDS if row.kind in (Kind.LINES, Kind.LINKS))
LINKS = frozenset(row.key for row in (*FIELDS, *OWN.values()) if row.kind is Kind.LINKS)
"""The keys of fields that hold names of notes."""
_GET_TEXTS = attrgetter("content", *(x.attr for x in TEXTS if x.key != "content"))
_GET_LISTS = attrgetter(*(row.attr for row in LISTS))

Change = Callable[[str, bool], str]
"""A text, and whether it is the name of a note -> another text."""


def gist(fact: Fact) -> str:
    """All texts of a fact in one, to be looked over at once."""
    parts = list(filter(None, _GET_TEXTS(fact)))
    for many in filter(None, _GET_LISTS(fact)):
        parts += many
    if fact.own or fact.properties:
        parts += (
            f"{piece.label}: {piece.text}"
            for piece in (*_loose(fact.own), *_loose(fact.properties))
        )
    return "\n".join(parts)


def pieces(fact: Fact) -> Iterator[Piece]:
    """All texts of a fact."""
    for row in TEXTS:
        text = getattr(fact, row.attr)
        if text:
            yield Piece(text)
    for row in LISTS:
        for text in getattr(fact, row.attr):
            yield Piece(text, bare=row.kind is Kind.LINKS)
    yield from _loose(fact.own)
    yield from _loose(fact.properties)


def _loose(values: Mapping[str, Value]) -> Iterator[Piece]:
    for key, value in values.items():
        yield from inside(value, key, bare=key in LINKS)


def inside(value: Value, label: str, *, bare: bool) -> Iterator[Piece]:
    """All texts of a value, which has a name."""
    if isinstance(value, str):
        yield Piece(value, label, bare)
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield Piece(key)
            yield from inside(each, key, bare=bare)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from inside(each, label, bare=bare)


def changed(value: Value, change: Change, *, bare: bool = False) -> Value:
    """A value with other texts; the same one when none changed."""
    if isinstance(value, str):
        return change(value, bare)
    if isinstance(value, Mapping):
        return {
            change(key, False): changed(each, change, bare=bare)  # noqa: FBT003 - keys are no names
            for key, each in value.items()
        }
    if isinstance(value, tuple):
        return tuple(changed(each, change, bare=bare) for each in value)
    if isinstance(value, list):
        return [changed(each, change, bare=bare) for each in value]
    return value


def mapped(fact: Fact, change: Change) -> Fact:
    """A fact with other texts."""
    attrs: dict[str, object] = {
        row.attr: change(text, False)  # noqa: FBT003 - texts are no names
        for row in TEXTS
        if (text := getattr(fact, row.attr))
    }
    for row in LISTS:
        many = getattr(fact, row.attr)
        if many:
            bare = row.kind is Kind.LINKS
            attrs[row.attr] = tuple(change(each, bare) for each in many)
    for name, values in (("own", fact.own), ("properties", fact.properties)):
        attrs[name] = {
            key: changed(value, change, bare=key in LINKS)
            for key, value in values.items()
        }
    return fact.but(**attrs)


def spellings(meant: Value, shown: Value) -> Iterator[tuple[str, str]]:
    """What stands for what in a value that is no text."""
    if isinstance(meant, str) and isinstance(shown, str):
        yield meant, shown
    elif isinstance(meant, Mapping) and isinstance(shown, Mapping):
        yield from zip(meant, shown, strict=False)
        for one, other in zip(meant.values(), shown.values(), strict=False):
            yield from spellings(one, other)
    elif isinstance(meant, Sequence) and isinstance(shown, Sequence):
        for one, other in zip(meant, shown, strict=False):
            yield from spellings(one, other)
