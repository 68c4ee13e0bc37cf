"""A page of the changes in a time span: generated from facts, and never a fact itself.

It has the mark of an index page, which neither a run nor an adoption takes for a note, and a seal:
a page that a person edited is left alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import TypeAlias

from msgspec import Struct

from vaultsync.index_files.entry import TYPE_ORDER, link_safe_title, link_to
from vaultsync.index_files.paging import TableLine, page_text
from vaultsync.model.dates import TimeSpan
from vaultsync.model.schema import TYPES
from vaultsync.notes.kinds import is_table
from vaultsync.notes.review_note import plain
from vaultsync.sync.conflicts import redact_conflicts
from vaultsync.sync.context import SyncContext

CREATED, UPDATED, FORGOTTEN = "Created", "Updated", "Forgotten"
CONFLICTS, PROPOSALS = "Conflicts", "Proposals"
_SEAL = r"\n<!-- vaultsync:seal ([0-9a-f]{16}) -->\n\Z"


class ChangePage(Struct, frozen=True):
    """What changed, as a page."""

    text: str
    counts: dict[str, int]
    """Heading in small letters -> number of lines below it."""


def change_page(ctx: SyncContext, span: TimeSpan, title: str) -> ChangePage:
    """The page of the changes in a span, the same for the same memory.

    A fact counts as created by its `createdAt`, else as updated by its `updatedAt`; a forgotten
    one, a conflict and a proposal by when that happened.

    Args:
        ctx: the two sides, as the user sees them.
        span: of time.
        title: of the page.

    Raises:
        StoreUnavailableError: the store is unavailable.
    """
    items = [*_facts(ctx, span)]
    for heading, rows in _EVENTS.items():
        items += [_line(heading, time, what) for time, _, what in sorted(rows(ctx, span))]
    found = Counter(each.heading for each in items)
    names = (CREATED, UPDATED, FORGOTTEN, CONFLICTS, PROPOSALS)
    counts = {each.lower(): found[each] for each in names}
    about = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
    text = page_text(title, items, about=about or "Nothing changed.")
    return ChangePage(f"{text}\n<!-- vaultsync:seal {_seal(text)} -->\n", counts)


def is_unedited_page(data: bytes) -> bool:
    """Whether a file is such a page, as it was written."""
    text = data.decode(errors="replace")
    found = re.search(_SEAL, text)
    return found is not None and is_table(data) and found[1] == _seal(text[: found.start()])


def _seal(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


def _line(heading: str, time: str, what: str) -> TableLine:
    return TableLine(f"- [{time[:10]}] {what}", heading)


def _facts(ctx: SyncContext, span: TimeSpan) -> Iterator[TableLine]:
    rows = []
    for fact in ctx.redacted_store.iter_facts():
        is_new = span.holds(fact.created_at)
        time = fact.created_at if is_new else fact.updated_at or fact.created_at
        if span.holds(time):
            order = (not is_new, TYPE_ORDER[fact.type], time, fact.id)
            rows.append((order, fact.title))
    paths = ctx.archive.note_paths([order[-1] for order, _ in rows])
    kinds = list(TYPES)
    for (is_old, kind, time, fact_id), title in sorted(rows):
        path = paths.get(fact_id)
        shown = link_safe_title(str(ctx.view.escape(title)))
        link = link_to(path, shown) if path else plain(title)
        heading = UPDATED if is_old else CREATED
        yield _line(heading, time, f"**{kinds[kind].capitalize()}** {link}")


_Rows: TypeAlias = "Iterable[tuple[str, str, str]]"
"""The time of an event, an id and what to say of it."""


def _forgotten(ctx: SyncContext, span: TimeSpan) -> _Rows:
    for fact in ctx.redacted_store.iter_facts(deleted=True):
        row = ctx.store.last_write(fact.id)
        if row is not None and span.holds(row.at):
            yield row.at, fact.id, f"**{fact.type.capitalize()}** {plain(fact.title)}"


def _conflicts(ctx: SyncContext, span: TimeSpan) -> _Rows:
    found = [each for each in ctx.archive.conflicts(closed=True) if span.holds(each.at)]
    for each in redact_conflicts(ctx, found):
        link = link_to(each.path, link_safe_title(each.title or each.path))
        fields = plain(", ".join(field.field for field in each.fields))
        yield each.at, each.id, f"{link}: {fields}, {_OUTCOMES.get(each.outcome, 'open')}"


_OUTCOMES = {
    "vault": "the vault's value was kept",
    "store": "the store's value was taken",
    "mixed": "values of both were taken",
}


def _proposals(ctx: SyncContext, span: TimeSpan) -> _Rows:
    for each in ctx.archive.proposals(settled=True):
        if each.settled_at and span.holds(each.settled_at):
            title = plain(ctx.view.redact_text(each.title))
            yield each.settled_at, each.id, f"{title}: {each.outcome}"


_EVENTS = {FORGOTTEN: _forgotten, CONFLICTS: _conflicts, PROPOSALS: _proposals}
