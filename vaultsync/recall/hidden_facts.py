"""How many facts match a question and are hidden by a default, so that every answer can say so."""

from __future__ import annotations

from vaultsync.indexing.ports import NoteIndex
from vaultsync.model.filters import FactFilters
from vaultsync.model.hiding import (
    ARCHIVED,
    BACKGROUND,
    EXPIRED,
    FORGOTTEN,
    SUPERSEDED,
    HiddenMatches,
)
from vaultsync.recall.query import ParsedQuery, hinted_filters


def count_hidden(
    index: NoteIndex, query: ParsedQuery, filters: FactFilters
) -> tuple[HiddenMatches, ...]:
    """The matches that each default hides; a fact counts for the first that hides it.

    Of a question for a set, all facts of the set match.

    The index counts what contains a word of the question, without a score. Where nothing is
    hidden that takes two counts.
    """
    words: str | None = query.words
    if query.is_set:
        words, filters = None, hinted_filters(query, filters)
    last = filters.unhidden
    if last == filters or filters.themes:
        return ()  # no index knows themes, so that it would count facts of others
    before = index.count_matches(words, last, phrases=query.phrases)
    left = before and before - index.count_matches(words, filters, phrases=query.phrases)
    found = []
    for reason in (SUPERSEDED, ARCHIVED, EXPIRED, FORGOTTEN, BACKGROUND):
        if not left:
            break
        last = last._replace(
            heads_only=filters.heads_only,
            hidden_statuses=last.hidden_statuses | (filters.hidden_statuses & {reason}),
            alive_at=filters.alive_at if reason == EXPIRED else last.alive_at,
            hide_background=filters.hide_background and reason == BACKGROUND,
        )
        count = index.count_matches(words, last, phrases=query.phrases)
        if count < before:
            found.append(HiddenMatches(before - count, reason))
        left -= before - count
        before = count
    return tuple(found)
