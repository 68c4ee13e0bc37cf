"""Dates as people write them: a day, a month, a moment, or `last week`.

Relative dates are read in five languages: `last week`, `vor drei Tagen`, `el mes pasado`, `昨日`.
Loaded for questions that have a date.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from types import MappingProxyType

from msgspec import Struct

from vaultsync.errors import InvalidFieldError
from vaultsync.model.canonical import clean_time
from vaultsync.model.dates import (
    DAY_LENGTH,
    RELATIVE_SIGNS,
    WHAT_IS_A_DATE,
    NamedSpan,
    TimeSpan,
    day_span,
    days_after,
    find_all,
    next_day,
    year_span,
)
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.number_words import JAPANESE_NUMBER, number_of, number_patterns

_NUMBERS = tuple(rf"\d{{1,3}}|{each}" for each in number_patterns())
_SOME = r"(?:a\s+)?few|(?:a\s+)?couple\s+of"
_RELATIVE: Sequence[str] = (
    (  # English
        r"\b(?:(?P<when>today|yesterday|tomorrow|tonight|this\s+(?:morning|afternoon|evening)"
        r"|last\s+night)"
        rf"|(?P<over>(?:more\s+than|over)\s+)?(?P<ago>{_NUMBERS[0]}|{_SOME})\s+"
        r"(?P<units2>day|week|month|year)s?\s+ago"
        rf"|older\s+than\s+(?P<older>{_NUMBERS[0]})\s+(?P<units4>day|week|month|year)s?"
        r"|(?:(?:in\s+)?the\s+)?"
        # The last day of school, or to pay, may be any.
        r"(?P<which>this|last(?!\s+(?:day\s+to|\w+\s+of)\b)|past|previous|next)"
        r"\s+(?P<unit>day|week|month|year)"
        rf"|(?:in\s+)?(?:the\s+)?(?:last|past)\s+(?P<count>{_NUMBERS[0]}|{_SOME})\s+"
        r"(?P<units>day|week|month|year)s"
        rf"|(?:(?:in|within|over)\s+)?(?:the\s+)?(?:next|coming)\s+"
        rf"(?P<coming>{_NUMBERS[0]}|{_SOME})\s+(?P<units3>day|week|month|year)s)\b"
    ),
    (  # German
        # In lower case, the noun is an adverb: "am Morgen" is every morning.
        r"\b(?:(?P<when>heute|gestern|\Amorgen"
        r"|(?-i:(?<!heute )(?<!gestern )(?<!am )(?<!guten )(?<!jeden )morgen))"
        rf"|vor\s+(?P<over>(?:mehr\s+als|über)\s+)?(?P<ago>{_NUMBERS[1]}|paar)\s+"
        r"(?P<units2>tag|woche|monat|jahr)(?:e?n)?"
        rf"|älter\s+als\s+(?P<older>{_NUMBERS[1]})\s+(?P<units4>tag|woche|monat|jahr)(?:e?n?)"
        r"|(?P<which>diese|letzte|vorige|vergangene|nächste|kommende)[rnms]?\s+"
        r"(?P<unit>tag|woche|monat|jahr)(?:e?s)?"
        rf"|(?:in\s+den\s+)?(?:letzten|vergangenen)\s+(?P<count>{_NUMBERS[1]}|paar)\s+"
        r"(?P<units>tag|woche|monat|jahr)e?n"
        rf"|(?:in\s+den\s+)?(?:nächsten|kommenden)\s+(?P<coming>{_NUMBERS[1]}|paar)\s+"
        r"(?P<units3>tag|woche|monat|jahr)e?n)\b"
    ),
    (  # French
        r"\b(?:(?P<when>aujourd['’]hui|hier|demain)"
        rf"|il\s+y\s+a\s+(?P<over>plus\s+d['’]?e?\s*)?(?P<ago>{_NUMBERS[2]})\s+"
        r"(?P<units2>jour|semaine|mois|année|an)s?"
        r"|(?P<which>cet?(?:te)?)\s+(?P<unit>jour|semaine|mois|année)"
        r"|(?:(?:la|le)\s+|l['’])?(?P<next>jour|semaine|mois|année|an)\s+prochaine?"
        r"|(?:(?:la|le)\s+|l['’])?(?P<last>jour|semaine|mois|année|an)\s+(?:derni[eè]re?|passée?)"
        rf"|(?:(?:ces|les|des)\s+)?(?P<count>{_NUMBERS[2]})\s+derni[eè]re?s\s+"
        r"(?P<units>jour|semaine|mois|année|an)s?"
        rf"|(?:dans\s+)?(?:les\s+)?(?P<coming>{_NUMBERS[2]})\s+prochaine?s\s+"
        r"(?P<units3>jour|semaine|mois|année|an)s?)\b"
    ),
    (  # Spanish
        r"\b(?:(?P<when>hoy|ayer|esta\s+(?:mañana|tarde|noche)"
        r"|(?<!la )(?<!una )(?<!cada )(?<!esta )(?<!pasado )(?<!de )mañana)"
        rf"|hace\s+(?P<over>más\s+de\s+)?(?P<ago>{_NUMBERS[3]})\s+"
        r"(?P<units2>día|semana|mes|año)(?:es|s)?"
        r"|(?P<which>est[ea])\s+(?P<unit>día|semana|mes|año)"
        r"|(?:(?:el|la)\s+)?(?:(?P<next>día|semana|mes|año)\s+que\s+viene"
        r"|próxim[oa]\s+(?P<next2>día|semana|mes|año))"
        r"|(?:(?:el|la)\s+)?(?:(?P<last>día|semana|mes|año)\s+pasad[oa]"
        r"|últim[oa]\s+(?P<last2>día|semana|mes|año))"
        rf"|(?:en\s+)?(?:(?:los|las)\s+)?últim[oa]s\s+(?P<count>{_NUMBERS[3]})\s+"
        r"(?P<units>día|semana|mes|año)(?:es|s)"
        rf"|(?:en\s+)?(?:(?:los|las)\s+)?próxim[oa]s\s+(?P<coming>{_NUMBERS[3]})\s+"
        r"(?P<units3>día|semana|mes|año)(?:es|s))\b"
    ),
    (  # Japanese
        r"(?P<when>今日|本日|昨日|明日)"
        rf"|(?P<ago>\d{{1,3}}|{JAPANESE_NUMBER})\s*(?P<units2>日|週|か月|ヶ月|年)間?(?P<over>以上)?前"
        r"|来(?P<next>週|月|年)"
        r"|(?P<which>今)(?P<unit>週|月|年)|(?:先(?P<last>週|月)|[去昨](?P<last2>年))"
        rf"|(?:この|過去)\s*(?P<count>\d{{1,3}}|{JAPANESE_NUMBER})\s*(?P<units>日|週|か月|ヶ月|年)間?"
        rf"|(?:今後|これから)の?\s*(?P<coming>\d{{1,3}}|{JAPANESE_NUMBER})\s*"
        r"(?P<units3>日|週|か月|ヶ月|年)間?"
    ),
)
"""The pattern of relative dates, per language of `RELATIVE_SIGNS`."""
_IN_GERMAN = lazy_pattern(
    r"\b(?:auf|bei|das|de[mn]|die|ein\w*|für|gelten|gibt|gilt|hat|haben|ich|ist|kann|kein\w*|man"
    r"|mit|nicht|sind|und|wann|war|warum|was|we[mnr]|welche\w*|wie|wir|wo)\b",
    re.IGNORECASE,
)
"""Words beside which *hier* is German (here), and not French (yesterday)."""
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
_UP_TO_NOW = lazy_pattern(r"\bthe\s+last\b|\bpast\b|últim", re.IGNORECASE)
_CALENDAR_UNITS = frozenset({"month", "year"})
_YESTERDAY = ("yesterday", "gestern", "hier", "ayer", "昨日", "last")
_TOMORROW = ("tomorrow", "morgen", "demain", "mañana", "明日")
_THIS = ("this", "diese", "ce", "est", "今")
_NEXT = ("next", "nächste", "kommende")
_WEEKDAYS = (
    *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    *("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag"),
    *("lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"),
    *("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"),
    *("月曜日", "火曜日", "水曜日", "木曜日", "金曜日", "土曜日", "日曜日"),
)
_DAYS: Mapping[str, int] = MappingProxyType({"day": 1, "week": 7, "month": 30, "year": 365})
"""Unit -> days in it, for spans such as the last two months."""


class _RelativeDate(Struct, frozen=True):
    """A relative date of a text, and which part of the text it is."""

    unit: str
    """`day`, `week`, `month` or `year`."""
    turn: int
    """-1 for the one before the present one, 0 for the present one, 1 for the next."""
    begin: int
    end: int
    ago: int = 0
    """How many units ago it is; 0 for none."""
    is_older: bool = False
    """Whether it is all the time before that: *more than a week ago*."""
    length: int = 0
    """How many units it lasts up to now; 0 for none."""
    coming: int = 0
    """How many units it lasts from now; 0 for none."""
    is_named_day: bool = False
    """Whether it is one word, such as `yesterday`."""
    is_up_to_now: bool = False
    """Whether it is up to now, as *the last year* is, but not *last year*."""


def _relative_date(text: str) -> _RelativeDate | None:
    matches = (
        next(find_all(pattern, text, *signs), None)
        for pattern, signs in zip(_RELATIVE, RELATIVE_SIGNS, strict=True)
    )
    dates = (x for x in matches if x and not (x[0].lower() == "hier" and _IN_GERMAN.search(text)))
    match = min(dates, key=re.Match.start, default=None)
    if match is None:
        return None
    parts = {name: each.lower() for name, each in match.groupdict().items() if each}
    if "when" in parts:
        when = parts["when"]
        turn = when.startswith(_TOMORROW) - when.startswith(_YESTERDAY)
        return _RelativeDate("day", turn, *match.span(), is_named_day=True)
    which = parts.get("which", "")
    is_next = which.startswith(_NEXT) or "next" in parts or "next2" in parts
    return _RelativeDate(
        _UNIT_WORDS[next(parts[name] for name in _UNIT_GROUPS if name in parts)],
        1 if is_next else 0 if which.startswith(_THIS) else -1,
        *match.span(),
        ago=number_of(ago) if (ago := parts.get("ago") or parts.get("older")) else 0,
        is_older="over" in parts or "older" in parts,
        length=number_of(parts["count"]) if "count" in parts else 0,
        coming=number_of(parts["coming"]) if "coming" in parts else 0,
        is_up_to_now=bool(_UP_TO_NOW.search(match[0])),
    )


def relative_span(text: str, today: date, *, is_near: bool = False) -> NamedSpan | None:
    """The span of the first relative date of a text, such as `last week`, as of `today`.

    With `is_near`, what is to come counts, too, so that this week ends on Sunday.
    """
    found = _relative_date(text)
    if found is None:
        return None
    days = _DAYS[found.unit]
    if found.coming:
        last = days_after(today, days * found.coming)
        span = TimeSpan(today.isoformat(), next_day(last))
    elif found.is_older:
        span = TimeSpan(until=days_after(today, -days * found.ago).isoformat())
    elif found.ago:
        # What was two weeks ago was not fourteen days ago exactly.
        day, around = days_after(today, -days * found.ago), days // 2
        span = TimeSpan(days_after(day, -around).isoformat(), next_day(days_after(day, around)))
    elif found.turn > 0 or found.is_named_day or _is_calendar(found):
        span = TimeSpan(*_calendar_days(found, today))
    elif found.turn == 0:
        first, after = _calendar_days(found, today)
        span = TimeSpan(first, after if is_near else None)
    else:
        span = TimeSpan(days_after(today, -days * (found.length or 1)).isoformat())
    return NamedSpan(span, found.begin, found.end)


def _is_calendar(found: _RelativeDate) -> bool:
    """Whether it is the month or year before the present one: last week may be noted later."""
    is_last = found.turn < 0 and not (found.length or found.is_up_to_now)
    return is_last and found.unit in _CALENDAR_UNITS


def _calendar_days(found: _RelativeDate, today: date) -> tuple[str, str]:
    """The first day of a day, week, month or year, and the day after its last."""
    first = _first_of(found.unit, today)
    if found.turn:
        beside = _LONGEST[found.unit] if found.turn > 0 else -1
        first = _first_of(found.unit, days_after(first, beside))
    return first.isoformat(), _first_of(
        found.unit, days_after(first, _LONGEST[found.unit])
    ).isoformat()


_UNIT_GROUPS = ("unit", "units", "units2", "units3", "units4", "last", "last2", "next", "next2")
_LONGEST: Mapping[str, int] = MappingProxyType({"day": 1, "week": 7, "month": 31, "year": 366})
"""Unit -> days after which another one has begun."""


def time_span(since: str | None, until: str | None, *, today: date) -> TimeSpan:
    """The span between two dates or moments.

    The last day, week, month or year is included; a last moment is not.

    Raises:
        InvalidFieldError: one of them is not a date.
    """
    return TimeSpan(
        None if since is None else date_bounds("since", since, today=today)[0],
        None if until is None else date_bounds("until", until, today=today)[1],
    )


def date_bounds(name: str, text: str, *, today: date) -> tuple[str, str]:
    """Where a day, week, month or year begins, and the next one; for a moment, it twice.

    Args:
        name: what the text is given for; an error names it.
        text: such as `2026-02-14`, `2026-02`, `2026`, `2026-02-14T13:45:00Z`, `last week`, `7d`
            (seven days ago; `w`, `m` and `y` stand for weeks, months and years) or `monday`,
            the latest one.
        today: the day that relative dates count from.

    Raises:
        InvalidFieldError: it is not a date.
    """
    word = text.strip()
    if len(word) > DAY_LENGTH and day_span(word[:DAY_LENGTH]):
        moment = clean_time(name, word)
        return moment, moment
    days = day_span(word) or year_span(word) or _short(word, today) or relative_days(word, today)
    if days is None:
        raise InvalidFieldError(name, text[:80], WHAT_IS_A_DATE)
    return days


def _short(text: str, today: date) -> tuple[str, str] | None:
    """The day that `7d` or `monday` names, and the next; None for others."""
    word = text.lower()
    if match := re.fullmatch("([0-9]{1,3})([dwmy])", word):
        ago = int(match[1]) * next(x for unit, x in _DAYS.items() if unit[0] == match[2])
    elif word in _WEEKDAYS:
        ago = (today.weekday() - _WEEKDAYS.index(word)) % 7
    else:
        return None
    return days_after(today, -ago).isoformat(), next_day(days_after(today, -ago))


def relative_days(text: str, today: date) -> tuple[str, str] | None:
    """The first day that a relative date names, and the day after its last; None for others.

    Unlike `relative_span()` it is exact: last week is the one before this one, from Monday to
    Sunday, and two weeks ago is one day. Words may be joined by hyphens.
    """
    text = text.strip().replace("-", " ")
    found = _relative_date(text)
    if found is None or found.is_older or (found.begin, found.end) != (0, len(text)):
        return None
    if found.coming:
        return today.isoformat(), next_day(days_after(today, _DAYS[found.unit] * found.coming))
    first = days_after(today, -_DAYS[found.unit] * (found.ago or found.length))
    if found.ago:
        return first.isoformat(), next_day(first)
    if found.length:
        return first.isoformat(), next_day(today)
    return _calendar_days(found, today)


def _first_of(unit: str, day: date) -> date:
    return {
        "day": day,
        "week": day - timedelta(days=min(day.weekday(), day.toordinal() - 1)),
        "month": day.replace(day=1),
        "year": day.replace(month=1, day=1),
    }[unit]
