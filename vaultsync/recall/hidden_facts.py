"""How many facts match a question and are hidden by a default, so that every answer can say so."""

from __future__ import annotations

from vaultsync.indexing.ports import NoteIndex
from vaultsync.model.filters import FactFilters
from vaultsync.model.hiding import BACKGROUND, RETIRED_STATUSES, HiddenMatches
from vaultsync.recall.query import ParsedQuery, hinted_filters


def count_hidden(
    index: NoteIndex, query: ParsedQuery, filters: FactFilters
) -> tuple[HiddenMatches, ...]:
    """The matches that each default hides; a fact counts for the first that hides it.

    Of a question for a set, all facts of the set match. Others match by their words.
    """
    if query.is_set:
        found = index.count_hidden(None, hinted_filters(query, filters))
    else:
        found = index.count_hidden(query.words, filters, phrases=query.phrases)
    return tuple(
        HiddenMatches(found[reason], reason)
        for reason in (*RETIRED_STATUSES, BACKGROUND)
        if found.get(reason)
    )
