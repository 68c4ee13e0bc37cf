"""Explain why a set of facts is empty: none of the type, or none in the time, state or scope."""

from __future__ import annotations

from collections.abc import Iterator

from vaultsync.indexing.ports import NoteIndex
from vaultsync.model.counts import count_noun
from vaultsync.model.filters import FactFilters
from vaultsync.model.schema import LOWEST_PRIORITY
from vaultsync.recall.asked_words import DUE
from vaultsync.recall.query import ParsedQuery

_ALL = 1 << 31


def explain_empty_set(query: ParsedQuery, filters: FactFilters, index: NoteIndex) -> str:
    """A sentence that says what the memory has instead; empty if that explains nothing."""
    types = filters.types or query.hinted_types
    wide = filters._replace(
        types=types,
        scopes=None,
        tags=frozenset(),
        themes=frozenset(),
        tiers=frozenset(),
        status=None,
        max_priority=LOWEST_PRIORITY,
        since=None,
        until=None,
        superseded_only=False,
        among=None,
    )
    names = f" of the type{'s' if len(types) > 1 else ''} {' or '.join(sorted(types))}"
    of_type = names if types else ""
    count, boxes = _count(index, wide), 0
    with_boxes = f"with {query.asked_boxes} check boxes"
    if query.asks_for_tasks:
        of_any_type = wide._replace(types=filters.types)
        boxes = _count(index, of_any_type, boxes=query.asked_boxes)
    if not (count or boxes):
        or_boxes = f", and no notes {with_boxes}" if query.asks_for_tasks else ""
        return f"The memory has no facts{of_type}{or_boxes}." if types else ""
    missing = " and ".join(_conditions(query, filters))
    found = [f"{count_noun(count, 'fact')}{of_type}"] if count else []
    found += [f"{count_noun(boxes, 'note')} {with_boxes}"] if boxes else []
    return f"The memory has {' and '.join(found)}, but none {missing}." if missing else ""


def _count(index: NoteIndex, filters: FactFilters, *, boxes: str = "") -> int:
    ids = index.browse(filters, limit=_ALL, boxes=boxes)
    return len(set(ids) - filters.without)


def _conditions(query: ParsedQuery, filters: FactFilters) -> Iterator[str]:
    """What a fact must also be, besides its type."""
    state, has_time = query.asked.state, query.hinted_span is not None
    if state:
        yield f"that is {state}{' then' if state == DUE and has_time else ''}"
    if query.excluded:
        yield f"without “{query.excluded}”"
    if filters.since or filters.until or (has_time and state != DUE):
        yield "of that time"
    if filters.scopes is not None:
        yield "in that scope"
    if filters.tags or filters.themes:
        yield "with that tag or theme"
    if filters.among is not None:
        yield "in that folder"
    if filters.status is not None:
        yield "of that status"
    if filters.tiers or query.hinted_tiers or filters.max_priority < LOWEST_PRIORITY:
        yield "of that priority"
