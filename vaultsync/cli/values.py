"""`--set K=V` and `--field K=V`: texts from the command line -> values of fields."""

from __future__ import annotations

import json
from collections.abc import Iterable

import click

from vaultsync.model.schema import FIELD, OWN, Kind, Value

_LISTS = {Kind.LINES, Kind.LINKS, Kind.IDS}
_JSON = {Kind.PRIORITY, Kind.SHARE, Kind.NUMBER, Kind.COUNT, Kind.FLAG}


def values_of(settings: Iterable[tuple[str, str]]) -> dict[str, Value]:
    """The values by key.

    Raises:
        click.UsageError: a key was named twice, and one of them would be lost.
    """
    found: dict[str, Value] = {}
    for key, text in settings:
        if key in found:
            message = (
                f'{key} was given twice; a list is written as {key}=\'["a", "b"]\''
            )
            raise click.UsageError(message)
        found[key] = value_of(key, text)
    return found


def value_of(key: str, text: str) -> Value:
    """What `text` says where `key` stands: JSON where it takes JSON, else the text.

    A field of text takes `1.10` and `true` as they are spelled; `null` clears any.
    """
    try:
        said: Value = json.loads(text, parse_constant=_no_json)
    except (ValueError, RecursionError):
        return text
    if said is None:
        return None
    if isinstance(said, (str, dict)):
        return text
    kind = _kind(key)
    if kind in _LISTS:
        return said if isinstance(said, list) else text
    return said if kind is None or kind in _JSON else text


def _no_json(constant: str) -> Value:
    raise ValueError(constant)  # NaN and Infinity are no JSON


def _kind(key: str) -> Kind | None:
    """What the field takes; None for a property. `outcome` is `decisionOutcome`."""
    row = FIELD.get(key) or OWN.get(key)
    if row is None:
        ending = key[:1].upper() + key[1:]
        short = [OWN[full] for full in OWN if full.endswith(ending)]
        row = short[0] if short else None
    return row.kind if row else None
