"""Whether a question asks for due dates: *next deadline*, *Fristen bis Freitag*.

Loaded for questions with a word for them.
"""

from __future__ import annotations

from collections.abc import Sequence

from vaultsync.model.schema import WITH_STATE
from vaultsync.recall.asked_words import DUE, OVERDUE, AskedFor, word_set

_DATES = word_set("date dates fecha fechas")
_UPCOMING = word_set("next upcoming nächst~ prochain^ próxim*")
_PLURAL = word_set("deadlines fristen abgabetermine échéances dates plazos fechas vencimientos")


def asked_for_deadlines(
    words: Sequence[str], known: frozenset[str], *, state: str
) -> AskedFor | None:
    """What a question asks for that is only about due dates; *deadline* alone may be a topic.

    Args:
        words: of the question.
        known: words that are no topic beside a deadline.
        state: that the question names.
    """
    if words == ["deadline"] or not known.union(_DATES).issuperset(words):
        return None
    is_upcoming = not _UPCOMING.isdisjoint(words)
    is_one = is_upcoming and _PLURAL.isdisjoint(words)
    state = OVERDUE if state == OVERDUE else DUE
    return AskedFor(WITH_STATE, WITH_STATE, state=state, is_one=is_one, is_upcoming=is_upcoming)
