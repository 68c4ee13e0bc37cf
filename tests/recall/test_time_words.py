from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultsync.model.dates import NamedSpan, TimeSpan, day_span
from vaultsync.model.written_dates import relative_span
from vaultsync.recall.time_words import NamedEvent, dated_span, named_event

TODAY = date(2026, 6, 30)  # a Tuesday

RELATIVE: dict[str, tuple[str | None, str | None]] = {
    "Was war heute?": ("2026-06-30", "2026-07-01"),
    "gestern Abend": ("2026-06-29", "2026-06-30"),
    "letzte Woche": ("2026-06-23", None),
    "im vergangenen Monat": ("2026-05-01", "2026-06-01"),
    "dieses Jahr": ("2026-01-01", None),
    "in den letzten 3 Monaten": ("2026-04-01", None),
    "aujourd’hui": ("2026-06-30", "2026-07-01"),
    "qu'a dit Bente hier": ("2026-06-29", "2026-06-30"),
    "la semaine dernière": ("2026-06-23", None),
    "l'année passée": ("2025-01-01", "2026-01-01"),
    "cette semaine": ("2026-06-29", None),
    "ces 2 dernières semaines": ("2026-06-16", None),
    "hoy": ("2026-06-30", "2026-07-01"),
    "ayer": ("2026-06-29", "2026-06-30"),
    "el mes pasado": ("2026-05-01", "2026-06-01"),
    "la última semana": ("2026-06-23", None),
    "este año": ("2026-01-01", None),
    "en los últimos 10 días": ("2026-06-20", None),
    "昨日の会議": ("2026-06-29", "2026-06-30"),
    "先週の決定": ("2026-06-23", None),
    "去年": ("2025-01-01", "2026-01-01"),
    "last year": ("2025-01-01", "2026-01-01"),
    "letztes Jahr": ("2025-01-01", "2026-01-01"),
    "in the last year": ("2025-06-30", None),
    "over the past month": ("2026-05-31", None),
    "el último año": ("2025-06-30", None),
    "今月": ("2026-06-01", None),
    "過去3か月": ("2026-04-01", None),
    "in the last two weeks": ("2026-06-16", None),
    "the past few days": ("2026-06-27", None),
    "die letzten drei Wochen": ("2026-06-09", None),
    "les deux dernières semaines": ("2026-06-16", None),
    "en las últimas dos semanas": ("2026-06-16", None),
    "two weeks ago": ("2026-06-13", "2026-06-20"),
    "more than two weeks ago": (None, "2026-06-16"),
    "over a year ago": (None, "2025-06-30"),
    "decisions older than three months": (None, "2026-04-01"),
    "vor mehr als zwei Wochen": (None, "2026-06-16"),
    "Notizen, die älter als einen Monat sind": (None, "2026-05-31"),
    "il y a plus de deux mois": (None, "2026-05-01"),
    "hace más de un mes": (None, "2026-05-31"),
    "2週間以上前": (None, "2026-06-16"),
    "a couple of days ago": ("2026-06-28", "2026-06-29"),
    "vor einem Monat": ("2026-05-16", "2026-06-16"),
    "il y a trois jours": ("2026-06-27", "2026-06-28"),
    "hace 2 meses": ("2026-04-16", "2026-05-17"),
    "2週間前": ("2026-06-13", "2026-06-20"),
    "tomorrow": ("2026-07-01", "2026-07-02"),
    "next week": ("2026-07-06", "2026-07-13"),
    "nächsten Monat": ("2026-07-01", "2026-08-01"),
    "l'année prochaine": ("2027-01-01", "2028-01-01"),
    "la semana que viene": ("2026-07-06", "2026-07-13"),
    "el próximo mes": ("2026-07-01", "2026-08-01"),
    "来週": ("2026-07-06", "2026-07-13"),
    "morgen": ("2026-07-01", "2026-07-02"),
    "Morgen": ("2026-07-01", "2026-07-02"),
    "mañana": ("2026-07-01", "2026-07-02"),
    "heute morgen": ("2026-06-30", "2026-07-01"),
    "gestern morgen": ("2026-06-29", "2026-06-30"),
    "this morning": ("2026-06-30", "2026-07-01"),
    "tonight": ("2026-06-30", "2026-07-01"),
    "last night": ("2026-06-29", "2026-06-30"),
    "esta tarde": ("2026-06-30", "2026-07-01"),
    "三日前": ("2026-06-27", "2026-06-28"),
    "one day ago": ("2026-06-29", "2026-06-30"),
    "twenty-one days ago": ("2026-06-09", "2026-06-10"),
    "vor fünfundzwanzig Tagen": ("2026-06-05", "2026-06-06"),
    "il y a soixante et onze jours": ("2026-04-20", "2026-04-21"),
    "il y a quatre-vingt-dix-sept jours": ("2026-03-25", "2026-03-26"),
    "il y a quatre-vingts jours": ("2026-04-11", "2026-04-12"),
    "hace treinta y un días": ("2026-05-30", "2026-05-31"),
    "hace veintiún días": ("2026-06-09", "2026-06-10"),
    "二十三日前": ("2026-06-07", "2026-06-08"),
    "過去十二日": ("2026-06-18", None),
}


@pytest.mark.parametrize("text", RELATIVE)
def test_relative_dates_are_read_in_five_languages(text: str) -> None:
    named = relative_span(text, TODAY)
    assert named is not None
    assert named.span == TimeSpan(*RELATIVE[text])


@pytest.mark.parametrize("text", ["jeden Morgen", "am morgen", "por la mañana", "in the evening"])
def test_a_part_of_each_day_is_no_time(text: str) -> None:
    assert relative_span(text, TODAY) is None


DATED: dict[str, tuple[str | None, str | None]] = {
    "What came in the first quarter?": ("2026-01-01", "2026-04-01"),
    "Q4 2024": ("2024-10-01", "2025-01-01"),
    "the fourth quarter": ("2025-10-01", "2026-01-01"),
    "im Mai": ("2026-05-01", "2026-06-01"),
    "aus dem Mai": ("2026-05-01", "2026-06-01"),
    "at the March meeting": ("2026-03-01", "2026-04-01"),
    "seit März 2025": ("2025-03-01", None),
    "nach dem Umzug, vor Dezember": (None, "2025-12-01"),
    "am 3. April": ("2026-04-03", "2026-04-04"),
    "am 3.4.2026": ("2026-04-03", "2026-04-04"),
    "seit dem Umzug vom 03. 04. 2025": ("2025-04-03", "2025-04-04"),
    "since 3.4.2026": ("2026-04-03", None),
    "vom 3.4.2026 bis 5.4.2026": ("2026-04-03", "2026-04-06"),
    "en mai": ("2026-05-01", "2026-06-01"),
    "depuis février": ("2026-02-01", None),
    "avant le projet, jusqu'en août 2025": (None, "2025-09-01"),
    "le 14 juillet 2025": ("2025-07-14", "2025-07-15"),
    "en mayo de 2025": ("2025-05-01", "2025-06-01"),
    "el 5 de enero de 2026": ("2026-01-05", "2026-01-06"),
    "después de marzo": ("2026-04-01", None),
    "antes de abril": (None, "2026-04-01"),
    "5月に": ("2026-05-01", "2026-06-01"),
    "bis zum 5. Mai": (None, "2026-05-06"),
    "zum 5. Mai": ("2026-05-05", "2026-05-06"),
    "d'ici le 5 mai": (None, "2026-05-06"),
    "d'ici au 5 mai": (None, "2026-05-06"),
    "para el 5 de mayo": ("2026-05-05", "2026-05-06"),
    "2025年の": ("2025-01-01", "2026-01-01"),
    "2026年5月21日から": ("2026-05-21", None),
    "3月まで": (None, "2026-04-01"),
    "2025年5月より前": (None, "2025-05-01"),
    "from May to June": ("2026-05-01", "2026-07-01"),
    "between March and May 2025": ("2025-03-01", "2025-06-01"),
    "between November and February 2025": ("2024-11-01", "2025-03-01"),
    "in May and the tide": ("2026-05-01", "2026-06-01"),
    "von März bis Mai": ("2026-03-01", "2026-06-01"),
    "entre mars et mai": ("2026-03-01", "2026-06-01"),
    "desde marzo hasta mayo": ("2026-03-01", "2026-06-01"),
    "from 3 May to 31 February": ("2026-05-03", "2026-05-04"),
    "between 1 and 10 November": ("2025-11-01", "2025-11-11"),
    "from the 3rd to the 5th of March": ("2026-03-03", "2026-03-06"),
    "1st-3rd of May": ("2026-05-01", "2026-05-04"),
    "lessons 10–20 November 2024": ("2024-11-10", "2024-11-21"),
    "May 3 to 5": ("2026-05-03", "2026-05-06"),
    "on the 3rd of March": ("2026-03-03", "2026-03-04"),
    "from 3 to 5 may": ("2026-05-03", "2026-05-06"),
    "vom 3. bis 5. März": ("2026-03-03", "2026-03-06"),
    "zwischen dem 1. und 10. November": ("2025-11-01", "2025-11-11"),
    "entre le 1er et le 10 novembre": ("2025-11-01", "2025-11-11"),
    "del 3 al 5 de marzo": ("2026-03-03", "2026-03-06"),
    "3月3日から5日まで": ("2026-03-03", "2026-03-06"),
    "3月3日〜5日の": ("2026-03-03", "2026-03-06"),
    "in may": ("2026-05-01", "2026-06-01"),
    "am 3.4.": ("2026-04-03", "2026-04-04"),
    "seit 3.4.": ("2026-04-03", None),
    "last quarter": ("2026-01-01", "2026-04-01"),
    "this quarter": ("2026-04-01", "2026-07-01"),
    "im zweiten Quartal": ("2026-04-01", "2026-07-01"),
    "im 1. Quartal 2025": ("2025-01-01", "2025-04-01"),
    "letztes Quartal": ("2026-01-01", "2026-04-01"),
    "im ersten Halbjahr": ("2026-01-01", "2026-07-01"),
    "letztes Halbjahr": ("2025-07-01", "2026-01-01"),
    "au deuxième trimestre": ("2026-04-01", "2026-07-01"),
    "le trimestre dernier": ("2026-01-01", "2026-04-01"),
    "en el primer semestre de 2025": ("2025-01-01", "2025-07-01"),
    "el trimestre pasado": ("2026-01-01", "2026-04-01"),
    "H2 2025": ("2025-07-01", "2026-01-01"),
    "第二四半期": ("2026-04-01", "2026-07-01"),
    "上半期の": ("2026-01-01", "2026-07-01"),
    "前四半期": ("2026-01-01", "2026-04-01"),
    "What did we decide on the 15th?": ("2026-06-15", "2026-06-16"),
    "on the 31st": ("2026-05-31", "2026-06-01"),
    "from the 28th to the 3rd": ("2026-06-28", "2026-07-04"),
    "Was haben wir am 3. beschlossen?": ("2026-06-03", "2026-06-04"),
    "bis zum 30.": (None, "2026-07-01"),
    "le 15": ("2026-06-15", "2026-06-16"),
    "depuis le 1er": ("2026-06-01", None),
    "el 9?": ("2026-06-09", "2026-06-10"),
    "in KW 20": ("2026-05-11", "2026-05-18"),
    "calendar week 1 of 2025": ("2024-12-30", "2025-01-06"),
    "semaine 40": ("2025-09-29", "2025-10-06"),
}


@pytest.mark.parametrize("text", DATED)
def test_dates_are_read_in_five_languages(text: str) -> None:
    named = dated_span(text, TODAY)
    assert named is not None
    assert named.span == TimeSpan(*DATED[text])


@pytest.mark.parametrize(
    "text",
    [
        *("Was ist hier passiert?", "we may go", "in may we", "the 2026 plan", "2026年13月"),
        *("Welche Regeln gelten hier?", "Gibt es hier einen Kran?", "the last day to pay"),
        *("was esse ich jeden morgen", "guten morgen text"),
        *("the last week of school", "in 2000 characters", "from 1900 to 2000 €", "in mar.txt"),
        *(
            "was steht in Mai.md",
            "von 1950 mm",
            "quarter of an hour",
            "third semestre",
            "am 3.4",
            "this depends on may",
        ),
        *("What changed in 2.10.?", "since 2.10.", "Was ist neu in 2.10.?"),
        *("on the 40th", "on the 3rd floor", "in 2.", "le 15 est", "KW 0", "KW 53 2025"),
        *("from 5 to 3 March", "28-31 February", "3月5日から3日", "berths 3 to 5", "v3-5 may"),
    ],
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


EVENTS = {
    "What did we decide after the outage?": ("after", "outage"),
    "before the move": ("before", "move"),
    "lessons since our release, please": ("since", "release"),
    "until the storm of May": ("until", "storm of May"),
    "Entscheidungen vor dem Umzug": ("before", "Umzug"),
    "bis zu unserem Ausfall": ("until", "Ausfall"),
    "Was haben wir bis zum Umzug beschlossen?": ("until", "Umzug"),
    "décisions jusqu'au lancement": ("until", "lancement"),
    "decisiones antes del lanzamiento": ("before", "lanzamiento"),
    "décisions après l'incident": ("after", "incident"),
    "depuis la panne": ("since", "panne"),
    "decisiones antes de la mudanza": ("before", "mudanza"),
    "desde el apagón": ("since", "apagón"),
    "停電の後に決めたこと": ("after", "停電"),
    "リリース以降の決定": ("since", "リリース"),
    "What did we decide the day after the launch?": ("after", "launch"),
    "on the day of the launch": ("on", "launch"),
    "What happened the week before the move?": ("before", "move"),
    "during our outage": ("on", "outage"),
    "am Tag nach dem Umzug": ("after", "Umzug"),
    "in der Woche vor dem Umzug": ("before", "Umzug"),
    "am Tag des Umzugs": ("on", "Umzugs"),
    "während des Ausfalls": ("on", "Ausfalls"),
    "le lendemain de la panne": ("after", "panne"),
    "la veille du lancement": ("before", "lancement"),
    "le jour de l'ouverture": ("on", "ouverture"),
    "el día después de la mudanza": ("after", "mudanza"),
    "la víspera del lanzamiento": ("before", "lanzamiento"),
    "dos semanas después del lanzamiento": ("after", "lanzamiento"),
    "停電の翌日の決定": ("after", "停電"),
    "停電の前日": ("before", "停電"),
    "停電当日": ("on", "停電"),
    "What happened seven days after surgery?": ("after", "surgery"),
    "dos semanas antes de mudarnos": ("before", "mudarnos"),
}


@pytest.mark.parametrize("text", EVENTS)
def test_a_time_is_named_by_what_happened_then(text: str) -> None:
    named = named_event(text)
    assert named is not None
    assert (named.how, named.words) == EVENTS[text]


@pytest.mark.parametrize(
    "text",
    [
        *("after lunch", "since May", "the aftermath", "vor Mai", "", "the first day of the week"),
        *("two weeks of rain", "dos semanas de vacaciones"),
    ],
)
def test_other_times_name_no_event(text: str) -> None:
    assert named_event(text) is None


BOUNDS = {
    "since": (("2026-05-16", None), ("2026-05-01", None)),
    "after": (("2026-05-16", None), ("2026-05-01", None)),
    "before": ((None, "2026-05-16"), (None, "2026-06-01")),
    "until": ((None, "2026-05-17"), (None, "2026-06-01")),
}


@pytest.mark.parametrize("how", BOUNDS)
def test_an_event_bounds_a_time_by_its_day_or_its_month(how: str) -> None:
    event = NamedEvent(how, "outage", 0, 6)
    day, month = BOUNDS[how]
    assert event.span("2026-05-16") == TimeSpan(*day)
    assert event.bounded(TimeSpan("2026-05-01", "2026-06-01")) == TimeSpan(*month)


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("the day after the launch", "2026-05-14", "2026-05-15"),
        ("the day before the launch", "2026-05-12", "2026-05-13"),
        ("on the day of the launch", "2026-05-13", "2026-05-14"),
        ("in the week of the launch", "2026-05-11", "2026-05-18"),
        ("the week after the launch", "2026-05-14", "2026-05-21"),
        ("the week before the launch", "2026-05-06", "2026-05-13"),
        ("two days after the launch", "2026-05-15", "2026-05-16"),
        ("2 weeks before the launch", "2026-04-26", "2026-05-03"),
        ("seven days after the launch", "2026-05-20", "2026-05-21"),
        ("siebzehn Tage nach dem Start", "2026-05-30", "2026-05-31"),
        ("dix-huit jours après le lancement", "2026-05-31", "2026-06-01"),
        ("veintiún días después del lanzamiento", "2026-06-03", "2026-06-04"),
        ("リリースの翌週", "2026-05-14", "2026-05-21"),
    ],
)
def test_a_day_or_week_may_be_near_an_event(text: str, since: str, until: str) -> None:
    event = named_event(text)
    assert event is not None
    assert event.span("2026-05-13") == TimeSpan(since, until)


def test_before_the_first_year_there_is_no_quarter() -> None:
    assert dated_span("Q4", date(1, 1, 1)) is None
