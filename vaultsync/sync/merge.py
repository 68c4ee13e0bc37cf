"""Three-way merge of a fact, field by field, as the table of fields says.

`merge(base, vault, store)` never loses what somebody wrote: it is in the merged fact,
it is in a conflict, or the other side alone took it away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from vaultsync.markdown.diff3 import merge_text
from vaultsync.model.fact import Fact
from vaultsync.model.schema import FIELDS, OWN, Field, Kind, Owner, Rule, Value
from vaultsync.notes.conflict_note import FieldConflict


@dataclass(frozen=True, slots=True)
class Merged:
    """What both sides shall hold, and what has to be written where."""

    fact: Fact
    """With the vault's `path` and the store's `revision`."""
    conflicts: tuple[FieldConflict, ...]
    """What both sides changed differently; the vault's values stand in `fact`."""
    from_vault: tuple[str, ...]
    """What differs from the store's fact, by key: to be written to the store."""
    from_store: tuple[str, ...]
    """What differs from the vault's fact, by key: to be written to the note.

    Volatile fields are never a reason to write, and neither is a `scope` that only the
    vault changed: that note was moved, which is for a person to allow.
    """
    put_back: tuple[str, ...]
    """What a person changed that is not a person's to change; the store's stands."""


class _Outcome(NamedTuple):
    value: Value
    conflict: bool = False


_Merge: TypeAlias = Callable[[Value, Value, Value], _Outcome]


def _whole(base: Value, vault: Value, store: Value) -> _Outcome:
    if same(vault, base):
        return _Outcome(store)
    return _Outcome(vault, not (same(store, base) or same(vault, store)))


def _by_line(base: Value, vault: Value, store: Value) -> _Outcome:
    # Text ends without a line end, yet a line added below the last one must not count
    # as an edit of that one.
    texts = [f"{text}\n" if text else "" for text in (base, vault, store)]
    merged = merge_text(*texts)
    if merged is None:
        return _Outcome(vault, conflict=True)
    return _Outcome(merged.strip("\n"))


def _by_element(base: Value, vault: Value, store: Value) -> _Outcome:
    before, in_vault, in_store = (set(_elements(each)) for each in (base, vault, store))
    kept = [each for each in _elements(vault) if each in in_store or each not in before]
    seen = in_vault | before
    added = [each for each in _elements(store) if each not in seen]
    return _Outcome(kept + added)


def _stores(_base: Value, _vault: Value, store: Value) -> _Outcome:
    return _Outcome(store)


RULES: Mapping[Rule, _Merge] = MappingProxyType(
    {
        Rule.FIXED: _stores,
        Rule.TEXT: _by_line,
        Rule.SET: _by_element,
        Rule.WHOLE: _whole,
        Rule.MAP: _whole,
        Rule.FOLDER: _stores,
        Rule.STORE: _stores,
    }
)
"""How a value merges under each rule; of a map, the value of each key."""


def merge(
    base: Fact | None, vault: Fact, store: Fact, *, peers: bool = False
) -> Merged:
    """The fact that both sides shall hold.

    Without a base, a value that is not set or is its default counts as never written;
    two others that differ are a conflict. Between `peers`, who may both write the store,
    so are two values of a field that is the store's.
    """
    agreed = base or Fact(vault.id, scope=vault.scope)
    attrs: dict[str, object] = {}
    own: dict[str, Value] = {}
    properties: dict[str, Value] = {}
    conflicts: list[FieldConflict] = []
    for key, row in _rows(vault, store, agreed):
        values = _value(agreed, key), _value(vault, key), _value(store, key)
        rule = row.rule if row else Rule.MAP
        if peers and row and row.owner is Owner.MACHINE:
            rule = Rule.WHOLE
        value, conflict = RULES[rule](*values)
        if conflict:
            before = None if base is None else values[0]
            conflicts.append(FieldConflict(key, before, values[1], values[2]))
        if row is None:
            if value is not None:
                properties[key] = value
        elif key in OWN:
            if value is not None and value != []:
                own[key] = value
        else:
            attrs[row.attr] = tuple(_elements(value)) if row.kind in _LISTS else value
    fact = store.but(**attrs, own=own, properties=properties, path=vault.path).changed(
        {}
    )
    return Merged(
        fact=fact,
        conflicts=tuple(conflicts),
        from_vault=differing(fact, store),
        from_store=tuple(
            key
            for key in differing(fact, vault)
            if key != "scope" or store.scope != agreed.scope
        ),
        put_back=_put_back(agreed, vault, store),
    )


def differing(one: Fact, other: Fact, *, volatile: bool = False) -> tuple[str, ...]:
    """The keys of all values that differ: fields, then own fields, then properties.

    The order of a list that merges by element has no meaning and is no difference.
    Facts without a difference mean the same.
    """
    rows, get = _ALL if volatile else _LASTING
    ones, others = get(vars(one)), get(vars(other))
    found = []
    if ones != others:
        found = [
            row.key
            for row, left, right in zip(rows, ones, others, strict=True)
            if left is not right
            and left != right
            and not _agree(row, plain(left), plain(right))
        ]
    if not (_alike(one.own, other.own) and _alike(one.properties, other.properties)):
        found += [
            key
            for key, row in _loose_rows(one, other)
            if not _agree(row, _value(one, key), _value(other, key))
        ]
    return tuple(found)


_SCALARS = frozenset({str, int, float, bool, type(None)})


def _alike(one: Mapping[str, Value], other: Mapping[str, Value]) -> bool:
    """Whether two maps are surely the same: what is not is looked at key by key."""
    if one is other:
        return True
    if len(one) != len(other):
        return False
    for key, value in one.items():
        there = other.get(key)
        kind = type(value)
        if kind is not type(there) or value != there or kind not in _SCALARS:
            return False
    return True


def same(one: Value, other: Value) -> bool:
    """Whether two values are equal as JSON: `true` is not 1, but 1.0 is."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(
            same(value, other[key]) for key, value in one.items()
        )
    if _many(one) and _many(other):
        ones, others = _elements(one), _elements(other)
        return len(ones) == len(others) and all(map(same, ones, others))
    return one == other


_MACHINE = tuple(row for row in FIELDS if row.owner in (Owner.IDENTITY, Owner.MACHINE))
_UNSET = (None, "")
_LISTS = frozenset({Kind.LINES, Kind.LINKS, Kind.IDS})


def _put_back(base: Fact, vault: Fact, store: Fact) -> tuple[str, ...]:
    return tuple(
        row.key
        for row in _MACHINE
        if not _agree(row, _value(vault, row.key), _value(base, row.key))
        and not _agree(row, _value(vault, row.key), _value(store, row.key))
    )


_ALL = (FIELDS, itemgetter(*(row.attr for row in FIELDS)))
_LASTING_ROWS = tuple(row for row in FIELDS if row.owner is not Owner.VOLATILE)
_LASTING = (_LASTING_ROWS, itemgetter(*(row.attr for row in _LASTING_ROWS)))


def _rows(*facts: Fact) -> Iterator[tuple[str, Field | None]]:
    """Every key of some facts with its row; None for a property."""
    yield from ((row.key, row) for row in FIELDS)
    yield from _loose_rows(*facts)


def _loose_rows(*facts: Fact) -> Iterator[tuple[str, Field | None]]:
    """The keys of own fields and of properties."""
    yield from (
        (key, row) for key, row in OWN.items() if any(key in fact.own for fact in facts)
    )
    yield from (
        (key, None)
        for key in sorted({key for fact in facts for key in fact.properties})
    )


def _value(fact: Fact, key: str) -> Value:
    return plain(fact.value(key))


def plain(value: Value) -> Value:
    """A value as conflicts, history and the outbox hold it: lists, as in JSON."""
    return list(value) if isinstance(value, tuple) else value


def _agree(row: Field | None, one: Value, other: Value) -> bool:
    if row is not None and row.rule is Rule.SET:
        return set(_elements(one)) == set(_elements(other))
    unset = row is not None and one in _UNSET and other in _UNSET
    return unset or same(one, other)


def _many(value: Value) -> bool:
    return isinstance(value, (list, tuple))


def _elements(value: Value) -> Sequence[Value]:
    return value if isinstance(value, (list, tuple)) else []
