"""Render the index files: tables of contents that can be read without the store.

Four files, and parts of those that would be too large (`index_files/paging.py`). They depend on
the facts alone: the same facts give the same bytes, in any order, on any day. So "recent" counts
back from the newest fact, not from today, and an entry links to the path of its note, which is
unambiguous. Facts dated after the last write, as by a clock that was wrong for a while, are not
recent: they would hide what is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from vaultsync.index_files.entity_groups import put_entries, regroup
from vaultsync.index_files.entry import TYPE_ORDER, ListedEntry
from vaultsync.index_files.paging import (
    Divisions,
    PagePlan,
    TableLine,
    link_lines,
    page_text,
    paged_files,
    plan_pages,
)
from vaultsync.index_files.ports import LAST_DAY, LETTERED, TYPED, EntryTable
from vaultsync.model.schema import TYPES, tier_of

RECENT_DAYS = 7
MAX_RECENT = 50
"""Maximum number of recent entries."""
PER_TYPE, PER_PRIORITY = 10, 20
"""Maximum number of entries under each heading; `by-type.md` has all."""


class IndexPage(NamedTuple):
    """An index file."""

    lines: str
    """Which lines it has."""
    text: str | None
    """None where its text is the same as before."""


def render_listed(
    entries: Iterable[ListedEntry], table: EntryTable, *, until: str = LAST_DAY
) -> dict[str, str]:
    """Name of an index file -> its text, of entries with their places, by an empty table.

    `until` is as in `render_pages()`.
    """
    with table.changing():
        touched, _ = put_entries(table, list(entries), [])
        regroup(table, [touched])
        pages = render_pages(table, lambda _: True, until=until)
        return {name: page.text or "" for name, page in pages}


def render_pages(
    table: EntryTable,
    is_stale: Callable[[PagePlan], bool],
    divisions: Divisions | None = None,
    *,
    until: str = LAST_DAY,
) -> Iterator[tuple[str, IndexPage]]:
    """The names and pages of all index files, one after the other: all texts are long.

    Args:
        table: the entries.
        is_stale: whether the text of a part has to be made again; those that are short are.
        divisions: how parts were divided by number, and how they are now.
        until: the last day of which entries are recent.
    """
    divisions = divisions or Divisions()
    totals = table.totals(until)
    about = f"Total facts: {totals.facts:,} · {totals.tokens:,} tokens"
    if totals.newest:
        about += f"\nNewest: {totals.newest}"
    master = [*_recent(table, totals.newest), *_first_by_type(table)]
    by_type = partial(divisions.of, buckets_of=partial(table.buckets, TYPED))
    types = plan_pages("by-type", "Facts by Type", table.parts(TYPED), by_type)
    by_letter = partial(divisions.of, buckets_of=partial(table.buckets, LETTERED))
    letters = plan_pages("by-entity", "Facts by Entity", table.parts(LETTERED), by_letter)

    def typed(plan: PagePlan) -> list[TableLine]:
        return _by_type(table.typed(plan.keys, plan.buckets))

    def lettered(plan: PagePlan) -> list[TableLine]:
        groups = table.entities(plan.keys, plan.buckets)
        return [TableLine(line, each.heading) for each in groups for line in each.lines]

    yield from _short(paged_files("vault-index", "Vault Index", master, about=about))
    yield from _pages(types, is_stale, typed)
    yield from _short(paged_files("by-priority", "Facts by Priority", _by_priority(table)))
    yield from _pages(letters, is_stale, lettered)


def _short(files: Mapping[str, str]) -> Iterator[tuple[str, IndexPage]]:
    return ((name, IndexPage("", text)) for name, text in files.items())


def _pages(
    plans: Iterable[PagePlan],
    is_stale: Callable[[PagePlan], bool],
    lines_of: Callable[[PagePlan], list[TableLine]],
) -> Iterator[tuple[str, IndexPage]]:
    for plan in plans:
        if plan.too_large:  # all by itself
            texts = paged_files(plan.name.removesuffix(".md"), plan.title, lines_of(plan))
            yield from _short(texts)
        else:
            text = None
            if is_stale(plan):
                text = page_text(plan.title, link_lines(plan.links) or lines_of(plan))
            yield plan.name, IndexPage(plan.lines, text)


def _recent(table: EntryTable, newest: str) -> list[TableLine]:
    """The entries of the last days up to the newest one, by day."""
    if not newest:
        return []
    ordinal = date.fromisoformat(newest).toordinal() - RECENT_DAYS + 1
    since = date.fromordinal(max(ordinal, 1)).isoformat()
    number, recent = table.newest(since, newest, MAX_RECENT)
    return _section(f"Recent ({RECENT_DAYS} days up to {newest})", recent, number)


def _section(
    heading: str, first: Sequence[ListedEntry], number: int, *, more: str = "more"
) -> list[TableLine]:
    """The first entries under a heading, and a line that counts the others."""
    lines = [each.line for each in first]
    if number > len(lines):
        lines.append(f"- and {number - len(lines):,} {more}")
    return [TableLine(line, heading) for line in lines]


def _first_by_type(table: EntryTable) -> Iterator[TableLine]:
    """The most important entries of each type, in the order of the table of types."""
    best = table.by_type(PER_TYPE)
    for name, row in TYPES.items():
        if name in best:
            number, first = best[name]
            heading = f"{row.folder.capitalize()} ({number:,})"
            yield from _section(heading, first, number, more="more in by-type.md")


def _by_priority(table: EntryTable) -> list[TableLine]:
    items = []
    for priority, (number, first) in sorted(table.by_priority(PER_PRIORITY).items()):
        tier = tier_of(priority).capitalize()
        items += _section(f"{tier} (Priority {priority}): {number:,}", first, number)
    return items


def _by_type(listed: Iterable[tuple[str, str]]) -> list[TableLine]:
    """Entries under the headings of their types, which count those in the file."""
    items = []
    ordered = sorted(listed, key=lambda each: TYPE_ORDER[each[0]])
    for name, group in groupby(ordered, key=itemgetter(0)):
        lines = [line for _, line in group]
        heading = f"{TYPES[name].folder.capitalize()} ({len(lines):,})"
        items += [TableLine(line, heading) for line in lines]
    return items
