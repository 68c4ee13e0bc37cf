"""The open check boxes of a note as tasks. Loaded for questions that ask for tasks."""

from __future__ import annotations

from vaultsync.indexing.check_boxes import OpenBox, open_boxes
from vaultsync.model.dates import TimeSpan
from vaultsync.model.fact import Fact, is_of_assistant
from vaultsync.recall.asked_for import OPEN, WITH_STATE, states_of, status_words


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
