"""Numbers that are written as words, in relative dates of five languages."""

from __future__ import annotations

import re
from datetime import date, timedelta

import pytest

from vaultsync.model.number_words import NUMBER_OF_WORD, number_of, number_patterns
from vaultsync.model.written_dates import relative_span

TODAY = date(2026, 4, 15)
NUMBERS = {
    "seven": 7,
    "thirteen": 13,
    "twenty": 20,
    "twenty-one": 21,
    "ninety nine": 99,
    "sieben": 7,
    "siebzehn": 17,
    "einundzwanzig": 21,
    "neunundneunzig": 99,
    "seize": 16,
    "dix-sept": 17,
    "vingt et un": 21,
    "vingt et une": 21,
    "trente-deux": 32,
    "soixante et onze": 71,
    "septante-cinq": 75,
    "quatre-vingts": 80,
    "quatre-vingt-un": 81,
    "quatre-vingt-dix-sept": 97,
    "dieciséis": 16,
    "veintiún": 21,
    "veintiuna": 21,
    "treinta y un": 31,
    "treinta y una": 31,
    "noventa y nueve": 99,
    "十": 10,
    "十三": 13,
    "二十": 20,
    "九十九": 99,
}


@pytest.mark.parametrize(("words", "number"), NUMBERS.items())
def test_a_number_in_words_is_that_number(words: str, number: int) -> None:
    assert number_of(words) == number
    assert words > "〇" or any(re.fullmatch(each, words) for each in number_patterns())
    assert NUMBER_OF_WORD.get(words, number) == number


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("what we decided thirteen days ago", 13),
        ("what we decided twenty-one days ago", 21),
        ("was wir vor fünfunddreißig Tagen entschieden", 35),
        ("décisions il y a vingt et un jours", 21),
        ("décisions il y a quatre-vingt-dix jours", 90),
        ("decisiones hace veintiún días", 21),
        ("decisiones hace treinta y un días", 31),
        ("二十一日前の決定", 21),
    ],
)
def test_a_relative_date_has_any_number_below_a_hundred(text: str, days: int) -> None:
    found = relative_span(text, TODAY)

    assert found is not None
    assert found.span.since == (TODAY - timedelta(days)).isoformat()


@pytest.mark.parametrize(
    ("text", "weeks"),
    [
        ("lessons of the last fourteen weeks", 14),
        ("die letzten zwölf Wochen", 12),
        ("les vingt et une dernières semaines", 21),
        ("las últimas treinta y una semanas", 31),
        ("過去十二週間の教訓", 12),
    ],
)
def test_a_period_has_any_number_below_a_hundred(text: str, weeks: int) -> None:
    found = relative_span(text, TODAY)

    assert found is not None
    assert found.span.since == (TODAY - timedelta(weeks=weeks)).isoformat()


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("tasks due in the next twelve days", 12),
        ("tasks due in the coming twelve days", 12),
        ("Aufgaben in den kommenden zwölf Tagen", 12),
        ("tâches dans les douze prochains jours", 12),
        ("tareas en los próximos doce días", 12),
        ("今後十二日間のタスク", 12),
        ("これから十二日間のタスク", 12),
    ],
)
def test_a_period_to_come_has_any_number_below_a_hundred(text: str, days: int) -> None:
    found = relative_span(text, TODAY)

    assert found is not None
    assert found.span.until == (TODAY + timedelta(days + 1)).isoformat()
