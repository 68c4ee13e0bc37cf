"""Seasons, holidays, weekdays and parts of months in plain words: *last summer*, *seit Montag*.

Seasons are those of the northern hemisphere, in whole months. *On Friday* and *Friday* are a date
only in a question about the past or about what is due; in others it may be every Friday.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import cache, partial
from itertools import chain
from types import MappingProxyType
from typing import TypeAlias

from msgspec import Struct

from vaultsync.model.dates import NamedSpan, TimeSpan, next_day
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.written_dates import relative_days, relative_span
from vaultsync.recall.time_words import DATES, JAPANESE_HOW, dated_span, is_subject, key_of, span_of

_Period: TypeAlias = tuple[date, date]
"""The first day of a period, and the day after its last."""

_NAMES = (
    *("spring", "summer", "autumn", "winter", "christmas", "easter", "new year", "weekend"),
    *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
)
_SEASONS, _WEEKLY, _WEEKDAYS = _NAMES[:4], _NAMES[7:], _NAMES[8:]


class _Language(Struct, frozen=True):
    """How one language names periods; all texts are patterns."""

    names: str
    """The words for each of `_NAMES`, with blanks between."""
    prepositions: Mapping[str, str]
    """`in`, `since`, `after`, `before` or `until` -> the words for it."""
    article: str
    turns: Mapping[str, str]
    """`last`, `this` or `next` -> the words for it before a name."""
    behind: Mapping[str, str]
    """The same after a name."""
    parts: Mapping[str, str]
    """A key of `_SHARES` or `_WEEKS` -> the words for it before a month or a year."""
    of: str
    """What is between these and the month."""
    units: Mapping[str, str]
    """`week`, `month` or `year` -> the word for it after `of`."""
    past: str
    """Words of a question about the past."""


_LANGUAGES: Sequence[_Language] = (
    _Language(
        # A capital is that of a name: Spring Boot.
        r"(?-i:spring) summer autumn|fall winter christmas easter new\s+year(?:['’]?s)? weekend"
        r" monday tuesday wednesday thursday friday saturday sunday",
        {**DATES[0].prepositions, "in": "in|on|at|over|during|of|from|for|between"},
        r"(?:(?:the|that)\s+)?",
        {"last": "last|past|previous", "this": "this", "next": "next"},
        {},
        {
            "begin": "beginning|start|(?<!how )early",
            "middle": "middle|mid",
            "end": "end|(?<!how )late",
            "first half": r"(?:first|1st)\s+half",
            "second half": r"(?:second|2nd)\s+half",
            "first week": r"(?:first|1st)\s+week",
            "last week": r"last\s+week",
        },
        r"(?:\s+of(?:\s+(?:the|this))?\s+|-|\s+)",
        {"week": "week", "month": "month", "year": "year"},
        "did|happened|was|were|had|decided|said",
    ),
    _Language(
        r"frühlings?|frühjahr sommers? herbst winter weihnachten ostern neujahr wochenende"
        r" montag dienstag mittwoch donnerstag freitag samstag|sonnabend sonntag",
        {**DATES[1].prepositions, "in": "im|in|am|an|aus|während|über|vom|von|für|zwischen"},
        r"(?:(?:de[mnr]|jene[mnrs]?)\s+)?",
        {
            "last": "(?:letzte|vergangene|vorige)[nmrs]?",
            "this": "diese[nmrs]?",
            "next": "(?:nächste|kommende)[nmrs]?",
        },
        {},
        {
            "begin": "anfang",
            "middle": "mitte",
            "end": "ende",
            "first half": r"erste[nr]?\s+hälfte",
            "second half": r"zweite[nr]?\s+hälfte",
            "first week": r"erste[nr]?\s+woche",
            "last week": r"letzte[nr]?\s+woche",
        },
        r"\s+(?:de[rs]\s+|im\s+|vom\s+)?",
        {"week": "woche", "month": "monats", "year": "jahres"},
        r"war|waren|wurden?|hatten?|passiert\w*|geschehen|geschah|gab|ge\w{3,}t|beschlossen",
    ),
    _Language(
        r"printemps été automne hiver noël pâques nouvel\s+an week-?end"
        r" lundi mardi mercredi jeudi vendredi samedi dimanche",
        {**DATES[2].prepositions, "in": "en|au|pendant|d[eu]|pour|entre"},
        r"(?:l[ae]\s+|l['’])?",
        {"this": "cet?"},
        {"last": "derni[eè]re?|passée?", "next": "prochaine?"},
        {
            "begin": "d[ée]but",
            "middle": "mi",
            "end": "fin",
            "first half": r"première\s+moitié",
            "second half": r"(?:deuxième|seconde)\s+moitié",
            "first week": r"première\s+semaine",
            "last week": r"dernière\s+semaine",
        },
        r"(?:-|\s+(?:d[eu]\s+(?:la\s+)?|de\s+l['’])?)",
        {"week": "semaine", "month": "mois", "year": "année"},
        r"a|ont|avons|était|fut|s['’]est|passée?s?",
    ),
    _Language(
        r"primavera verano otoño invierno navidad(?:es)? pascua año\s+nuevo fin\s+de\s+semana"
        r" lunes martes miércoles jueves viernes sábado domingo",
        {**DATES[3].prepositions, "in": "en|durante|el|del?|para|entre"},
        r"(?:(?:el|las?|aquel(?:la)?|es[ea])\s+)?",
        {"last": "últim[oa]", "this": "est[ea]", "next": "próxim[oa]"},
        {"last": "pasad[oa]s?", "next": r"próxim[oa]|que\s+viene"},
        {
            "begin": "principios?",
            "middle": "mediados?",
            "end": "final(?:es)?|fin",
            "first half": r"primera\s+mitad",
            "second half": r"segunda\s+mitad",
            "first week": r"primera\s+semana",
            "last week": r"última\s+semana",
        },
        r"\s+del?\s+(?:la\s+)?",
        {"week": "semana", "month": "mes", "year": "año"},
        "pasó|ocurrió|fue|fueron|hicimos|decidimos",
    ),
)
_SHARES: Mapping[str, tuple[int, int, int]] = MappingProxyType(
    {
        "begin": (0, 1, 3),
        "middle": (1, 2, 3),
        "end": (2, 3, 3),
        "first half": (0, 1, 2),
        "second half": (1, 2, 2),
    }
)
"""Part -> where it begins and ends, in equal parts of the whole, and the number of these."""
_YEAR = timedelta(days=365)
_WEEKS: Mapping[str, int] = MappingProxyType({"first week": 0, "last week": -7})
"""Part -> the day at which a week begins, from the beginning of the whole, or from its end."""
_FOR = frozenset({"for", "für", "pour"})
"""Before a time when something is due, and before what something is for: *ideas for Christmas*."""
_ABOUT = lazy_pattern(r"\b(?:about|concerning|regarding|zu|sur|sobre)\s+\Z", re.IGNORECASE)
"""Before a name that is a topic: *about weekend bookings*."""
_BETWEEN = frozenset({"between", "zwischen", "entre"})
"""Before two times that *and* joins: *between Monday and Friday*."""
_AND = frozenset({"and", "und", "et", "y"})
_BESIDE = len(" concerning ")
"""Number of characters before a name, for `_ABOUT` and `is_subject()`."""
_DAY_PARTS = "(?:morgen|vormittag|mittag|nachmittag|abend|nacht)?"
"""What German joins to a weekday: *Samstagabend*."""
_JAPANESE = (
    r"(?P<year>今年|去年|昨年|来年|この)の?(?P<name>[春夏秋冬])(?P<how>以降|以来|まで|の?前)?"
)
_JAPANESE_DAYS = (
    r"(?:(?P<last>先週|前の|この前の)|(?P<this>今週|今度の|この)|(?P<next>来週|次の))?の?"
    r"(?:(?P<name>[月火水木金土日])曜日?|(?P<weekend>週末))(?P<how>以降|以来|から|まで|の?前)?"
)
_JAPANESE_PAST = r"(?:た|でした)(?:こと|の)?(?:か|の)?[。？?\s]*\Z|た(?:こと|決定|約束)"
_JAPANESE_YEARS = MappingProxyType({"去年": -1, "昨年": -1, "来年": 1})
_DAYS_AWAY: Mapping[str, int] = MappingProxyType(
    {
        r"(?:the\s+)?day\s+before\s+yesterday|vorgestern|avant-hier|anteayer|antier|一昨日": -2,
        r"(?:the\s+)?day\s+after\s+tomorrow|übermorgen|après-demain|pasado\s+mañana|明後日": 2,
    }
)
_BEFORE_LAST = (
    r"\b(?:(?:in\s+)?(?:the\s+)?(?:(?P<week>week)|(?P<month>month)|(?P<year>year))\s+before\s+last"
    r"|vorletzte[nmrs]?\s+(?:(?P<week2>woche)|(?P<month2>monat)|(?P<year2>jahr))"
    r"|avant-derni[eè]re?\s+(?:(?P<week3>semaine)|(?P<month3>mois)|(?P<year3>année))"
    r"|penúltim[oa]\s+(?:(?P<week4>semana)|(?P<month4>mes)|(?P<year4>año)))\b"
)


def calendar_span(
    text: str, today: date, *, is_near: bool = False, is_past: bool = False
) -> NamedSpan | None:
    """The first such time in a question; None if there is none.

    Args:
        text: a question.
        today: the day of the question.
        is_near: whether the nearest to come is meant, as in a question about what is due.
        is_past: whether the question is known to be about the past; otherwise its words decide.
    """
    low = text.casefold().replace("\u0131", "i")  # `re` skips to letters of one case
    parted = [each for each in _LANGUAGES if re.search("|".join(each.parts.values()), low)]
    named = [each for each in _LANGUAGES if re.search(each.names.replace(" ", "|"), low)]
    found = chain(
        _days_away(text, today),
        _before_last(text, today),
        *(_parts(text, each, today, is_near=is_near) for each in parted),
        *(_periods(text, each, today, is_near=is_near, is_past=is_past) for each in named),
        _japanese_seasons(text, today),
        _japanese_days(text, today, is_near=is_near, is_past=is_past),
    )
    return min(found, key=lambda each: (each.begin, -each.end), default=None)


def _days_away(text: str, today: date) -> Iterator[NamedSpan]:
    for pattern, days in _DAYS_AWAY.items():
        for match in re.finditer(pattern, text, re.IGNORECASE):
            day = today + timedelta(days)
            yield NamedSpan(TimeSpan(day.isoformat(), next_day(day)), *match.span())


def _before_last(text: str, today: date) -> Iterator[NamedSpan]:
    for match in re.finditer(_BEFORE_LAST, text, re.IGNORECASE):
        unit = str(match.lastgroup).rstrip("234")
        if unit == "week":
            first = today - timedelta(today.weekday() + 14)
            after = first + timedelta(7)
        elif unit == "month":
            first, after = _month(today.year, today.month - 2), _month(today.year, today.month - 1)
        else:
            first, after = date(today.year - 2, 1, 1), date(today.year - 1, 1, 1)
        yield NamedSpan(_span("in", first, after), *match.span())


def _parts(text: str, language: _Language, today: date, *, is_near: bool) -> Iterator[NamedSpan]:
    """Parts of a week, month or year: `bis Ende November`, `early March`."""
    units = "|".join(f"(?P<{name}>{words})" for name, words in language.units.items())
    joined = "monats|jahres" if "ende" in language.parts.values() else "(?!)"
    pattern = (
        rf"\b(?:(?:(?P<how>{'|'.join(language.prepositions.values())})\s+|al?\s+|à\s+la\s+)?"
        rf"{language.article})(?:(?P<joined>{joined})(?P<part2>anfang|mitte|ende)\b"
        rf"|(?P<part>{'|'.join(language.parts.values())}){language.of}"
        rf"(?:(?:{units})\b|(?P<rest>(?:19|20)\d\d\b|[^\W\d_]{{3,}}(?:,?\s+(?:del?\s+)?\d{{4}})?)))"
    )
    for match in re.finditer(pattern, text, re.IGNORECASE):
        end = match.end()
        if match["rest"]:
            named = dated_span(f"in {match['rest']}", today, is_near=is_near)
            named = named or dated_span(f"en {match['rest']}", today, is_near=is_near)
            end -= len(match["rest"]) + 3 - named.end if named else 0
            if not named and (turned := re.compile(r"\w+\s\w+").match(text, match.start("rest"))):
                days = relative_days(turned[0], today)
                named, end = days and NamedSpan(TimeSpan(*days), 0, 0), turned.end()
        else:
            unit = next((name for name in language.units if match[name]), "")
            unit = unit or ("month" if match["joined"].lower() == "monats" else "year")
            named = relative_span(f"this {unit}", today, is_near=True)
        if named is None or not (named.span.since and named.span.until):
            continue
        first, after = map(date.fromisoformat, (named.span.since, named.span.until))
        first, after = _part(key_of(language.parts, match["part"] or match["part2"]), first, after)
        how = key_of(language.prepositions, match["how"]) if match["how"] else "in"
        yield NamedSpan(_span(how, first, after), match.start(), end)


def _part(name: str, first: date, after: date) -> _Period:
    """A part of a week, month or year."""
    if name in _WEEKS:
        begin = (after if _WEEKS[name] else first) + timedelta(_WEEKS[name])
        return begin, begin + timedelta(7)
    begins, ends, parts = _SHARES[name]
    if name.endswith("half") and after - first >= _YEAR:
        middle = date(first.year, 7, 1)
        return (middle, after) if begins else (first, middle)
    length = (after - first) // parts
    begin, end = (
        first + at * length if 2 * at <= parts else after - (parts - at) * length
        for at in (begins, ends)
    )
    return begin, end


def _periods(
    text: str, language: _Language, today: date, *, is_near: bool, is_past: bool
) -> Iterator[NamedSpan]:
    """Seasons, holidays, weekends and weekdays."""
    names = language.names.split(" ")
    pattern = (
        rf"\b(?:(?P<how>{'|'.join(language.prepositions.values())})\s+)?{language.article}"
        rf"(?:(?P<turn>{'|'.join(language.turns.values())})\s+)?"
        rf"(?P<name>{'|'.join(names)}){_DAY_PARTS}\b"
        rf"(?:,?\s+(?:of\s+|del?\s+)?(?P<year>(?:19|20)\d\d)\b)?"
        rf"(?:\s+(?P<behind>{'|'.join((*language.behind.values(), '(?!)'))})\b)?"
    )

    upto = re.compile(
        rf"\s+(?P<joint>{DATES[_LANGUAGES.index(language)].upto})\s+{language.article}"
        rf"(?P<name>{'|'.join(names)}){_DAY_PARTS}\b",
        re.IGNORECASE,
    )
    key = partial(key_of, dict(zip(_NAMES, names, strict=True)))

    @cache  # a question may name thousands of days
    def tells_past() -> bool:
        return is_past or bool(re.search(rf"\b(?:{language.past})\b", text, re.IGNORECASE))

    for match in re.finditer(pattern, text, re.IGNORECASE):
        name, before = key(match["name"]), (match["how"] or "").lower()
        how = key_of(language.prepositions, match["how"]) if match["how"] else ""
        turn = key_of(language.turns, match["turn"]) if match["turn"] else ""
        turn = turn or (key_of(language.behind, match["behind"]) if match["behind"] else "")
        is_purpose = not (is_near or turn) and before in _FOR
        at, behind = max(match.start() - _BESIDE, 0), match.end() + 1
        is_bare, is_about = not (how or turn), _ABOUT.search(text[at : match.start()])
        is_topic = is_about or is_subject(match["name"], text[at:behind])
        is_name = is_bare and (name not in _WEEKLY or is_topic)
        until, end = upto.match(text, match.end()), match.end()
        if is_purpose or is_name or (before in _BETWEEN and not until):
            continue
        is_plain = how in ("", "in", "until") and not (turn or is_near or name in _SEASONS)
        if is_plain and (how == "until" or name not in _WEEKLY or not tells_past()):
            continue
        year = int(match["year"]) if match["year"] else None
        days = _chosen(name, how or "in", turn, today, year=year, is_near=is_near)
        if until and (before in _BETWEEN or until["joint"].lower() not in _AND) and not year:
            first = days[0] if turn or is_near else None
            days, how, end = _through(name, key(until["name"]), first, today), "in", until.end()
        yield NamedSpan(_span(how or "in", *days), match.start(), end)


def _chosen(
    name: str, how: str, turn: str, today: date, *, year: int | None, is_near: bool
) -> _Period:
    """The period of a name that is meant: by its year, `last`, or the preposition."""
    if year:
        return _period(name, year)
    periods = _periods_near(name, today)
    over = [each for each in periods if each[1] <= today]
    begun = [each for each in periods if each[0] <= today]
    coming = [each for each in periods if each[0] > today]
    # On a Monday, "since Monday" is a week, and "before Monday" is not over.
    is_since_day = how == "since" and name in _WEEKDAYS
    if turn == "last" or (not turn and (how == "after" or is_since_day)):
        return over[-1]
    if turn == "next":
        return coming[0]
    if is_near and not turn and how in ("in", "before", "until"):
        return next(each for each in periods if each[how != "before"] > today)
    if turn == "this" or how in ("before", "until"):
        if begun[-1][1] > today:
            return begun[-1]
        # In November, "this summer" is over, and "before Christmas" is to come.
        return min(begun[-1], coming[0], key=lambda each: abs(each[0] - today))
    return begun[-1]


def _through(name: str, last: str, first: date | None, today: date) -> _Period:
    """From a name to another one: from the day `first`, or else the last such time."""
    final = [each for each in _periods_near(last, today) if each[0] <= today][-1]
    if first is None:
        return [x for x in _periods_near(name, final[0]) if x[0] <= final[0]][-1][0], final[1]
    if final[0] < first:
        final = next(each for each in _periods_near(last, first) if each[0] >= first)
    return first, final[1]


def _periods_near(name: str, today: date) -> list[_Period]:
    """The weeks or years around a day."""
    if name in _WEEKLY:
        return [_weekly(name, today, weeks) for weeks in (-2, -1, 0, 1, 2)]
    return [_period(name, today.year + years) for years in (-2, -1, 0, 1, 2)]


def _period(name: str, year: int) -> _Period:
    """A season or holiday of a year; its winter begins in December."""
    if name in _SEASONS:
        month = 3 + 3 * _SEASONS.index(name)
        return _month(year, month), _month(year, month + 3)
    if name == "christmas":
        return date(year, 12, 24), date(year, 12, 27)
    if name == "easter":
        sunday = _easter(year)
        return sunday - timedelta(2), sunday + timedelta(2)
    return date(year, 1, 1), date(year, 1, 2)


def _weekly(name: str, today: date, weeks: int) -> _Period:
    monday = today + timedelta(7 * weeks - today.weekday())
    if name == "weekend":
        return monday + timedelta(5), monday + timedelta(7)
    day = monday + timedelta(_WEEKDAYS.index(name))
    return day, day + timedelta(1)


def _easter(year: int) -> date:
    """Easter Sunday (the anonymous Gregorian algorithm; Meeus, *Astronomical Algorithms*)."""
    golden, century, rest = year % 19, year // 100, year % 100
    epact = (19 * golden + century - century // 4 - (8 * century + 13) // 25 + 15) % 30
    days = (32 + 2 * (century % 4) + 2 * (rest // 4) - epact - rest % 4) % 7
    late = (golden + 11 * epact + 22 * days) // 451
    month, day = divmod(epact + days - 7 * late + 114, 31)
    return date(year, month, day + 1)


def _japanese_seasons(text: str, today: date) -> Iterator[NamedSpan]:
    for match in re.finditer(_JAPANESE, text):
        name = _SEASONS["春夏秋冬".index(match["name"])]
        year = today.year + _JAPANESE_YEARS.get(match["year"], 0)
        how = JAPANESE_HOW.get(match["how"], "in")
        yield NamedSpan(_span(how, *_period(name, year)), *match.span())


def _japanese_days(text: str, today: date, *, is_near: bool, is_past: bool) -> Iterator[NamedSpan]:
    """Weekdays and weekends: `先週の金曜日`."""
    for match in re.finditer(_JAPANESE_DAYS, text):
        turn = next((each for each in ("last", "this", "next") if match[each]), "")
        how = JAPANESE_HOW.get(match["how"], "in")
        is_past = is_past or bool(re.search(_JAPANESE_PAST, text))
        if not (turn or is_near or how == "since" or is_past):
            continue
        name = "weekend" if match["weekend"] else _WEEKDAYS["月火水木金土日".index(match["name"])]
        if (match["last"] or match["this"] or match["next"] or "").endswith("週"):
            days = _weekly(name, today, {"last": -1, "this": 0, "next": 1}[turn])
        else:
            days = _chosen(name, how, turn, today, year=None, is_near=is_near)
        yield NamedSpan(_span(how, *days), *match.span())


def _month(year: int, month: int) -> date:
    """The first day of a month, which may lie before January or after December."""
    return date(year + (month - 1) // 12, (month - 1) % 12 + 1, 1)


def _span(how: str, first: date, after: date) -> TimeSpan:
    return span_of(how, first.isoformat(), after.isoformat())
