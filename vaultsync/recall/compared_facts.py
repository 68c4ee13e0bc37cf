"""Find the facts that a new fact contradicts or repeats, to tell who writes it.

Nothing is changed: a rule cannot decide which of two facts is valid.
"""

from __future__ import annotations

import re

from vaultsync.errors import DerivedError, StoreUnavailableError
from vaultsync.facts.written_facts import NOTHING_SIMILAR, Comparison, Contradiction, SameText
from vaultsync.indexing.note_index_sync import catch_up_note_index, note_index_backlog
from vaultsync.indexing.ports import NoteIndex
from vaultsync.indexing.session_context import own_title
from vaultsync.model.dates import DAY_LENGTH
from vaultsync.model.fact import Fact, is_statement
from vaultsync.model.filters import FactFilters
from vaultsync.model.hiding import RETIRED_STATUSES
from vaultsync.recall.contradictions import contradiction, may_concern, statement_of, stems_of
from vaultsync.recall.task_states import due_date, status_words
from vaultsync.sync.context import ReadContext

CANDIDATES = 10
"""Number of facts that a new one is compared with: those that share most words."""
SEARCHED_CHARS = 300
"""Number of characters of a new fact that are used as a query."""
MAX_BACKLOG = 200
"""Maximum number of facts to index first; with more, the index is used as it is."""


def compare(ctx: ReadContext, index: NoteIndex, fact: Fact, *, agent: str | None) -> Comparison:
    """The facts that a fact contradicts or repeats, newest first, of those an agent may see.

    Only the `CANDIDATES` facts of one search are examined, so some may be missed.

    Returns: nothing if the store is unavailable, or the index cannot be read.
    """
    try:
        backlog = note_index_backlog(ctx, index.version())
        if len(backlog.feed.rows) + len(backlog.moved) <= MAX_BACKLOG:
            catch_up_note_index(ctx, index)
        filters = FactFilters(
            status=None,
            hidden_statuses=frozenset(RETIRED_STATUSES),
            reader=ctx.policy.permissions.reader(agent),
        )
        words = f"{fact.title}\n{fact.content}"[:SEARCHED_CHARS]
        matches = index.search(words, filters, limit=CANDIDATES + 1)
        ids = [each.fact_id for each in matches if each.fact_id != fact.id][:CANDIDATES]
        facts = ctx.redacted_store.find_many(ids)
    except (StoreUnavailableError, DerivedError, OSError):
        return NOTHING_SIMILAR
    written = ctx.view.redact(fact)
    statement = statement_of(written)
    contradicts, same_text = list[Contradiction](), list[SameText]()
    newest_first = sorted(facts.values(), key=lambda each: (each.created_at, each.id), reverse=True)
    for other in filter(filters.admits, newest_first):
        if not may_concern(other, statement):
            continue
        day = other.created_at[:DAY_LENGTH]
        if _repeats(written, other):
            same_text.append(SameText(other.id, other.title, day))
        elif why := contradiction(statement, statement_of(other)):
            contradicts.append(Contradiction(other.id, other.title, day, why))
    return Comparison(tuple(contradicts), tuple(same_text))


def _repeats(one: Fact, other: Fact) -> bool:
    """Whether two facts state the same of one subject, or are one task, and not a later one."""
    return (
        is_statement(one)
        and is_statement(other)
        and _normal_text(one) == _normal_text(other)
        and status_words(one) == status_words(other)
        and due_date(one) == due_date(other)
        and _added_by_title(one) == _added_by_title(other)
    )


def _normal_text(fact: Fact) -> list[str]:
    """The words of a fact, whatever their case and the space between them."""
    return (fact.content.strip() or fact.title).casefold().split()


def _added_by_title(fact: Fact) -> tuple[frozenset[str], list[str]]:
    """The stems and numbers that the title has and the content lacks, such as the subject."""
    title = own_title(fact)
    numbers = [each for each in re.findall(r"\d+", title) if each not in fact.content]
    return stems_of(title) - stems_of(fact.content), numbers
