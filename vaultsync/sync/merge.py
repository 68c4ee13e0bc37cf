"""Three-way merge of a fact, field by field, according to the table of fields.

`merge(base, vault, store)` never loses a change: it is in the merged fact or in a
conflict, unless the other side alone removed it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from vaultsync.markdown.diff3 import merge_text
from vaultsync.model.compare import agree, differing_keys, elements, loose_rows
from vaultsync.model.fact import Fact
from vaultsync.model.schema import (
    FIELDS,
    LIST_KINDS,
    OWN_FIELDS_BY_KEY,
    FieldOwner,
    MergeRule,
    Value,
    equal_as_json,
)
from vaultsync.model.serialization import field_values
from vaultsync.notes.conflict_note import FieldConflict


@dataclass(frozen=True, slots=True)
class MergeResult:
    """The merged fact, and what has to be written to each side."""

    fact: Fact
    """The merged fact, with the vault's `path` and the store's `revision`."""
    conflicts: tuple[FieldConflict, ...]
    """The fields that both sides changed differently; `fact` has the vault's values."""
    from_vault: tuple[str, ...]
    """Keys that differ from the store's fact, to be written to the store."""
    from_store: tuple[str, ...]
    """Keys that differ from the vault's fact, to be written to the note.

    Volatile fields are never a reason to write, and neither is a `scope` that only the vault
    changed: that note was moved, which needs the user's permission.
    """
    reverted: tuple[str, ...]
    """Fields that the user changed in the note but may not change; the store's value wins."""


class _ValueMerge(NamedTuple):
    value: Value
    conflict: bool = False


_Merge: TypeAlias = Callable[[Value, Value, Value], _ValueMerge]


def _whole(base: Value, vault: Value, store: Value) -> _ValueMerge:
    if equal_as_json(vault, base):
        return _ValueMerge(store)
    return _ValueMerge(vault, not (equal_as_json(store, base) or equal_as_json(vault, store)))


def _by_line(base: Value, vault: Value, store: Value) -> _ValueMerge:
    # Text has no final line break, but a line added below the last one must not count as
    # an edit of that line.
    texts = [f"{text}\n" if text else "" for text in (base, vault, store)]
    merged = merge_text(*texts)
    return _ValueMerge(vault, conflict=True) if merged is None else _ValueMerge(merged.strip("\n"))


def _by_element(base: Value, vault: Value, store: Value) -> _ValueMerge:
    before, in_vault, in_store = (set(elements(each)) for each in (base, vault, store))
    remaining = [each for each in elements(vault) if each in in_store or each not in before]
    existing = in_vault | before
    return _ValueMerge(remaining + [each for each in elements(store) if each not in existing])


def _take_store(_base: Value, _vault: Value, store: Value) -> _ValueMerge:
    return _ValueMerge(store)


MERGE_RULES: Mapping[MergeRule, _Merge] = MappingProxyType(
    {
        MergeRule.FIXED: _take_store,
        MergeRule.TEXT: _by_line,
        MergeRule.SET: _by_element,
        MergeRule.WHOLE: _whole,
        MergeRule.MAP: _whole,
        MergeRule.FOLDER: _take_store,
        MergeRule.STORE: _take_store,
    }
)
"""Rule -> how a value is merged; for a map, the value of each key."""


def merge(base: Fact | None, vault: Fact, store: Fact, *, peers: bool = False) -> MergeResult:
    """Merge the two sides of a fact.

    Without the last synced version as base, a value that is unset or the default counts as never
    written; any other two values are a conflict. With `peers`, both versions are writes to the
    store, so that machine fields can conflict too.
    """
    ancestor = base or Fact(vault.id, scope=vault.scope)
    attrs: dict[str, object] = {}
    own: dict[str, Value] = {}
    properties: dict[str, Value] = {}
    conflicts: list[FieldConflict] = []
    rows = zip(
        FIELDS, field_values(ancestor), field_values(vault), field_values(store), strict=True
    )
    changed = [(row.key, row) for row, before, here, there in rows if not before == here == there]
    for key, row in (*changed, *loose_rows(vault, store, ancestor)):
        values = ancestor.plain(key), vault.plain(key), store.plain(key)
        rule = row.rule if row else MergeRule.MAP
        if peers and row and row.owner is FieldOwner.MACHINE:
            rule = MergeRule.WHOLE
        value, conflict = MERGE_RULES[rule](*values)
        if conflict:
            before = None if base is None else values[0]
            conflicts.append(FieldConflict(key, before, values[1], values[2]))
        if row is None:
            if value is not None:
                properties[key] = value
        elif key in OWN_FIELDS_BY_KEY:
            if value is not None and value != []:
                own[key] = value
        else:
            attrs[row.attr] = tuple(elements(value)) if row.kind in LIST_KINDS else value
    fact = store.evolve(**attrs, own=own, properties=properties, path=vault.path).replace({})
    return MergeResult(
        fact=fact,
        conflicts=tuple(conflicts),
        from_vault=differing_keys(fact, store),
        from_store=tuple(
            key
            for key in differing_keys(fact, vault)
            if key != "scope" or store.scope != ancestor.scope
        ),
        reverted=_reverted_fields(ancestor, vault, store),
    )


_MACHINE = tuple(row for row in FIELDS if row.owner in (FieldOwner.IDENTITY, FieldOwner.MACHINE))
_GET_MACHINE = attrgetter(*(row.attr for row in _MACHINE))


def _reverted_fields(base: Fact, vault: Fact, store: Fact) -> tuple[str, ...]:
    rows = zip(_MACHINE, _GET_MACHINE(base), _GET_MACHINE(vault), _GET_MACHINE(store), strict=True)
    return tuple(
        row.key
        for row, before, here, there in rows
        if here not in (before, there) and not (agree(row, here, before) or agree(row, here, there))
    )
