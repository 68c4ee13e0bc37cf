"""The states of tasks and promises: open, due, overdue, done; and `replaced` for any fact.

Loaded for questions that ask for one, and for facts with a due date.
"""

from __future__ import annotations

from vaultsync.model.dates import DAY_LENGTH, TimeSpan, day_span
from vaultsync.model.fact import Fact
from vaultsync.recall.asked import DONE, DUE, OPEN, OVERDUE, REPLACED, WITH_STATE

_GIVEN_UP = frozenset(
    (
        *("archived", "cancelled", "canceled", "dropped", "failed", "obsolete", "rejected"),
        *("superseded", "expired"),
    )
)
_FULFILLED = frozenset(
    ("closed", "complete", "completed", "done", "finished", "fulfilled", "kept", "resolved")
)
_CLOSED = _GIVEN_UP | _FULFILLED
"""Statuses that users and agents give to a finished task or promise."""
_DUE_PROPERTIES = ("due", "dueDate", "taskDueDate", "deadline")
"""The properties with the due date of a task."""


def is_in_state(
    fact: Fact,
    state: str,
    *,
    today: str,
    due: TimeSpan = TimeSpan(),  # noqa: B008 - immutable
) -> bool:
    """Whether a fact is in a state.

    Only tasks and promises have states other than `replaced`; for other types the result is True.

    Args:
        fact: a fact of any type.
        state: `open`, `overdue`, `done`, `due`, `replaced` or empty.
        today: ISO date.
        due: the span in which it must be due.
    """
    if state == REPLACED:
        return fact.superseded_by_id is not None
    if not state or fact.type not in WITH_STATE:
        return True
    return state in states_of(status_words(fact), due_date(fact), today=today, due=due)


def due_date(fact: Fact) -> str:
    """The due date of a task or promise as written; empty if it has none."""
    if fact.type not in WITH_STATE:
        return ""
    dates = (fact.own.get("commitmentDueDate"), *map(fact.properties.get, _DUE_PROPERTIES))
    return str(next(filter(None, dates), ""))


def status_words(fact: Fact) -> frozenset[str]:
    """The words for the status of a fact, in lower case."""
    return frozenset(
        {str(fact.own.get("commitmentStatus") or "").casefold(), fact.status.casefold()}
    )


def states_of(words: frozenset[str], date: str, *, today: str, due: TimeSpan) -> set[str]:
    """All states of a task with some words for its status, and a due date."""
    is_open, days = not words & _CLOSED, day_span(date[:DAY_LENGTH])
    states = {
        OPEN: is_open,
        DONE: bool(words & _FULFILLED),
        DUE: days is not None and due.holds(days[0]) and (is_open or due.since is not None),
        OVERDUE: is_open and days is not None and days[1] <= today,
    }
    return {state for state, holds in states.items() if holds}
