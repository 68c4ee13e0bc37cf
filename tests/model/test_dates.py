"""One reader of dates, for filters in a question and for the options of all surfaces."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import FakeClock
from vaultsync.errors import InvalidFieldError
from vaultsync.model.canonical import from_microseconds
from vaultsync.model.dates import TimeSpan, day_span
from vaultsync.model.permissions import Permissions
from vaultsync.model.written_dates import date_bounds, relative_days, time_span
from vaultsync.recall.past_facts import past_moment
from vaultsync.recall.query import parse_query, parse_request
from vaultsync.recall.recall_request import RecallRequest

TODAY = date(2026, 6, 30)  # a Tuesday
NOW = datetime(2026, 6, 30, 12, tzinfo=UTC)

DATES = {
    "2026-02-14": ("2026-02-14", "2026-02-15"),
    "2026-02": ("2026-02-01", "2026-03-01"),
    "2025-12": ("2025-12-01", "2026-01-01"),
    "2025": ("2025-01-01", "2026-01-01"),
    "2026-02-14T13:45+02:00": ("2026-02-14T11:45:00Z", "2026-02-14T11:45:00Z"),
    "2026-02-14 13:45": ("2026-02-14T13:45:00Z", "2026-02-14T13:45:00Z"),
    "Yesterday": ("2026-06-29", "2026-06-30"),
    "last week": ("2026-06-22", "2026-06-29"),
    "last-week": ("2026-06-22", "2026-06-29"),
    "last month": ("2026-05-01", "2026-06-01"),
    "the past year": ("2025-01-01", "2026-01-01"),
    "two weeks ago": ("2026-06-16", "2026-06-17"),
    " vorige Woche ": ("2026-06-22", "2026-06-29"),
    "il y a trois jours": ("2026-06-27", "2026-06-28"),
    "el mes pasado": ("2026-05-01", "2026-06-01"),
    "昨日": ("2026-06-29", "2026-06-30"),
    "7d": ("2026-06-23", "2026-06-24"),
    " 2026-02-14 ": ("2026-02-14", "2026-02-15"),
    "2w": ("2026-06-16", "2026-06-17"),
    "1m": ("2026-05-31", "2026-06-01"),
    "1Y": ("2025-06-30", "2025-07-01"),
    "monday": ("2026-06-29", "2026-06-30"),
    "Wednesday": ("2026-06-24", "2026-06-25"),
    "sonntag": ("2026-06-28", "2026-06-29"),
    "土曜日": ("2026-06-27", "2026-06-28"),
}
LATER = {
    "2026": ("2026-01-01", "2027-01-01"),
    "today": ("2026-06-30", "2026-07-01"),
    "0d": ("2026-06-30", "2026-07-01"),
    "tuesday": ("2026-06-30", "2026-07-01"),
    "tomorrow": ("2026-07-01", "2026-07-02"),
    "this week": ("2026-06-29", "2026-07-06"),
    "next month": ("2026-07-01", "2026-08-01"),
    "the last 3 days": ("2026-06-27", "2026-07-01"),
    "the next 3 days": ("2026-06-30", "2026-07-04"),
}
"""Their ends are still to come."""


@pytest.mark.parametrize("text", [*DATES, *LATER])
def test_a_date_means_the_same_in_a_question_and_as_an_argument(text: str) -> None:
    first, after = (DATES | LATER)[text]
    assert date_bounds("since", text, today=TODAY) == (first, after)
    assert time_span(text, text, today=TODAY) == TimeSpan(first, after)
    for key, span in {
        "since": TimeSpan(since=first),
        "after": TimeSpan(since=after),
        "until": TimeSpan(until=after),
        "before": TimeSpan(until=first),
    }.items():
        assert parse_query(f'otters {key}:"{text}"', today=TODAY).filters.span == span
    asked = parse_request(
        RecallRequest("otters", since=text, until=text),
        clock=FakeClock(NOW),
        permissions=Permissions(),
    )[1]
    assert (asked.since, asked.until) == (first, after)


@pytest.mark.parametrize("text", [*DATES, *LATER])
def test_as_of_a_date_is_its_last_moment_and_never_the_future(text: str) -> None:
    first, after = (DATES | LATER)[text]
    end = datetime.fromisoformat(after).replace(tzinfo=UTC)
    last = end - timedelta(microseconds=first != after)
    assert past_moment(text, clock=FakeClock(NOW)) == (NOW if text in LATER else last)


@pytest.mark.parametrize(
    "text",
    [
        *("someday", "x yesterday", "yesterday x", "20260", "2026-02-30", "2026-13", "last"),
        *("2026-02-14x", "2026-02-14T25:00", "d", "7", "7 d", "-7d", "7h", "1234d", "mon", "day"),
        *("older than a week", "more than a week ago"),
    ],
)
def test_what_is_no_date_is_refused_everywhere(text: str) -> None:
    for since, until in ((text, None), (None, text)):
        with pytest.raises(InvalidFieldError):
            time_span(since, until, today=TODAY)
    with pytest.raises(InvalidFieldError):
        past_moment(text, clock=FakeClock(NOW))
    with pytest.raises(InvalidFieldError):
        parse_query(f'since:"{text}"', today=TODAY)


def test_an_empty_date_is_refused_and_none_is_no_bound() -> None:
    with pytest.raises(InvalidFieldError):
        time_span("", None, today=TODAY)
    assert time_span(None, None, today=TODAY) == TimeSpan()


WORDS = st.sampled_from(["last", "next", "week", "vor", "3", "days", "ago", "year", "month", "hoy"])


@given(words=st.lists(WORDS, min_size=1, max_size=4), today=st.dates())
def test_a_relative_date_is_made_of_days(words: list[str], today: date) -> None:
    days = relative_days(" ".join(words), today)
    assert days is None or (all(map(day_span, days)) and days[0] <= days[1])


@given(*3 * [st.integers(-3, 3)])
def test_a_span_holds_what_lies_between_its_moments(since: int, time: int, until: int) -> None:
    half = 500_000
    span = TimeSpan(from_microseconds(since * half), from_microseconds(until * half))
    assert span.holds(from_microseconds(time * half)) == (since <= time < until)
