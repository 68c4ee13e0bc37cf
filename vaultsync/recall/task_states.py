"""The states of tasks and promises: open, due, overdue, done; and `replaced` for any fact.

The check boxes of a note are tasks, too. Loaded for questions that ask for a state or for
tasks, and for facts with a due date.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta
from functools import lru_cache
from typing import NamedTuple

from vaultsync.markdown.blocks import without_code
from vaultsync.model.dates import DAY_LENGTH, TimeSpan, day_span
from vaultsync.model.due_dates import DUE_PROPERTIES, due_text
from vaultsync.model.fact import Fact, is_of_assistant
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.schema import WITH_STATE
from vaultsync.recall.asked_words import (
    BLOCKED,
    CLOSED,
    DONE,
    DROPPED,
    DUE,
    OPEN,
    OVERDUE,
    PROJECTS,
    REPLACED,
    STARTED,
    UNDATED,
    UNSTARTED,
    AskedFor,
    is_of_type,
    state_in,
    word_set,
)

_SIGNS = ("[ ]", "[/]", "[x]", "[X]", "[-]")
"""To do, in progress, done and cancelled; any other sign is of a user's own."""
_KEPT_NOTES = 512
"""Notes whose boxes stay in memory: a question for tasks reads those of a note up to five times."""
_BOX = lazy_pattern(r"\n[ \t>]*((?:[-*+]|\d{1,9}[.)])[ \t]+\[[ /xX-]\][ \t]+)(\S.*)")
_COMMENT = lazy_pattern(r"<!--(?:(?!<!--|-->).)*-->")
_DUE_DATE = lazy_pattern(r"(?:📅\ufe0f?[ ]*|\bdue::[ ]*)(\d{4}-\d\d-\d\d)")
"""The due date as the plugins Tasks and Dataview write it."""


_CLOSED_ON = lazy_pattern(
    r"(?:[✅❌]\ufe0f?[ ]*|\b(?:completion|cancelled)::[ ]*)(\d{4}-\d\d-\d\d)"
)
"""The same for the day on which it was done or cancelled."""


class CheckBox(NamedTuple):
    """A check box."""

    line: str
    """Its line as written, without indentation."""
    text: str
    """What is to be done: the line without markup."""
    due: str
    """Its due date, ISO; empty if it has none."""

    @property
    def closed_on(self) -> str:
        """The day on which it was done or cancelled, ISO; empty if it does not say."""
        found = _CLOSED_ON.search(self.line)
        return found[1] if found else ""

    @property
    def status_words(self) -> frozenset[str]:
        """The words for its status: of `[/]`, that it is in progress."""
        sign = self.line.partition("[")[2][0]
        return _WORDS_OF_SIGN[sign.lower()]

    @property
    def is_open(self) -> bool:
        """Whether it remains to be done."""
        return not self.status_words & _CLOSED


def check_boxes(content: str) -> tuple[CheckBox, ...]:
    """The check boxes of a note, in order, without those in fenced code."""
    return _boxes(content) if any(map(content.__contains__, _SIGNS)) else ()


@lru_cache(_KEPT_NOTES)
def _boxes(content: str) -> tuple[CheckBox, ...]:
    boxes = []
    for mark, rest in _BOX.findall("\n" + without_code(content)):
        due = _DUE_DATE.search(rest)
        if text := _COMMENT.sub("", rest).strip():
            boxes.append(CheckBox(f"{mark}{rest}".rstrip(), text, due[1] if due else ""))
    return tuple(boxes)


_GIVEN_UP = frozenset(
    (
        *("archived", "cancelled", "canceled", "dropped", "failed", "obsolete", "rejected"),
        *("superseded", "expired"),
    )
)
_FULFILLED = word_set(
    "closed complete completed done finished fulfilled kept resolved"
    " gemacht hech* list* fait^ faits achevé^"
)
_CLOSED = _GIVEN_UP | _FULFILLED
_BLOCKED = frozenset(("blocked", "on_hold", "stuck", "waiting", "wartet"))
_STARTED = frozenset(("in_progress", "in-progress", "started", "doing", "wip", "läuft"))
"""Statuses that users and agents give to a task or promise; so are the words by which a question
names a state (`asked_words.STATE_WORDS`, `_PHRASES`)."""
_WORDS_OF_SIGN = {" ": frozenset[str](), "/": _STARTED, "x": _FULFILLED, "-": _GIVEN_UP}
_LONGEST_DUE = 40
"""The length to which a due date that is no date is shown."""


def is_in_state(
    fact: Fact,
    state: str,
    *,
    today: str,
    due: TimeSpan = TimeSpan(),  # noqa: B008 - immutable
) -> bool:
    """Whether a fact is in a state.

    Only tasks, promises and projects have states other than `replaced`; for other types the
    result is True.

    Args:
        fact: a fact of any type.
        state: one of `AskedFor.state`.
        today: ISO date.
        due: the span in which it must be due.
    """
    if state == REPLACED:
        return fact.superseded_by_id is not None
    has_state = fact.type in WITH_STATE or is_of_type(fact, PROJECTS)
    if not state or not has_state:
        return True
    return state in states_of(status_words(fact), _written_date(fact), today=today, due=due)


def due_date(fact: Fact) -> str:
    """The due date of a task or promise as written; empty if it has none."""
    return _written_date(fact) if fact.type in WITH_STATE else ""


def _written_date(fact: Fact) -> str:
    dates = (fact.own.get("commitmentDueDate"), *map(fact.properties.get, DUE_PROPERTIES))
    return due_text(next(filter(None, dates), ""))


def due_day(fact: Fact) -> str:
    """The day on which a task or promise is due, or else what is written as its due date."""
    due = " ".join(due_date(fact).split())
    if day_span(day := due[:DAY_LENGTH]):
        return day
    return due if len(due) <= _LONGEST_DUE else f"{due[: _LONGEST_DUE - 1]}…"


def closed_status(fact: Fact) -> str:
    """The status of a task or promise that is no longer open, as written; empty for others."""
    if fact.type not in WITH_STATE:
        return ""
    return next((each for each in _statuses(fact) if _words_for(each) & _CLOSED), "")


def first_due_date(fact: Fact, boxes: Sequence[CheckBox]) -> str:
    """The due date of a fact, or else the first of its check boxes; empty if it has none."""
    return due_date(fact) or min((each.due for each in boxes if each.due), default="")


def status_words(fact: Fact) -> frozenset[str]:
    """The words for the status of a fact, in lower case, and the states that they name."""
    return frozenset().union(*map(_words_for, _statuses(fact)))


def _statuses(fact: Fact) -> list[str]:
    return [*map(str, filter(None, (fact.own.get("commitmentStatus"), fact.status)))]


@lru_cache
def _words_for(status: str) -> frozenset[str]:
    """A status in lower case, and the state that it names: `nicht erledigt` is open."""
    lowered = status.casefold()
    state = state_in(re.findall(r"\w+", with_state_words(lowered)))
    return frozenset({lowered, *filter(None, (state,))})


def states_of(words: frozenset[str], date: str, *, today: str, due: TimeSpan) -> set[str]:
    """All states of a task with some words for its status, and a due date."""
    is_open, days = not words & _CLOSED, day_span(date[:DAY_LENGTH])
    states = {
        OPEN: is_open,
        STARTED: bool(words & _STARTED),
        BLOCKED: bool(words & _BLOCKED),
        DROPPED: bool(words & _GIVEN_UP),
        UNSTARTED: is_open and not words & _STARTED,
        UNDATED: is_open and not date,
        DONE: bool(words & _FULFILLED),
        DUE: days is not None and due.holds(days[0]) and (is_open or due.since is not None),
        OVERDUE: is_open and days is not None and days[1] <= today,
    }
    return {state for state, holds in states.items() if holds}


_PHRASES = {
    "undated": lazy_pattern(
        r"\b(?:(?:with(?:out|\s+no)|ha(?:s|ve|ving)\s+(?:no|not?\s+an?y?)|lack(?:s|ing)?|no"
        r"|(?:do|does)(?:n['’]t|\s+not)\s+have)(?:\s+an?y?)?\s+(?:due[\s-]dates?|deadlines?|dates?)"
        r"|(?:ohne|(?:haben|hat)?\s*keine?n?)(?:\s+ein\w*)?"
        r"\s+(?:fälligkeits?(?:datum|termin)?|enddatum|datum|frist(?:en)?|deadlines?)"
        r"|(?:sans|n['’]ont\s+pas\s+d['’])\s*(?:dates?|échéances?)(?:\s+d['’]échéance|\s+limite)?"
        r"|(?:sin|no\s+tienen)\s+(?:fechas?|plazos?)(?:\s+(?:límite|de\s+\w+))?)\b"
        r"(?:\s+haben\b)?"
    ),
    "overdue": lazy_pattern(
        r"\bpast(?:[\s-]+due(?:[\s-]+dates?)?|\s+(?:its|their)\s+(?:due\s+)?(?:dates?|deadlines?))\b"
    ),
    "important": lazy_pattern(
        r"\b(?:(?:with\s+)?high(?:est)?[\s-]priority|mit\s+h(?:oher|öchster)\s+priorität"
        r"|prioritaires?|de\s+haute\s+priorité|prioritari[ao]s?|de\s+alta\s+prioridad)\b"
    ),
    "deadlines": lazy_pattern(r"\bdue[\s-]dates?\b"),
    "blocked": lazy_pattern(r"\b(?:on[-\s]hold|en\s+paus[ea]|auf\s+eis)\b"),
    "started": lazy_pattern(
        r"\b(?:in\s+progress|under\s+way|in\s+(?:arbeit|bearbeitung|gang)|en\s+(?:cours|curso|marcha))\b"
    ),
    "started tasks": lazy_pattern(
        r"\bworking\s+on(?:\s+(?:at\s+the\s+moment|(?:right\s+)?now|today))?(?=\W*\Z)"
        r"|\bworan\s+arbeite\w*|\bsur\s+quoi\s+travaill\w+|\ben\s+qué\s+(?:est\w+\s+)?trabaj\w+"
    ),
}
"""A word for a state, or one that is no topic -> the phrases that mean it, in lower case."""


def with_state_words(question: str) -> str:
    """A question in lower case with a word for each phrase that means a state."""
    for word, phrase in _PHRASES.items():
        question = phrase.sub(f" {word} ", question)
    return question


_DUE = r"\bdue(?=\s+(?:\d|(?:mon|tues|wednes|thurs|fri|satur|sun)day\b))"
"""*Due* before a date without a preposition."""
_LONGEST_TIME = timedelta(days=31)


_NOON = "T12:00:00Z"
"""A time of a day without one, which is on that day in all time zones but a few."""


def tasks_in_state(
    fact: Fact, state: str, *, today: str, due: TimeSpan, closed: TimeSpan
) -> tuple[CheckBox, ...]:
    """The check boxes in a state, in a fact that is neither task nor promise.

    What is open in a closed note does not count.

    Args:
        fact: a fact of any type.
        state: as for `is_in_state()`; empty means open.
        today: ISO date.
        due: the span in which they must be due.
        closed: the span in which they must have been closed; a note without that day tells it by
            its own.
    """
    state = state or OPEN
    is_open = state in CLOSED or not status_words(fact) & _CLOSED
    if fact.type in WITH_STATE or not is_open or is_of_assistant(fact):
        return ()
    return tuple(
        box
        for box in check_boxes(fact.content)
        if state in states_of(box.status_words, box.due, today=today, due=due)
        and closed.holds(f"{box.closed_on}{_NOON}" if box.closed_on else fact.created_at)
    )


_OF_PERIOD = (
    (r"\bof the (?=week|month|year)\b", "of this "),
    (r"\bder(?= woche\b)", "dieser"),
    (r"\bdes(?= (?:monats|jahres)\b)", "dieses"),
    (r"\bde la(?= semaine\b)", "de cette"),
    (r"\bdu(?= mois\b)", "de ce"),
    (r"\bde la(?= semana\b)", "de esta"),
    (r"\bdel(?= (?:mes|año)\b)", "de este"),
    (r"\b(?:with)?in a week\b", "in the next 7 days"),
    (r"\b(?:with)?in (?=\w+ (?:days|weeks|months)\b)", "in the next "),
    (r"\bin einer woche\b", "in den nächsten 7 tagen"),
    (r"\b(?:in|innerhalb von|binnen) (?=\w+ (?:tagen|wochen|monaten)\b)", "in den nächsten "),
    (r"\bdans (\w+) (jours|semaines|mois)\b", r"dans les \1 prochains \2"),
    (r"\ben (?=\w+ (?:días|semanas|meses)\b)", "en los próximos "),
)
"""What is behind a task is the present week, month or year: *tasks of the week*; and a number of
days is of the next ones: *due within two weeks*."""


def with_preposition(question: str) -> str:
    """A question for tasks with the words by which its time is found.

    Such as the preposition that *due Friday* does not have.
    """
    for pattern, words in ((_DUE, r"\g<0> on"), *_OF_PERIOD):
        question = re.sub(pattern, words, question, flags=re.IGNORECASE)
    return question


def is_deadline(span: TimeSpan | None, asked: AskedFor, today: date) -> bool:
    """Whether a time is when tasks are due, not when they were written: *my tasks this week*.

    It is if the question asks for what is to be done, or if the time is not over, and no longer
    than a month.
    """
    if span is None:
        return False
    if asked.types == WITH_STATE and asked.state == OPEN:
        return True
    if asked.topic or asked.types != {"task"} or asked.state not in ("", OPEN):
        return False
    until = span.until or ""
    begin = date.fromisoformat(span.since or until or "0001-01-01")
    return until > today.isoformat() and date.fromisoformat(until) - begin <= _LONGEST_TIME
