"""Facts -> the texts of `.index/`: tables of contents for whoever has the files alone.

Four files, and parts of those that would grow too large (`index_files/paging.py`). They are made
of the facts and of nothing else: the same facts give the same bytes, in any order, on any
day. So "recent" counts back from the newest fact, not from today, and an entry is linked
by the path of its note, which no other note can take the meaning of.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
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
"""Entries under "Recent" at most."""
PER_TYPE, PER_PRIORITY, PER_ENTITY = 10, 20, 10
"""Entries under each heading at most (seed 003); `by-type.md` has all."""


class _Listed(NamedTuple):
    """An entry with its line."""

    entry: IndexEntry
    path: VaultPath
    line: str


def render_index(entries: Iterable[IndexEntry], paths: Mapping[str, VaultPath]) -> dict[str, str]:
    """The texts of the tables by the names of their files.

    Args:
        entries: of all facts, in any order.
        paths: fact id -> where its note lies. A fact without a note is not listed.
    """
    listed = [
        _Listed(entry, path, entry_line(entry, path))
        for entry in entries
        if (path := paths.get(entry.id)) is not None
    ]
    # The most important first, then the newest: the last sort counts most.
    listed.sort(key=lambda each: each.entry.id)
    listed.sort(key=lambda each: each.entry.day, reverse=True)
    listed.sort(key=_importance, reverse=True)
    return {
        **paged_files("vault-index", "Vault Index", _master(listed), about=_about(listed)),
        **paged_files("by-type", "Facts by Type", _by_type(listed)),
        **paged_files("by-priority", "Facts by Priority", _by_priority(listed)),
        **paged_files("by-entity", "Facts by Entity", _by_entity(listed)),
    }


def _importance(listed: _Listed) -> float:
    given = listed.entry.importance
    return DEFAULT_IMPORTANCE if given is None else given


def _about(listed: Sequence[_Listed]) -> str:
    tokens = sum(each.entry.tokens for each in listed)
    newest = max((each.entry.day for each in listed), default="")
    lines = [f"Total facts: {len(listed):,} · {tokens:,} tokens"]
    return "\n".join([*lines, *([f"Newest: {newest}"] if newest else [])])


def _master(listed: Sequence[_Listed]) -> list[TableLine]:
    """The recent ones by day, and the most important of each type."""
    newest = max((each.entry.day for each in listed), default="")
    since = _days_before(newest, RECENT_DAYS - 1) if newest else ""
    recent = [each for each in listed if newest and each.entry.day >= since]
    recent.sort(key=lambda each: each.entry.day, reverse=True)
    heading = f"Recent ({RECENT_DAYS} days up to {newest})"
    items = [TableLine(each.line, heading) for each in recent[:MAX_RECENT]]
    if len(recent) > MAX_RECENT:
        items.append(TableLine(f"- and {len(recent) - MAX_RECENT:,} more", heading))
    for name, many in _grouped(listed, lambda each: each.entry.type).items():
        heading = f"{_plural(name)} ({len(many):,})"
        items += [TableLine(each.line, heading) for each in many[:PER_TYPE]]
        if len(many) > PER_TYPE:
            more = f"- and {len(many) - PER_TYPE:,} more in by-type.md"
            items.append(TableLine(more, heading))
    return items


def _days_before(day: str, days: int) -> str:
    ordinal = date.fromisoformat(day).toordinal() - days
    return (date.min + timedelta(max(ordinal, 1) - 1)).isoformat()


def _by_type(listed: Sequence[_Listed]) -> list[TableLine]:
    return [
        TableLine(
            each.line,
            f"{_plural(name)} ({len(many):,})",
            (name, each.entry.day[:7] or "undated"),
        )
        for name, many in _grouped(listed, lambda each: each.entry.type).items()
        for each in many
    ]


def _by_priority(listed: Sequence[_Listed]) -> list[TableLine]:
    by_priority = defaultdict(list)
    for each in listed:
        by_priority[each.entry.priority].append(each)
    items = []
    for priority in sorted(by_priority):
        many = by_priority[priority]
        tier = tier_of(priority).capitalize()
        heading = f"{tier} (Priority {priority}): {len(many):,}"
        items += [TableLine(each.line, heading) for each in many[:PER_PRIORITY]]
        if len(many) > PER_PRIORITY:
            items.append(TableLine(f"- and {len(many) - PER_PRIORITY:,} more", heading))
    return items


def _by_entity(listed: Sequence[_Listed]) -> list[TableLine]:
    """Each entity with the facts that name it, the most named first.

    All that facts call an entity stands in its heading, its title first: it is one.
    """
    notes = _notes_of_entities(listed)
    naming: dict[str, list[_Listed]] = defaultdict(list)
    called: dict[str, Counter[str]] = defaultdict(Counter)
    for each in listed:
        mine = {name: _key(name) for name in each.entry.entities}
        owners = {name: notes[k].path if k in notes else k for name, k in mine.items()}
        for name, owner in owners.items():
            called[owner][name] += 1
        for owner in dict.fromkeys(owners.values()):
            naming[owner].append(each)
    items = []
    found = [(*_heading(notes, called[owner]), naming[owner]) for owner in naming]
    for label, title, many in sorted(found, key=lambda x: (-len(x[2]), _key(x[0]))):
        heading = f"{title} ({len(many):,} mention{'s' if len(many) > 1 else ''})"
        letter = _letter(_key(label))
        items += [TableLine(each.line, heading, (letter,)) for each in many[:PER_ENTITY]]
        if len(many) > PER_ENTITY:
            more = f"- and {len(many) - PER_ENTITY:,} more"
            items.append(TableLine(more, heading, (letter,)))
    return items


def _heading(notes: Mapping[str, _Listed], called: Mapping[str, int]) -> tuple[str, str]:
    """What an entity is filed under, and the heading that says its names."""
    names = sorted(called, key=lambda name: (-called[name], name))
    note = notes.get(_key(names[0]))
    if note is None:
        label = cut_between_words(link_safe_title(names[0]), ENTRY_TITLE_LENGTH)
        return label, label
    others: dict[str, str] = {}
    for name in sorted(names, key=lambda name: (_key(name), -called[name], name)):
        others.setdefault(_key(name), cut_between_words(link_safe_title(name), ENTRY_TITLE_LENGTH))
    others.pop(_key(note.entry.names[0]), None)
    label = note.entry.title
    return label, ", ".join([link_to(note.path, label), *others.values()])


def _notes_of_entities(listed: Sequence[_Listed]) -> dict[str, _Listed]:
    """The note of each entity, by all its names: a title counts before any alias.

    An alias counts before the name of a file, by which links name the note.
    """
    notes: dict[str, _Listed] = {}
    named = sorted((each for each in listed if each.entry.names), key=lambda x: x.path)
    for take in (slice(0, 1), slice(1, None)):
        for each in named:
            for name in each.entry.names[take]:
                notes.setdefault(_key(name), each)
    for each in named:
        notes.setdefault(_key(stem_of(each.path)), each)
    return notes


def _key(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _letter(name: str) -> str:
    """The letter that a name is filed under; the name of the script for other than Latin."""
    first = next((c for c in unicodedata.normalize("NFKD", name) if c.isalnum()), "")
    if first.isascii():
        return first.lower() if first.isalpha() else "0-9"
    script = unicodedata.name(first, "other").split()[0].lower()
    return "".join(c for c in script if c.isascii() and c.isalnum())


def _grouped(listed: Sequence[_Listed], key: Callable[[_Listed], str]) -> dict[str, list[_Listed]]:
    """By type, in the order of the table of types."""
    groups: dict[str, list[_Listed]] = {name: [] for name in TYPES}
    for each in listed:
        groups[key(each)].append(each)
    return {name: many for name, many in groups.items() if many}


def _plural(type_name: str) -> str:
    return TYPES[type_name].folder.capitalize()
