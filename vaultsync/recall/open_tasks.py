"""When tasks are due, and the open check boxes of a note as tasks.

Loaded for questions that ask for tasks.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

from vaultsync.indexing.check_boxes import OpenBox, open_boxes
from vaultsync.model.dates import TimeSpan
from vaultsync.model.fact import Fact, is_of_assistant
from vaultsync.recall.asked import OPEN, WITH_STATE, AskedFor
from vaultsync.recall.task_states import states_of, status_words

_DUE = r"\bdue(?=\s+(?:\d|(?:mon|tues|wednes|thurs|fri|satur|sun)day\b))"
"""*Due* before a date without a preposition."""
_LONGEST_TIME = timedelta(days=31)


def tasks_in_state(fact: Fact, state: str, *, today: str, due: TimeSpan) -> tuple[OpenBox, ...]:
    """The open check boxes in a fact that is neither task nor promise, nor closed.

    Args:
        fact: a fact of any type.
        state: as for `is_in_state()`; empty means open.
        today: ISO date.
        due: the span in which they must be due.
    """
    is_open = OPEN in states_of(status_words(fact), "", today=today, due=due)
    if fact.type in WITH_STATE or not is_open or is_of_assistant(fact):
        return ()
    state = state or OPEN
    return tuple(
        box
        for box in open_boxes(fact.content)
        if state in states_of(frozenset(), box.due, today=today, due=due)
    )


def with_preposition(question: str) -> str:
    """A question with a preposition before the date in *due Friday*, which has none."""
    return re.sub(_DUE, r"\g<0> on", question, flags=re.IGNORECASE)


def is_deadline(span: TimeSpan | None, asked: AskedFor, today: date) -> bool:
    """Whether a time is when tasks are due, not when they were written: *my tasks this week*.

    It is if the question asks for what is to be done, or if the time is not over, and no longer
    than a month.
    """
    if span is None or asked.topic:
        return False
    if asked.types == WITH_STATE and asked.state == OPEN:
        return True
    if asked.types != {"task"} or asked.state not in ("", OPEN):
        return False
    until = span.until or ""
    begin = date.fromisoformat(span.since or until or "0001-01-01")
    return until > today.isoformat() and date.fromisoformat(until) - begin <= _LONGEST_TIME
