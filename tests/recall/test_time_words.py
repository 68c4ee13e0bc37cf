from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultsync.model.time_span import TimeSpan, day_span
from vaultsync.recall.time_words import NamedSpan, dated_span, relative_span

TODAY = date(2026, 6, 30)  # a Tuesday

RELATIVE: dict[str, tuple[str | None, str | None]] = {
    "Was war heute?": ("2026-06-30", "2026-07-01"),
    "gestern Abend": ("2026-06-29", "2026-06-30"),
    "letzte Woche": ("2026-06-23", None),
    "im vergangenen Monat": ("2026-05-31", None),
    "dieses Jahr": ("2026-01-01", None),
    "in den letzten 3 Monaten": ("2026-04-01", None),
    "aujourd’hui": ("2026-06-30", "2026-07-01"),
    "qu'a dit Bente hier": ("2026-06-29", "2026-06-30"),
    "la semaine dernière": ("2026-06-23", None),
    "l'année passée": ("2025-06-30", None),
    "cette semaine": ("2026-06-29", None),
    "ces 2 dernières semaines": ("2026-06-16", None),
    "hoy": ("2026-06-30", "2026-07-01"),
    "ayer": ("2026-06-29", "2026-06-30"),
    "el mes pasado": ("2026-05-31", None),
    "la última semana": ("2026-06-23", None),
    "este año": ("2026-01-01", None),
    "en los últimos 10 días": ("2026-06-20", None),
    "昨日の会議": ("2026-06-29", "2026-06-30"),
    "先週の決定": ("2026-06-23", None),
    "去年": ("2025-06-30", None),
    "今月": ("2026-06-01", None),
    "過去3か月": ("2026-04-01", None),
}


@pytest.mark.parametrize("text", RELATIVE)
def test_relative_dates_are_read_in_five_languages(text: str) -> None:
    named = relative_span(text, TODAY)
    assert named is not None
    assert named.span == TimeSpan(*RELATIVE[text])


DATED: dict[str, tuple[str | None, str | None]] = {
    "What came in the first quarter?": ("2026-01-01", "2026-04-01"),
    "Q4 2024": ("2024-10-01", "2025-01-01"),
    "the fourth quarter": ("2025-10-01", "2026-01-01"),
    "im Mai": ("2026-05-01", "2026-06-01"),
    "seit März 2025": ("2025-03-01", None),
    "nach dem Umzug, vor Dezember": (None, "2025-12-01"),
    "am 3. April": ("2026-04-03", "2026-04-04"),
    "en mai": ("2026-05-01", "2026-06-01"),
    "depuis février": ("2026-02-01", None),
    "avant le projet, jusqu'en août 2025": (None, "2025-09-01"),
    "le 14 juillet 2025": ("2025-07-14", "2025-07-15"),
    "en mayo de 2025": ("2025-05-01", "2025-06-01"),
    "el 5 de enero de 2026": ("2026-01-05", "2026-01-06"),
    "después de marzo": ("2026-04-01", None),
    "antes de abril": (None, "2026-04-01"),
    "5月に": ("2026-05-01", "2026-06-01"),
    "2025年の": ("2025-01-01", "2026-01-01"),
    "2026年5月21日から": ("2026-05-21", None),
    "3月まで": (None, "2026-04-01"),
    "2025年5月より前": (None, "2025-05-01"),
}


@pytest.mark.parametrize("text", DATED)
def test_dates_are_read_in_five_languages(text: str) -> None:
    named = dated_span(text, TODAY)
    assert named is not None
    assert named.span == TimeSpan(*DATED[text])


@pytest.mark.parametrize(
    "text", ["Was ist hier passiert?", "we may go", "in may we", "the 2026 plan", "2026年13月"]
)
def test_what_is_no_date_names_no_span(text: str) -> None:
    assert relative_span(text, TODAY) is None
    assert dated_span(text, TODAY) is None


WORDS = st.sampled_from(
    ["last", "week", "seit", "Mai", "9999", "le", "31", "février", "年", "月", "0", "Feb", "in"]
)


@given(words=st.lists(WORDS), today=st.dates())
def test_a_span_is_made_of_days_and_lies_in_the_text(words: list[str], today: date) -> None:
    text = " ".join(words)
    for named in (relative_span(text, today), dated_span(text, today)):
        if named is not None:
            assert isinstance(named, NamedSpan)
            assert 0 <= named.begin < named.end <= len(text)
            assert all(day_span(each) for each in (named.span.since, named.span.until) if each)
