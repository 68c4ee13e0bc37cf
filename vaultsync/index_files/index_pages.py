"""Render the index files: tables of contents that can be read without the store.

Four files, and parts of those that would be too large (`index_files/paging.py`). They depend on
the facts alone: the same facts give the same bytes, in any order, on any day. So "recent" counts
back from the newest fact, not from today, and an entry links to the path of its note, which is
unambiguous.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import NamedTuple

from vaultsync.index_files.entry import (
    ENTRY_TITLE_LENGTH,
    IndexEntry,
    cut_between_words,
    entry_line,
    link_safe_title,
    link_to,
)
from vaultsync.index_files.paging import TableLine, paged_files
from vaultsync.model.decay import DEFAULT_IMPORTANCE
from vaultsync.model.paths import VaultPath, stem_of
from vaultsync.model.schema import TYPES, tier_of

RECENT_DAYS = 7
MAX_RECENT = 50
"""Maximum number of recent entries."""
PER_TYPE, PER_PRIORITY, PER_ENTITY = 10, 20, 10
"""Maximum number of entries under each heading; `by-type.md` has all."""


class _Listed(NamedTuple):
    """An entry with its line."""

    entry: IndexEntry
    path: VaultPath
    line: str


def render_index(entries: Iterable[IndexEntry], paths: Mapping[str, VaultPath]) -> dict[str, str]:
    """Name of an index file -> its text, of all entries whose facts have a path."""
    listed = [
        _Listed(entry, path, entry_line(entry, path))
        for entry in entries
        if (path := paths.get(entry.id)) is not None
    ]
    # Most important first, then newest: the last sort counts most.
    listed.sort(key=lambda each: each.entry.id)
    listed.sort(key=lambda each: each.entry.day, reverse=True)
    listed.sort(key=_importance, reverse=True)
    newest = max((each.entry.day for each in listed), default="")
    tokens = sum(each.entry.tokens for each in listed)
    about = f"Total facts: {len(listed):,} · {tokens:,} tokens"
    if newest:
        about += f"\nNewest: {newest}"
    first, by_type = _by_type(listed)
    master = [*_recent(listed, newest), *first]
    return {
        **paged_files("vault-index", "Vault Index", master, about=about),
        **paged_files("by-type", "Facts by Type", by_type),
        **paged_files("by-priority", "Facts by Priority", _by_priority(listed)),
        **paged_files("by-entity", "Facts by Entity", _by_entity(listed)),
    }


def _importance(listed: _Listed) -> float:
    given = listed.entry.importance
    return DEFAULT_IMPORTANCE if given is None else given


def _recent(listed: Sequence[_Listed], newest: str) -> list[TableLine]:
    """The entries of the last days up to the newest one, by day."""
    if not newest:
        return []
    ordinal = date.fromisoformat(newest).toordinal() - RECENT_DAYS + 1
    since = date.fromordinal(max(ordinal, 1)).isoformat()
    recent = [each for each in listed if each.entry.day >= since]
    recent.sort(key=lambda each: each.entry.day, reverse=True)
    return _section(f"Recent ({RECENT_DAYS} days up to {newest})", recent, MAX_RECENT)


def _section(
    heading: str,
    listed: Sequence[_Listed],
    limit: int,
    *,
    more: str = "more",
    keys: tuple[str, ...] = (),
) -> list[TableLine]:
    """The first entries under a heading, and a line that counts the others."""
    lines = [each.line for each in listed[:limit]]
    if len(listed) > limit:
        lines.append(f"- and {len(listed) - limit:,} {more}")
    return [TableLine(line, heading, keys) for line in lines]


def _by_type(listed: Sequence[_Listed]) -> tuple[list[TableLine], list[TableLine]]:
    """The most important entries of each type, in the order of the table of types, and all."""
    groups = defaultdict(list)
    for each in listed:
        groups[each.entry.type].append(each)
    first: list[TableLine] = []
    lines: list[TableLine] = []
    for name, row in TYPES.items():
        if group := groups[name]:
            heading = f"{row.folder.capitalize()} ({len(group):,})"
            first += _section(heading, group, PER_TYPE, more="more in by-type.md")
            lines += [
                TableLine(each.line, heading, (name, each.entry.day[:7] or "undated"))
                for each in group
            ]
    return first, lines


def _by_priority(listed: Sequence[_Listed]) -> list[TableLine]:
    by_priority = defaultdict(list)
    for each in listed:
        by_priority[each.entry.priority].append(each)
    items = []
    for priority in sorted(by_priority):
        group = by_priority[priority]
        tier = tier_of(priority).capitalize()
        heading = f"{tier} (Priority {priority}): {len(group):,}"
        items += _section(heading, group, PER_PRIORITY)
    return items


def _by_entity(listed: Sequence[_Listed]) -> list[TableLine]:
    """Each entity with the facts that mention it, most mentioned first.

    The heading has all names by which facts mention the entity, its title first.
    """
    notes = _entity_notes(listed)
    mentions: dict[str, list[_Listed]] = defaultdict(list)
    """Entity (path of its note, or its folded name) -> facts that mention it."""
    name_counts: dict[str, Counter[str]] = defaultdict(Counter)
    for each in listed:
        folded = {name: _key(name) for name in each.entry.entities}
        entities = {name: notes[k].path if k in notes else k for name, k in folded.items()}
        for name, entity in entities.items():
            name_counts[entity][name] += 1
        for entity in dict.fromkeys(entities.values()):
            mentions[entity].append(each)
    items = []
    groups = [(*_entity_heading(notes, name_counts[key]), mentions[key]) for key in mentions]
    for label, title, group in sorted(groups, key=lambda x: (-len(x[2]), _key(x[0]))):
        heading = f"{title} ({len(group):,} mention{'s' if len(group) > 1 else ''})"
        items += _section(heading, group, PER_ENTITY, keys=(_letter(_key(label)),))
    return items


def _entity_heading(notes: Mapping[str, _Listed], counts: Mapping[str, int]) -> tuple[str, str]:
    """The name by which an entity is sorted, and its heading with all of its names."""
    names = sorted(counts, key=lambda name: (-counts[name], name))
    note = notes.get(_key(names[0]))
    if note is None:
        label = cut_between_words(link_safe_title(names[0]), ENTRY_TITLE_LENGTH)
        return label, label
    others: dict[str, str] = {}
    for name in sorted(names, key=lambda name: (_key(name), -counts[name], name)):
        others.setdefault(_key(name), cut_between_words(link_safe_title(name), ENTRY_TITLE_LENGTH))
    others.pop(_key(note.entry.names[0]), None)
    label = note.entry.title
    return label, ", ".join([link_to(note.path, label), *others.values()])


def _entity_notes(listed: Sequence[_Listed]) -> dict[str, _Listed]:
    """Folded name -> the note of the entity: by titles, then aliases, then file names."""
    notes: dict[str, _Listed] = {}
    entities = sorted((each for each in listed if each.entry.names), key=lambda x: x.path)
    for each in entities:
        notes.setdefault(_key(each.entry.names[0]), each)
    for each in entities:
        for alias in each.entry.names[1:]:
            notes.setdefault(_key(alias), each)
    for each in entities:
        notes.setdefault(_key(stem_of(each.path)), each)
    return notes


def _key(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _letter(name: str) -> str:
    """The first letter of a name in lower case; of other scripts than Latin, their name."""
    first = next((c for c in unicodedata.normalize("NFKD", name) if c.isalnum()), "")
    if first.isascii():
        return first.lower() if first.isalpha() else "0-9"
    script = unicodedata.name(first, "other").split()[0].lower()
    return "".join(c for c in script if c.isascii() and c.isalnum())
