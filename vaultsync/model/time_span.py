"""Spans of time, from days, months or moments."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import NamedTuple

from vaultsync.model.canonical import to_microseconds


class TimeSpan(NamedTuple):
    """Days from `since` until before `until`, as ISO dates; None is open."""

    since: str | None = None
    until: str | None = None

    def holds(self, time: str) -> bool:
        """Whether a canonical time lies within."""
        return (self.since is None or time >= self.since) and (
            self.until is None or time < self.until
        )

    def within(self, other: TimeSpan) -> TimeSpan:
        """The intersection of both."""
        starts = filter(None, (self.since, other.since))
        ends = filter(None, (self.until, other.until))
        return TimeSpan(
            max(starts, key=to_microseconds, default=None),
            min(ends, key=to_microseconds, default=None),
        )


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
