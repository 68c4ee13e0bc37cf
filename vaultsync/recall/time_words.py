"""Time in plain words: the span that a question names, in five languages.

`last week`, `seit März`, `el mes pasado`, `2026年5月`. A date must follow a preposition, for a
bare number or month may be anything; in Japanese a character of the calendar follows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from types import MappingProxyType
from typing import NamedTuple

from vaultsync.indexing.session_context import MONTHS
from vaultsync.model.time_span import ISO_DAY, TimeSpan, day_span, days_between


class NamedSpan(NamedTuple):
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


# --------------------------------------------------------------------- relative dates

_NUMBERS = (
    "two|three|four|five|six|(?:a\\s+)?few|(?:a\\s+)?couple\\s+of",
    "zwei|drei|vier|fünf|sechs|paar",
    "deux|trois|quatre|cinq|six",
    "dos|tres|cuatro|cinco|seis",
)
"""The numbers that are written as words, per language."""
_NUMBER_OF_WORD: Mapping[str, int] = MappingProxyType(
    {
        word: number
        for number, words in enumerate(
            (
                "a an einem einer un une una",
                "two couple zwei deux dos",
                "three few drei paar trois tres",
                "four vier quatre cuatro",
                "five fünf cinq cinco",
                "six sechs seis",
            ),
            1,
        )
        for word in words.split()
    }
)
_RELATIVE: Sequence[tuple[tuple[str, ...], str]] = (
    (  # English
        ("today", "yesterday", "this", "last", "past", "previous", "ago", "tomorrow", "next"),
        (
            r"\b(?:(?P<when>today|yesterday|tomorrow)"
            rf"|(?P<ago>\d{{1,3}}|{_NUMBERS[0]}|an?)\s+(?P<units2>day|week|month|year)s?\s+ago"
            r"|(?:(?:in\s+)?the\s+)?"
            r"(?P<which>this|last|past|previous|next)\s+(?P<unit>day|week|month|year)"
            rf"|(?:in\s+)?(?:the\s+)?(?:last|past)\s+(?P<count>\d{{1,3}}|{_NUMBERS[0]})\s+"
            r"(?P<units>day|week|month|year)s)\b"
        ),
    ),
    (  # German
        (
            *("heute", "gestern", "diese", "letzte", "vorige", "vergangene", "nächste"),
            *("vor ", "kommende"),
        ),
        (
            r"\b(?:(?P<when>heute|gestern)"
            rf"|vor\s+(?P<ago>\d{{1,3}}|{_NUMBERS[1]}|eine[mr])\s+"
            r"(?P<units2>tag|woche|monat|jahr)(?:e?n)?"
            r"|(?P<which>diese|letzte|vorige|vergangene|nächste|kommende)[rnms]?\s+"
            r"(?P<unit>tag|woche|monat|jahr)"
            rf"|(?:in\s+den\s+)?(?:letzten|vergangenen)\s+(?P<count>\d{{1,3}}|{_NUMBERS[1]})\s+"
            r"(?P<units>tag|woche|monat|jahr)e?n)\b"
        ),
    ),
    (  # French
        # The German "hier" (here) mostly follows a verb.
        ("aujourd", "hier", "demain", "cet", "ce ", "derni", "pass", "procha", "il y a"),
        (
            r"\b(?:(?P<when>aujourd['’]hui|(?<!ist )(?<!sind )(?<!was )hier|demain)"
            rf"|il\s+y\s+a\s+(?P<ago>\d{{1,3}}|{_NUMBERS[2]}|une?)\s+"
            r"(?P<units2>jour|semaine|mois|année|an)s?"
            r"|(?P<which>cet?(?:te)?)\s+(?P<unit>jour|semaine|mois|année)"
            r"|(?:(?:la|le)\s+|l['’])?(?P<next>jour|semaine|mois|année|an)\s+prochaine?"
            r"|(?:(?:la|le)\s+|l['’])?(?P<last>jour|semaine|mois|année|an)\s+(?:derni[eè]re?|passée?)"
            rf"|(?:(?:ces|les|des)\s+)?(?P<count>\d{{1,3}}|{_NUMBERS[2]})\s+derni[eè]re?s\s+"
            r"(?P<units>jour|semaine|mois|année|an)s?)\b"
        ),
    ),
    (  # Spanish
        ("hoy", "ayer", "este", "esta", "pasad", "últim", "próxim", "que viene", "hace"),
        (
            r"\b(?:(?P<when>hoy|ayer)"
            rf"|hace\s+(?P<ago>\d{{1,3}}|{_NUMBERS[3]}|una?)\s+"
            r"(?P<units2>día|semana|mes|año)(?:es|s)?"
            r"|(?P<which>est[ea])\s+(?P<unit>día|semana|mes|año)"
            r"|(?:(?:el|la)\s+)?(?:(?P<next>día|semana|mes|año)\s+que\s+viene"
            r"|próxim[oa]\s+(?P<next2>día|semana|mes|año))"
            r"|(?:(?:el|la)\s+)?(?:(?P<last>día|semana|mes|año)\s+pasad[oa]"
            r"|últim[oa]\s+(?P<last2>día|semana|mes|año))"
            rf"|(?:en\s+)?(?:(?:los|las)\s+)?últim[oa]s\s+(?P<count>\d{{1,3}}|{_NUMBERS[3]})\s+"
            r"(?P<units>día|semana|mes|año)(?:es|s))\b"
        ),
    ),
    (  # Japanese
        ("今", "本日", "昨", "先", "去年", "過去", "この", "明日", "来", "前"),
        (
            r"(?P<when>今日|本日|昨日|明日)"
            r"|(?P<ago>\d{1,3})\s*(?P<units2>日|週|か月|ヶ月|年)間?前"
            r"|来(?P<next>週|月|年)"
            r"|(?P<which>今)(?P<unit>週|月|年)|(?:先(?P<last>週|月)|[去昨](?P<last2>年))"
            r"|(?:この|過去)\s*(?P<count>\d{1,3})\s*(?P<units>日|週|か月|ヶ月|年)間?"
        ),
    ),
)
"""What one of must occur, and the pattern of relative dates, per language."""
_UNIT_WORDS: Mapping[str, str] = MappingProxyType(
    {
        word: unit
        for unit, words in {
            "day": "day tag jour día 日",
            "week": "week woche semaine semana 週",
            "month": "month monat mois mes 月 か月 ヶ月",
            "year": "year jahr année an año 年",
        }.items()
        for word in words.split()
    }
)
_YESTERDAY = frozenset({"yesterday", "gestern", "hier", "ayer", "昨日"})
_TOMORROW = frozenset({"tomorrow", "demain", "明日"})
_THIS = ("this", "diese", "ce", "est", "今")
_NEXT = ("next", "nächste", "kommende")
_DAYS: Mapping[str, int] = MappingProxyType({"day": 1, "week": 7, "month": 30, "year": 365})
"""Unit -> days in it, for spans such as the last two months."""


def relative_span(text: str, today: date, *, is_near: bool = False) -> NamedSpan | None:
    """The span of the first relative date of a text, such as `last week`.

    Args:
        text: a question.
        today: the day that it counts from.
        is_near: whether what is to come counts, too, so that this week ends on Sunday.
    """
    matches = (next(find_all(each, text, *needed), None) for needed, each in _RELATIVE)
    match = min(filter(None, matches), key=re.Match.start, default=None)
    if match is None:
        return None
    parts = {name: each.lower() for name, each in match.groupdict().items() if each}
    if "when" in parts:
        when = parts["when"]
        first = _days_after(today, (when in _TOMORROW) - (when in _YESTERDAY))
        return NamedSpan(TimeSpan(first.isoformat(), _next_day(first)), *match.span())
    unit = _UNIT_WORDS[next(parts[name] for name in _UNIT_GROUPS if name in parts)]
    which = parts.get("which", "")
    is_next = which.startswith(_NEXT) or "next" in parts or "next2" in parts
    if is_next or which.startswith(_THIS):
        first = _first_of(unit, today)
        if is_next:
            first = _first_of(unit, _days_after(first, _LONGEST[unit]))
        after = _first_of(unit, _days_after(first, _LONGEST[unit])).isoformat()
        until = after if is_next or is_near else None
        return NamedSpan(TimeSpan(first.isoformat(), until), *match.span())
    if "ago" in parts:
        # What was two weeks ago was not fourteen days ago exactly.
        day = _days_after(today, -_DAYS[unit] * _number(parts["ago"]))
        around = _DAYS[unit] // 2
        span = TimeSpan(_days_after(day, -around).isoformat(), _next_day(_days_after(day, around)))
        return NamedSpan(span, *match.span())
    first = _days_after(today, -_DAYS[unit] * _number(parts.get("count", "1")))
    return NamedSpan(TimeSpan(first.isoformat()), *match.span())


_UNIT_GROUPS = ("unit", "units", "units2", "last", "last2", "next", "next2")
_LONGEST: Mapping[str, int] = MappingProxyType({"day": 1, "week": 7, "month": 31, "year": 366})
"""Unit -> days after which another one has begun."""


def _number(text: str) -> int:
    """The number that digits or words write."""
    if text.isdigit():
        return int(text)
    return next(_NUMBER_OF_WORD[each] for each in reversed(text.split()) if each in _NUMBER_OF_WORD)


def _days_after(day: date, days: int) -> date:
    """The day that is some days later, as far as the calendar goes."""
    return date.fromordinal(min(max(1, day.toordinal() + days), date.max.toordinal()))


def _next_day(day: date) -> str:
    return _days_after(day, 1).isoformat()


def _first_of(unit: str, day: date) -> date:
    """The first day of the week, month or year of a day."""
    return {
        "day": day,
        "week": day - timedelta(days=min(day.weekday(), day.toordinal() - 1)),
        "month": day.replace(day=1),
        "year": day.replace(month=1, day=1),
    }[unit]


# ------------------------------------------------------------------------------ dates


class _DateWords(NamedTuple):
    """How one language writes dates."""

    months: tuple[str, ...]
    """Their names, as patterns, from January on."""
    prepositions: Mapping[str, str]
    """`in`, `since`, `after`, `before` or `until` -> the words for it, as a pattern."""
    upto: str
    """The words between the first date of a span and its last, as a pattern."""


_DATES: Sequence[_DateWords] = (
    _DateWords(
        tuple(f"{name}|{name[:3]}\\b\\.?" for name in MONTHS),
        {
            "in": "in|on|of|from|during|between",
            "since": "since",
            "after": "after",
            "before": "before",
            "until": "until|till|by",
        },
        "to|and|until|till|through",
    ),
    _DateWords(
        (
            *("januar|jänner", "februar", "märz", "april", "mai", "juni", "juli", "august"),
            *("september", "oktober", "november", "dezember"),
        ),
        {
            "in": "im|am|vom|von|in|während|zwischen",
            "since": "seit|ab",
            "after": "nach",
            "before": "vor",
            "until": "bis",
        },
        "bis|und",
    ),
    _DateWords(
        (
            *("janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août"),
            *("septembre", "octobre", "novembre", "décembre"),
        ),
        {
            "in": "en|de|le|du|au|pendant|entre",
            "since": "depuis",
            "after": "après",
            "before": "avant",
            "until": "jusqu['’](?:en|au|à)",
        },
        "à|au|et|jusqu['’](?:en|au|à)",
    ),
    _DateWords(
        (
            *("enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto"),
            *("sep?tiembre", "octubre", "noviembre", "diciembre"),
        ),
        {
            "in": "en|de|el|del|durante|entre",
            "since": "desde",
            "after": r"después\s+de|tras",
            "before": r"antes\s+de",
            "until": "hasta",
        },
        "a|al|y|hasta",
    ),
)
_JAPANESE_DATE = (
    r"(?:(?P<year>(?:19|20)\d{2})年(?:(?P<month>\d{1,2})月)?|(?P<month2>\d{1,2})月)"
    r"(?:(?P<day>\d{1,2})日)?(?P<how>以降|以来|から|より前|以前|まで)?"
)
_JAPANESE_HOW = MappingProxyType(
    {"以降": "since", "以来": "since", "から": "since", "より前": "before"}
    | {"以前": "until", "まで": "until"}
)


def _date_pattern(words: _DateWords, how: str) -> str:
    """A date after one of the words `how`."""
    month = "|".join(words.months)
    return (
        rf"\b(?P<how>{how})\s+(?:(?P<iso>{ISO_DAY})"
        rf"|(?P<day>\d{{1,2}})(?:st|nd|rd|th|er|\.)?\s+(?:of\s+|de\s+)?(?P<month>{month})"
        rf"(?:,?\s+(?:del?\s+)?(?P<year>\d{{4}}))?"
        rf"|(?P<month2>{month})\s+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(?P<year2>\d{{4}}))?"
        rf"|(?P<month3>{month})(?:,?\s+(?:del?\s+)?(?P<year3>\d{{4}}))?"
        rf"|(?P<year4>(?:19|20)\d{{2}}))\b"
    )


def dated_span(text: str, today: date, *, is_near: bool = False) -> NamedSpan | None:
    """The span that the first date with a preposition names, such as `before May 2025`.

    Args:
        text: a question.
        today: the day it is asked on.
        is_near: whether a month without a year is the nearest one of its name, not the last.
    """
    found = []
    for words in _DATES:
        needed = (*"0123456789", *(name[:3] for name in words.months))
        pattern = _date_pattern(words, "|".join(words.prepositions.values()))
        match = next(find_all(pattern, text, *needed), None)
        days = _days(match, words, today, is_near=is_near) if match else None
        if match and days:
            word = match["how"].lower()
            how = next(k for k, p in words.prepositions.items() if re.fullmatch(p, word))
            end = match.end()
            if how in ("in", "since"):
                days, end = _extended(text, days, end, words, today, is_near=is_near)
                how = how if end == match.end() else "in"
            found.append(NamedSpan(_span(how, *days), match.start(), end))
    for match in find_all(_JAPANESE_DATE, text, "年", "月"):
        year, month = match["year"], match["month"] or match["month2"]
        days = days_between(
            _year(year, int(month or 1), today, is_near=is_near),
            int(month) if month else None,
            int(match["day"]) if match["day"] else None,
        )
        if days:
            found.append(
                NamedSpan(_span(_JAPANESE_HOW.get(match["how"], "in"), *days), *match.span())
            )
    found += _quarters(text, today, is_near=is_near)
    return min(found, key=lambda each: each.begin, default=None)


def _extended(
    text: str, days: tuple[str, str], end: int, words: _DateWords, today: date, *, is_near: bool
) -> tuple[tuple[str, str], int]:
    """A span with the last date that follows it, such as `to June`, and where that ends."""
    rest = re.compile(rf"\s+{_date_pattern(words, words.upto)}", re.IGNORECASE).match(text, end)
    last = _days(rest, words, today, is_near=is_near) if rest else None
    if not rest or not last:
        return days, end
    first = days[0]
    if first >= last[1]:  # a month without a year, before one with a year
        first = f"{int(last[0][:4]) - (first[4:] > last[0][4:]):04}{first[4:]}"
    return (first, last[1]), rest.end()


_QUARTER = (
    r"\b(?:(?:in\s+)?(?:the\s+)?(?P<name>first|second|third|fourth)\s+quarter|Q(?P<number>[1-4]))"
    r"(?:\s+(?:of\s+)?(?P<year>(?:19|20)\d{2}))?\b"
)
_ORDINALS = ("first", "second", "third", "fourth")


def _quarters(text: str, today: date, *, is_near: bool) -> Iterator[NamedSpan]:
    """The quarters of a year that a text names, without a year the most recent one."""
    for match in find_all(_QUARTER, text, "quarter", *(f"q{each}" for each in "1234")):
        name = match["name"]
        number = 1 + _ORDINALS.index(name.lower()) if name else int(match["number"])
        year = _year(match["year"], 3 * number - 2, today, is_near=is_near)
        first, last = days_between(year, 3 * number - 2, None), days_between(year, 3 * number, None)
        if first and last:
            yield NamedSpan(TimeSpan(first[0], last[1]), *match.span())


def _span(how: str, first: str, after: str) -> TimeSpan:
    return {
        "in": TimeSpan(first, after),
        "since": TimeSpan(since=first),
        "after": TimeSpan(since=after),
        "before": TimeSpan(until=first),
        "until": TimeSpan(until=after),
    }[how]


_HALF_YEAR = 6


def _year(given: str | None, month: int, today: date, *, is_near: bool) -> int:
    if given:
        return int(given)
    if is_near:
        return today.year + (month - today.month < -_HALF_YEAR) - (month - today.month > _HALF_YEAR)
    return today.year - (month > today.month)


def _days(
    match: re.Match[str], words: _DateWords, today: date, *, is_near: bool
) -> tuple[str, str] | None:
    """The first day of a date, and the day after its last; None when it is no date."""
    if match["iso"]:
        return day_span(match["iso"])
    if match["year4"]:
        return days_between(int(match["year4"]), None, None)
    name = match["month"] or match["month2"] or match["month3"]
    if name == "may":
        return None  # the verb
    month = next(
        number
        for number, pattern in enumerate(words.months, 1)
        if re.fullmatch(pattern, name, re.IGNORECASE)
    )
    day = match["day"] or match["day2"]
    year = _year(match["year"] or match["year2"] or match["year3"], month, today, is_near=is_near)
    return days_between(year, month, int(day) if day else None)


# ----------------------------------------------------------------------------- events


class NamedEvent(NamedTuple):
    """A time that a text names by what happened then, such as `after the outage`."""

    how: str
    """`since`, `after`, `before` or `until`."""
    words: str
    """What happened, to be looked up."""
    begin: int
    end: int

    def span(self, day: str) -> TimeSpan:
        """The time it names, if it happened on a day, an ISO date.

        The day itself counts as after it, not as before it: most of what is written about an
        event on its day was written when it was over.
        """
        if self.how == "until":
            return TimeSpan(until=_next_day(date.fromisoformat(day)))
        return TimeSpan(until=day) if self.how == "before" else TimeSpan(since=day)

    def bounded(self, span: TimeSpan) -> TimeSpan:
        """The time it names, if all that is known is a span that it happened in."""
        is_end = self.how in ("before", "until")
        return TimeSpan(until=span.until) if is_end else TimeSpan(since=span.since)


_EVENT_WORDS = r"(?:[^\s,;:.?!？]+\s*){1,8}?"
_EVENTS: Sequence[tuple[tuple[str, ...], Mapping[str, str], str]] = (
    (
        ("since", "after", "before", "until"),
        {"since": "ever since|since", "after": "after", "before": "before", "until": "until"},
        r"the|our|my|his|her|their|that",
    ),
    (
        ("seit", "nach", "vor", "bis"),
        {"since": "seit", "after": "nach", "before": "vor", "until": r"bis\s+zu"},
        r"de[mnr]|unsere[mnr]?|meine[mr]",
    ),
    (
        ("depuis", "après", "avant"),
        {"since": "depuis", "after": "après", "before": "avant", "until": r"jusqu['’](?:à|au)"},
        r"l[ae]s?|notre|mon|ma",
    ),
    (
        ("desde", "tras", "después", "antes", "hasta"),
        {
            "since": "desde",
            "after": r"después\s+de|tras",
            "before": r"antes\s+de",
            "until": "hasta",
        },
        r"el|las?|los|nuestr[oa]|mi",
    ),
)
"""What one of must occur, the prepositions, and the articles, per language.

An article must follow: *after lunch* and *before noon* name no event that is written down."""
_JAPANESE_EVENT = r"(?P<words>[^\s、。]{2,20}?)(?:の(?P<how>前|後)に?|(?P<how2>以来|以降))"
_JAPANESE_EVENT_HOW = MappingProxyType(
    {"前": "before", "後": "after", "以来": "since", "以降": "since"}
)


def named_event(text: str) -> NamedEvent | None:
    """The first event that a text names as the bound of a time, up to the end of its clause."""
    for needed, prepositions, articles in _EVENTS:
        how = "|".join(prepositions.values())
        pattern = (
            rf"\b(?P<how>{how})(?:\s+(?:{articles})\s+|\s+l['’])"
            rf"(?P<words>{_EVENT_WORDS})\s*(?=[,;:.?!？]|\Z)"
        )
        match = next(find_all(pattern, text, *needed), None)
        if match:
            word = match["how"].lower()
            key = next(k for k, p in prepositions.items() if re.fullmatch(p, word))
            return NamedEvent(key, match["words"].strip(), *match.span())
    match = next(find_all(_JAPANESE_EVENT, text, *_JAPANESE_EVENT_HOW), None)
    if match is None:
        return None
    key = _JAPANESE_EVENT_HOW[match["how"] or match["how2"]]
    return NamedEvent(key, match["words"], *match.span())
