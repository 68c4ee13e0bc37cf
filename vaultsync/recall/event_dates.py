"""Find the fact that dates an event in a question, such as *What changed since the move?*."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter

from vaultsync.indexing.ports import NoteIndex
from vaultsync.model.fact import REPORTS, Fact
from vaultsync.model.filters import FactFilters
from vaultsync.recall.explanation import QueryTerms, fact_text

EVENT_HITS = 10
"""Number of best facts examined for the date of an event."""
EVENT_TYPES = frozenset(
    {"episodic", "observation", "decision", "commitment", "task", "lesson", "correction", "note"}
)
"""Types of facts that have the day of an event; others state something lasting."""


def find_event(
    words: str,
    index: NoteIndex,
    filters: FactFilters,
    load: Callable[[Sequence[str]], Mapping[str, Fact]],
    *,
    language: str | None = None,
) -> tuple[Fact, float] | None:
    """The fact that contains all words of an event, and its BM25 score; None if there is none.

    A fact with the words in its title is preferred, then one whose type reports events, then
    the best hit.

    Args:
        words: of the event.
        index: the note index, up to date.
        filters: of the question; the event may be before or after the facts that it asks for.
        load: ids -> the facts that may be used.
        language: of the question, in which a single word has none.
    """
    filters = filters._replace(
        types=EVENT_TYPES,
        tags=frozenset(),
        tiers=frozenset(),
        themes=frozenset(),
        since=None,
        until=None,
        among=None,
    )

    def best(searched: str, terms: QueryTerms) -> tuple[Fact, float] | None:
        hits = index.search(searched, filters, limit=EVENT_HITS)
        facts = load([each.fact_id for each in hits])
        telling = []
        for each in hits:
            fact = facts.get(each.fact_id)
            if fact is None or not fact.created_at or not filters.admits(fact):
                continue
            if len(terms.matched_words(fact_text(fact))) == len(terms.stems):
                in_title = len(terms.matched_words(fact.title)) == len(terms.stems)
                telling.append((not in_title, fact.type not in REPORTS, -each.score, fact))
        first = sorted(telling, key=itemgetter(0, 1, 2))[:1]
        return next(((fact, -negative) for *_, negative, fact in first), None)

    if found := best(words, QueryTerms(index.tokens(words), index.stemmer(words))):
        return found
    # Most questions about an event, and the facts about it, are in one language.
    from vaultsync.recall.glosses import translated_terms  # noqa: PLC0415 - see above

    translation = translated_terms(words, index, language)
    return best(f"{words} {translation[2]}", translation[1]) if translation else None
