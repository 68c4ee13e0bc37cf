from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultsync.model.dates import TimeSpan, day_span
from vaultsync.recall.calendar_words import calendar_span

TODAY = date(2026, 11, 20)  # a Friday

PERIODS: dict[str, tuple[str | None, str | None]] = {
    "What did we decide this autumn?": ("2026-09-01", "2026-12-01"),
    "decided in the spring of 2026": ("2026-03-01", "2026-06-01"),
    "in fall 2025": ("2025-09-01", "2025-12-01"),
    "last summer": ("2026-06-01", "2026-09-01"),
    "since last winter": ("2025-12-01", None),
    "in winter 2024": ("2024-12-01", "2025-03-01"),
    "next summer": ("2027-06-01", "2027-09-01"),
    "this winter": ("2026-12-01", "2027-03-01"),
    "this summer": ("2026-06-01", "2026-09-01"),
    "after the summer": ("2026-09-01", None),
    "before the summer": (None, "2026-06-01"),
    "last Christmas": ("2025-12-24", "2025-12-27"),
    "due before Christmas": (None, "2026-12-24"),
    "since Easter": ("2026-04-03", None),
    "since New Year's": ("2026-01-01", None),
    "What did we do on Monday?": ("2026-11-16", "2026-11-17"),
    "last Friday": ("2026-11-13", "2026-11-14"),
    "since Wednesday": ("2026-11-18", None),
    "since Friday": ("2026-11-13", None),
    "Lehren aus dem Sommer": ("2026-06-01", "2026-09-01"),
    "bis Monatsende": (None, "2026-12-01"),
    "vom Jahresanfang": ("2026-01-01", "2026-05-02"),
    "What happened at the weekend?": ("2026-11-14", "2026-11-16"),
    "the day before yesterday": ("2026-11-18", "2026-11-19"),
    "the day after tomorrow": ("2026-11-22", "2026-11-23"),
    "in the week before last": ("2026-11-02", "2026-11-09"),
    "the month before last": ("2026-09-01", "2026-10-01"),
    "the year before last": ("2024-01-01", "2025-01-01"),
    "early March": ("2026-03-01", "2026-03-11"),
    "mid-May 2025": ("2025-05-11", "2025-05-22"),
    "by the end of the month": (None, "2026-12-01"),
    "at the beginning of this year": ("2026-01-01", "2026-05-02"),
    "Wohin sind wir diesen Sommer gefahren?": ("2026-06-01", "2026-09-01"),
    "Was war letztes Weihnachten?": ("2025-12-24", "2025-12-27"),
    "vor Ostern": (None, "2027-03-26"),
    "seit dem Frühjahr": ("2026-03-01", None),
    "Was ist am Montag passiert?": ("2026-11-16", "2026-11-17"),
    "seit Montag": ("2026-11-16", None),
    "vorgestern": ("2026-11-18", "2026-11-19"),
    "vorletzte Woche": ("2026-11-02", "2026-11-09"),
    "bis Ende November": (None, "2026-12-01"),
    "bis Ende der Woche": (None, "2026-11-23"),
    "Mitte Mai 2025": ("2025-05-11", "2025-05-22"),
    "l'été dernier": ("2026-06-01", "2026-09-01"),
    "depuis lundi": ("2026-11-16", None),
    "fin mai": ("2026-05-22", "2026-06-01"),
    "l’avant-dernière semaine": ("2026-11-02", "2026-11-09"),
    "el verano pasado": ("2026-06-01", "2026-09-01"),
    "a finales de mayo": ("2026-05-22", "2026-06-01"),
    "el penúltimo mes": ("2026-09-01", "2026-10-01"),
    "去年の夏": ("2025-06-01", "2025-09-01"),
    "今年の春以降": ("2026-03-01", None),
    "今年の秋の前": (None, "2026-09-01"),
    "一昨日": ("2026-11-18", "2026-11-19"),
    "What happened Saturday?": ("2026-11-14", "2026-11-15"),
    "What was said that Saturday?": ("2026-11-14", "2026-11-15"),
    "in the first half of November": ("2026-11-01", "2026-11-16"),
    "in the first half of 2026": ("2026-01-01", "2026-07-01"),
    "in the second half of the year": ("2026-07-01", "2027-01-01"),
    "the first week of November": ("2026-11-01", "2026-11-08"),
    "in the last week of October": ("2026-10-25", "2026-11-01"),
    "at the end of last month": ("2026-10-22", "2026-11-01"),
    "Was geschah am Samstagabend?": ("2026-11-14", "2026-11-15"),
    "Was ist an jenem Samstag passiert?": ("2026-11-14", "2026-11-15"),
    "Was war vom Montag?": ("2026-11-16", "2026-11-17"),
    "Ende letzten Monats": ("2026-10-22", "2026-11-01"),
    "in der ersten Woche im November": ("2026-11-01", "2026-11-08"),
    "Que s'est-il passé samedi ?": ("2026-11-14", "2026-11-15"),
    "la première semaine de novembre": ("2026-11-01", "2026-11-08"),
    "en la primera semana de noviembre": ("2026-11-01", "2026-11-08"),
    "土曜日に何があった？": ("2026-11-14", "2026-11-15"),
    "先週の金曜日": ("2026-11-13", "2026-11-14"),
    "水曜日以降": ("2026-11-18", None),
    "次の月曜日": ("2026-11-23", "2026-11-24"),
    "週末に決めたこと": ("2026-11-14", "2026-11-16"),
    "What happened between Monday and Wednesday?": ("2026-11-16", "2026-11-19"),
    "What did we do from Saturday to Monday?": ("2026-11-14", "2026-11-17"),
    "from last Monday to Friday": ("2026-11-16", "2026-11-21"),
    "Was ist zwischen Montag und Mittwoch passiert?": ("2026-11-16", "2026-11-19"),
    "Was war von Montag bis Mittwoch?": ("2026-11-16", "2026-11-19"),
    "Que s'est-il passé de lundi à mercredi ?": ("2026-11-16", "2026-11-19"),
    "¿Qué pasó entre el lunes y el miércoles?": ("2026-11-16", "2026-11-19"),
    "¿Qué pasó desde el lunes hasta el miércoles?": ("2026-11-16", "2026-11-19"),
    "What did we do between spring and autumn?": ("2026-03-01", "2026-12-01"),
    "What did we do on Monday and Tuesday?": ("2026-11-16", "2026-11-17"),
    "What did we do between Monday and Christmas?": ("2025-12-22", "2025-12-27"),
    "from last summer to Monday": ("2026-06-01", "2026-11-17"),
    "from next summer to Monday": ("2027-06-01", "2027-06-08"),
}


@pytest.mark.parametrize("text", PERIODS)
def test_periods_are_read_in_five_languages(text: str) -> None:
    named = calendar_span(text, TODAY)

    assert named is not None
    assert named.span == TimeSpan(*PERIODS[text])


@pytest.mark.parametrize(
    "text",
    [
        *("We use Spring Boot", "in Spring Boot", "Who is on call on Monday?", "on Fridays"),
        "Who is on call on Monday and on Friday?",
        *("What did we decide about Christmas?", "Was haben wir zu Weihnachten beschlossen?"),
        *("at the end of the project", "early access", "by Friday", "What fell in may?"),
        *("an Weihnachten", "Was machen wir am Wochenende?", "until Monday we were late"),
        *("Saturday", "le samedi", "月曜日は誰が当番？", "the end of something else"),
        *("How late may I call?", "How early may I come?"),
        "What is between the summer season and the next one?",
        *("What did we learn about weekend bookings?", "Was haben wir zu Freitag gesagt?"),
        *("What did Sunday decide?", "ideas for Christmas", "What do I need for winter?"),
        *("Was brauchen wir für den Sommer?", "des idées pour l'hiver"),
    ],
)
def test_other_words_name_no_period(text: str) -> None:
    assert calendar_span(text, TODAY) is None


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("on Friday", "2026-11-20", "2026-11-21"),
        ("on Monday", "2026-11-23", "2026-11-24"),
        ("by Monday", None, "2026-11-24"),
        ("by Friday", None, "2026-11-21"),
        ("before Friday", None, "2026-11-27"),
        ("in the spring", "2027-03-01", "2027-06-01"),
        ("bis Ende Januar", None, "2027-02-01"),
        ("by Thursday", None, "2026-11-27"),
        ("bis Donnerstag", None, "2026-11-27"),
        ("for Monday", "2026-11-23", "2026-11-24"),
        ("between Monday and Wednesday", "2026-11-23", "2026-11-26"),
        ("月曜日の", "2026-11-23", "2026-11-24"),
    ],
)
def test_what_is_due_is_due_at_the_nearest_time_to_come(
    text: str, since: str | None, until: str | None
) -> None:
    named = calendar_span(text, TODAY, is_near=True)

    assert named is not None
    assert named.span == TimeSpan(since, until)


_NAMES = st.sampled_from(("Monday", "Sunday", "the weekend", "summer", "winter", "Easter"))
_ENDS = st.tuples(st.sampled_from(("from", "from last", "due next")), _NAMES, st.just("to"), _NAMES)


@given(
    st.lists(st.sampled_from(" ".join(PERIODS).split()), max_size=8) | _ENDS,
    st.dates(date(1900, 1, 1), date(2900, 1, 1)),
    st.booleans(),
)
def test_a_period_is_of_days_and_in_the_text(
    words: Sequence[str], today: date, is_near: bool
) -> None:
    text = " ".join(words)
    named = calendar_span(text, today, is_near=is_near)

    if named is not None:
        assert 0 <= named.begin < named.end <= len(text)
        days = [each for each in (named.span.since, named.span.until) if each]
        assert days == sorted(days)
        assert days
        assert all(map(day_span, days))
