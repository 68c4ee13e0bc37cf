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

_RELATIVE: Sequence[tuple[tuple[str, ...], str]] = (
    (  # English
        ("today", "yesterday", "this", "last", "past", "previous"),
        (
            r"\b(?:(?P<when>today|yesterday)"
            r"|(?P<which>this|last|past|previous)\s+(?P<unit>day|week|month|year)"
            r"|(?:in\s+)?(?:the\s+)?(?:last|past)\s+(?P<count>\d{1,3})\s+"
            r"(?P<units>day|week|month|year)s)\b"
        ),
    ),
    (  # German
        ("heute", "gestern", "diese", "letzte", "vorige", "vergangene"),
        (
            r"\b(?:(?P<when>heute|gestern)"
            r"|(?P<which>diese|letzte|vorige|vergangene)[rnms]?\s+(?P<unit>tag|woche|monat|jahr)"
            r"|(?:in\s+den\s+)?(?:letzten|vergangenen)\s+(?P<count>\d{1,3})\s+"
            r"(?P<units>tag|woche|monat|jahr)e?n)\b"
        ),
    ),
    (  # French
        # The German "hier" (here) mostly follows a verb.
        ("aujourd", "hier", "cet", "ce ", "derni", "pass"),
        (
            r"\b(?:(?P<when>aujourd['’]hui|(?<!ist )(?<!sind )(?<!was )hier)"
            r"|(?P<which>cet?(?:te)?)\s+(?P<unit>jour|semaine|mois|année)"
            r"|(?:(?:la|le)\s+|l['’])?(?P<last>jour|semaine|mois|année|an)\s+(?:derni[eè]re?|passée?)"
            r"|(?:(?:ces|les|des)\s+)?(?P<count>\d{1,3})\s+derni[eè]re?s\s+"
            r"(?P<units>jour|semaine|mois|année|an)s?)\b"
        ),
    ),
    (  # Spanish
        ("hoy", "ayer", "este", "esta", "pasad", "últim"),
        (
            r"\b(?:(?P<when>hoy|ayer)"
            r"|(?P<which>est[ea])\s+(?P<unit>día|semana|mes|año)"
            r"|(?:(?:el|la)\s+)?(?:(?P<last>día|semana|mes|año)\s+pasad[oa]"
            r"|últim[oa]\s+(?P<last2>día|semana|mes|año))"
            r"|(?:en\s+)?(?:(?:los|las)\s+)?últim[oa]s\s+(?P<count>\d{1,3})\s+"
            r"(?P<units>día|semana|mes|año)(?:es|s))\b"
        ),
    ),
    (  # Japanese
        ("今", "本日", "昨", "先", "去年", "過去", "この"),
        (
            r"(?P<when>今日|本日|昨日)"
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
_THIS = ("this", "diese", "ce", "est", "今")
_DAYS: Mapping[str, int] = MappingProxyType({"day": 1, "week": 7, "month": 30, "year": 365})
"""Unit -> days in it, for spans such as the last two months."""


def relative_span(text: str, today: date) -> NamedSpan | None:
    """The span of the first relative date of a text, such as `last week`.

    Args:
        text: a question.
        today: the day that it counts from.
    """
    matches = (next(find_all(each, text, *needed), None) for needed, each in _RELATIVE)
    match = min(filter(None, matches), key=re.Match.start, default=None)
    if match is None:
        return None
    parts = {name: each.lower() for name, each in match.groupdict().items() if each}
    if "when" in parts:
        first = today - timedelta(days=parts["when"] in _YESTERDAY)
        after: str | None = (first + timedelta(days=1)).isoformat()
        return NamedSpan(TimeSpan(first.isoformat(), after), *match.span())
    word = next(parts[name] for name in ("unit", "units", "last", "last2") if name in parts)
    unit = _UNIT_WORDS[word]
    if parts.get("which", "").startswith(_THIS):
        first = {
            "day": today,
            "week": today - timedelta(days=today.weekday()),
            "month": today.replace(day=1),
            "year": today.replace(month=1, day=1),
        }[unit]
    else:
        days = _DAYS[unit] * int(parts.get("count", 1))
        first = date.fromordinal(max(1, today.toordinal() - days))
    return NamedSpan(TimeSpan(first.isoformat()), *match.span())


# ------------------------------------------------------------------------------ dates


class _DateWords(NamedTuple):
    """How one language writes dates."""

    months: tuple[str, ...]
    """Their names, as patterns, from January on."""
    prepositions: Mapping[str, str]
    """`in`, `since`, `after`, `before` or `until` -> the words for it, as a pattern."""


_DATES: Sequence[_DateWords] = (
    _DateWords(
        tuple(f"{name}|{name[:3]}\\b\\.?" for name in MONTHS),
        {
            "in": "in|on|of|from|during",
            "since": "since",
            "after": "after",
            "before": "before",
            "until": "until|till|by",
        },
    ),
    _DateWords(
        (
            *("januar|jänner", "februar", "märz", "april", "mai", "juni", "juli", "august"),
            *("september", "oktober", "november", "dezember"),
        ),
        {
            "in": "im|am|vom|in|während",
            "since": "seit|ab",
            "after": "nach",
            "before": "vor",
            "until": "bis",
        },
    ),
    _DateWords(
        (
            *("janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août"),
            *("septembre", "octobre", "novembre", "décembre"),
        ),
        {
            "in": "en|de|le|du|au|pendant",
            "since": "depuis",
            "after": "après",
            "before": "avant",
            "until": "jusqu['’](?:en|au|à)",
        },
    ),
    _DateWords(
        (
            *("enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto"),
            *("sep?tiembre", "octubre", "noviembre", "diciembre"),
        ),
        {
            "in": "en|de|el|del|durante",
            "since": "desde",
            "after": r"después\s+de|tras",
            "before": r"antes\s+de",
            "until": "hasta",
        },
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


def _date_pattern(words: _DateWords) -> str:
    month = "|".join(words.months)
    how = "|".join(words.prepositions.values())
    return (
        rf"\b(?P<how>{how})\s+(?:(?P<iso>{ISO_DAY})"
        rf"|(?P<day>\d{{1,2}})(?:st|nd|rd|th|er|\.)?\s+(?:of\s+|de\s+)?(?P<month>{month})"
        rf"(?:,?\s+(?:del?\s+)?(?P<year>\d{{4}}))?"
        rf"|(?P<month2>{month})\s+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(?P<year2>\d{{4}}))?"
        rf"|(?P<month3>{month})(?:,?\s+(?:del?\s+)?(?P<year3>\d{{4}}))?"
        rf"|(?P<year4>(?:19|20)\d{{2}}))\b"
    )


def dated_span(text: str, today: date) -> NamedSpan | None:
    """The span that the first date with a preposition names, such as `before May 2025`.

    A month without a year is the most recent one of its name.
    """
    found = []
    for words in _DATES:
        needed = (*"0123456789", *(name[:3] for name in words.months))
        match = next(find_all(_date_pattern(words), text, *needed), None)
        days = _days(match, words, today) if match else None
        if match and days:
            word = match["how"].lower()
            how = next(k for k, p in words.prepositions.items() if re.fullmatch(p, word))
            found.append(NamedSpan(_span(how, *days), *match.span()))
    for match in find_all(_JAPANESE_DATE, text, "年", "月"):
        year, month = match["year"], match["month"] or match["month2"]
        days = days_between(
            _year(year, int(month or 1), today),
            int(month) if month else None,
            int(match["day"]) if match["day"] else None,
        )
        if days:
            found.append(
                NamedSpan(_span(_JAPANESE_HOW.get(match["how"], "in"), *days), *match.span())
            )
    found += _quarters(text, today)
    return min(found, key=lambda each: each.begin, default=None)


_QUARTER = (
    r"\b(?:(?:in\s+)?(?:the\s+)?(?P<name>first|second|third|fourth)\s+quarter|Q(?P<number>[1-4]))"
    r"(?:\s+(?:of\s+)?(?P<year>(?:19|20)\d{2}))?\b"
)
_ORDINALS = ("first", "second", "third", "fourth")


def _quarters(text: str, today: date) -> Iterator[NamedSpan]:
    """The quarters of a year that a text names, without a year the most recent one."""
    for match in find_all(_QUARTER, text, "quarter", *(f"q{each}" for each in "1234")):
        name = match["name"]
        number = 1 + _ORDINALS.index(name.lower()) if name else int(match["number"])
        year = _year(match["year"], 3 * number - 2, today)
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


def _year(given: str | None, month: int, today: date) -> int:
    return int(given) if given else today.year - (month > today.month)


def _days(match: re.Match[str], words: _DateWords, today: date) -> tuple[str, str] | None:
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
    year = _year(match["year"] or match["year2"] or match["year3"], month, today)
    return days_between(year, month, int(day) if day else None)
