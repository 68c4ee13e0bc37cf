"""Spans of time, and ISO dates: a day, a month, a year."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from typing import TypeAlias

from msgspec import Struct

from vaultsync.model.canonical import to_microseconds

WHAT_IS_A_DATE = 'a date, such as 2026-02-14, 2026-02, 2026, 7d, 2w, monday or "last week"'


StartOfDay: TypeAlias = Callable[[str], str]
"""An ISO date -> the time at which this day begins in some time zone, or the date itself, which
stands for its beginning in UTC."""


class TimeSpan(Struct, frozen=True):
    """Days from `since` until before `until`, as ISO dates, or times in UTC; None is open."""

    since: str | None = None
    until: str | None = None

    def holds(self, time: str) -> bool:
        """Whether a canonical time lies within."""
        moment = to_microseconds(time)  # as texts, 12:00:00.5Z would come before 12:00:00Z
        return (self.since is None or moment >= to_microseconds(self.since)) and (
            self.until is None or moment < to_microseconds(self.until)
        )

    def of_days(self, start_of_day: StartOfDay) -> TimeSpan:
        """The same with the times at which its days begin."""
        return TimeSpan(_time_of(self.since, start_of_day), _time_of(self.until, start_of_day))

    def within(self, other: TimeSpan) -> TimeSpan:
        """The intersection of both."""
        starts = filter(None, (self.since, other.since))
        ends = filter(None, (self.until, other.until))
        return TimeSpan(
            max(starts, key=to_microseconds, default=None),
            min(ends, key=to_microseconds, default=None),
        )


def _time_of(text: str | None, start_of_day: StartOfDay) -> str | None:
    return start_of_day(text) if text and len(text) == DAY_LENGTH else text


ALWAYS = TimeSpan()
ISO_DAY = r"\d{4}-\d{2}(?:-\d{2})?"
DAY_LENGTH = len("2026-02-14")


def day_span(text: str) -> tuple[str, str] | None:
    """The first day of a day or a month, and the day after its last; None for others."""
    if not re.fullmatch(ISO_DAY, text):
        return None
    year, month, *day = map(int, text.split("-"))
    return days_between(year, month, day[0] if day else None)


def year_span(text: str) -> tuple[str, str] | None:
    """The first day of a year, and of the next; None for others."""
    return days_between(int(text), None, None) if re.fullmatch(r"[0-9]{4}", text) else None


def days_between(year: int, month: int | None, day: int | None) -> tuple[str, str] | None:
    """A year, a month or a day as dates; None when there is no such day."""
    try:
        first = date(year, month or 1, day or 1)
        if day:
            after = first + timedelta(days=1)
        elif month:
            after = date(year + month // 12, month % 12 + 1, 1)
        else:
            after = date(year + 1, 1, 1)
    except (ValueError, OverflowError):
        return None
    return first.isoformat(), after.isoformat()


class NamedSpan(Struct, frozen=True):
    """A span of time that a text names, and which part of the text names it."""

    span: TimeSpan
    begin: int
    end: int


def find_all(pattern: str, text: str, *required: str) -> Iterator[re.Match[str]]:
    """Find a pattern whose matches contain one of `required`, as few texts do.

    The pattern is compiled only where one of them occurs: most questions need no pattern.
    """
    lowered = text.lower()
    if not any(map(lowered.__contains__, required)):
        return iter(())
    return re.finditer(pattern, text, re.IGNORECASE)


RELATIVE_SIGNS: Sequence[tuple[str, ...]] = (
    (
        *("today", "yesterday", "this", "last", "past", "previous", "ago", "tomorrow", "next"),
        *("tonight", "coming", "older"),
    ),
    (
        *("heute", "gestern", "diese", "letzte", "vorige", "vergangene", "nächste"),
        *("vor ", "kommende", "morgen", "älter"),
    ),
    ("aujourd", "hier", "demain", "cet", "ce ", "derni", "pass", "procha", "il y a"),
    ("hoy", "ayer", "este", "esta", "pasad", "últim", "próxim", "que viene", "hace", "mañana"),
    ("今", "本日", "昨", "先", "去年", "過去", "この", "明日", "来", "前", "これから"),
)
"""Of these, a text with a relative date in English, German, French, Spanish or Japanese has one."""


def days_after(day: date, days: int) -> date:
    """The day some days after another, as far as the calendar goes."""
    return date.fromordinal(min(max(1, day.toordinal() + days), date.max.toordinal()))


def next_day(day: date) -> str:
    """The day after a day, as far as the calendar goes."""
    return days_after(day, 1).isoformat()
