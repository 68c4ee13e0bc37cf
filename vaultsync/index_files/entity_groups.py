"""Entities and the facts that mention them, updated incrementally.

Facts mention an entity by any of its names. Which note a name leads to depends on the names of
all entities, so that a note that comes, goes or is renamed may take mentions from another one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from vaultsync.index_files.entry import (
    ENTRY_TITLE_LENGTH,
    ListedEntry,
    cut_between_words,
    link_safe_title,
    link_to,
)
from vaultsync.index_files.ports import EntityGroup, EntryTable
from vaultsync.model.paths import path_key

PER_ENTITY = 10
"""Maximum number of entries under the heading of an entity."""
_OF_FACT, _OF_NAME = "fact ", "name "
"""How the keys of entities begin: those with a note, and those without."""


class Touched(NamedTuple):
    """What a change of entries touched of entities."""

    names: frozenset[str]
    """Folded names that are mentioned, or that entities have."""
    owners: frozenset[str]
    """The facts that these names led to before."""


def put_entries(
    table: EntryTable, put: Sequence[ListedEntry], drop: Sequence[str]
) -> tuple[Touched, list[ListedEntry]]:
    """List entries, and take others out.

    Returns:
        What has to be passed to `regroup()`; and the entries that changed, old and new.
    """
    after = {each.id: each for each in put}
    before = table.find([*after, *drop])
    new = [each for each in put if before.get(each.id) != each]
    old = [each for each in before.values() if after.get(each.id) != each]
    names: set[str] = set()
    for each in (*old, *new):
        names.update(each.mentioned, (name for _, name in each.own_names))
    owners = frozenset(table.owners(names).values())
    table.put(new, old)
    return Touched(frozenset(names), owners), [*old, *new]


def regroup(table: EntryTable, touched: Iterable[Touched]) -> list[EntityGroup]:
    """Make the groups of touched entities again; returns those that changed, old and new."""
    touched = list(touched)
    names = frozenset[str]().union(*(each.names for each in touched))
    owners = {*table.owners(names).values()}.union(*(each.owners for each in touched))
    keys = [*(_OF_FACT + each for each in owners), *(_OF_NAME + each for each in names)]
    held = table.find_groups(keys)
    groups = {key: group for key in keys if (group := _group(table, key)) != held.get(key)}
    new = [each for each in groups.values() if each is not None]
    old = [held[key] for key in groups if key in held]
    table.put_groups(new, old)
    return [*old, *new]


def _group(table: EntryTable, key: str) -> EntityGroup | None:
    """The group of an entity; None when nothing mentions it by a name of its own."""
    note: ListedEntry | None = None
    if key.startswith(_OF_FACT):
        fact_id = key.removeprefix(_OF_FACT)
        note = table.find([fact_id]).get(fact_id)
        own = {name for _, name in note.own_names} if note else set()
        names = [name for name, owner in table.owners(own).items() if owner == fact_id]
    else:
        names = [key.removeprefix(_OF_NAME)]
        if table.owners(names):
            return None
    mentions = table.mentions(names, PER_ENTITY)
    if not mentions.facts:
        return None
    label, title = _heading(note, mentions.names)
    many = "s" if mentions.facts > 1 else ""
    lines = [each.line for each in mentions.first]
    if mentions.facts > len(lines):
        lines.append(f"- and {mentions.facts - len(lines):,} more")
    folded = path_key(label)
    heading = f"{title} ({mentions.facts:,} mention{many})"
    return EntityGroup(key, heading, folded, _letter(folded), mentions.facts, tuple(lines))


def _heading(note: ListedEntry | None, counts: Mapping[str, int]) -> tuple[str, str]:
    """The name by which an entity is sorted, and its heading with all of its names."""
    names = sorted(counts, key=lambda name: (-counts[name], name))
    if note is None:
        label = cut_between_words(link_safe_title(names[0]), ENTRY_TITLE_LENGTH)
        return label, label
    others: dict[str, str] = {}
    for name in sorted(names, key=lambda name: (path_key(name), -counts[name], name)):
        shown = cut_between_words(link_safe_title(name), ENTRY_TITLE_LENGTH)
        others.setdefault(path_key(name), shown)
    others.pop(path_key(note.entry.names[0]), None)
    label = note.entry.title
    return label, ", ".join([link_to(note.path, label), *others.values()])


def _letter(name: str) -> str:
    """The first letter of a name in lower case; of other scripts than Latin, their name."""
    first = next((c for c in unicodedata.normalize("NFKD", name) if c.isalnum()), "")
    if first.isascii():
        return first.lower() if first.isalpha() else "0-9"
    script = unicodedata.name(first, "other").split()[0].lower()
    return "".join(c for c in script if c.isascii() and c.isalnum())
