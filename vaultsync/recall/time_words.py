"""Time in plain words: the span that a question names, in five languages.

`seit März`, `2026年5月`, `after the outage`; `model/dates.py` reads `last week`. A date must follow
a preposition, because a bare number or month may be anything; in Japanese, a calendar character
must follow it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import islice
from types import MappingProxyType

from msgspec import Struct

from vaultsync.indexing.session_context import MONTHS
from vaultsync.model.dates import (
    ISO_DAY,
    NamedSpan,
    TimeSpan,
    day_span,
    days_between,
    find_all,
    next_day,
)

# ------------------------------------------------------------------------------ dates


class _DateWords(Struct, frozen=True):
    """How one language writes dates."""

    months: tuple[str, ...]
    """The names of the months, as patterns, starting with January."""
    prepositions: Mapping[str, str]
    """`in`, `since`, `after`, `before` or `until` -> the words for it, as a pattern."""
    upto: str
    """The words between the two dates of a span, as a pattern."""


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
    """The pattern of a date after a preposition of the kind `how`."""
    month = "|".join(words.months)
    return (
        rf"\b(?P<how>{how})\s+(?:(?P<iso>{ISO_DAY})"
        rf"|(?P<day4>\d{{1,2}})\.\s?(?P<month4>\d{{1,2}})\.\s?(?P<year5>(?:19|20)\d{{2}})"
        rf"|(?P<day>\d{{1,2}})(?:st|nd|rd|th|er|\.)?\s+(?:of\s+|de\s+)?(?P<month>{month})"
        rf"(?:,?\s+(?:del?\s+)?(?P<year>\d{{4}}))?"
        rf"|(?P<month2>{month})\s+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(?P<year2>\d{{4}}))?"
        rf"|(?P<month3>{month})(?:,?\s+(?:del?\s+)?(?P<year3>\d{{4}}))?"
        rf"|(?P<year4>(?:19|20)\d{{2}}))\b"
    )


def dated_span(text: str, today: date, *, is_near: bool = False) -> NamedSpan | None:
    """The span of the first date with a preposition, such as `before May 2025`.

    Args:
        text: a question.
        today: the day of the question.
        is_near: whether a month without a year is the nearest one, not the last one.
    """
    spans = []
    for words in _DATES:
        needed = (*"0123456789", *(name[:3] for name in words.months))
        pattern = _date_pattern(words, "|".join(words.prepositions.values()))
        match = next(find_all(pattern, text, *needed), None)
        days = _days(match, words, today, is_near=is_near) if match else None
        if match and days:
            word = match["how"].lower()
            preposition = next(k for k, p in words.prepositions.items() if re.fullmatch(p, word))
            end = match.end()
            if preposition in ("in", "since"):
                days, end = _extend_span(text, days, end, words, today, is_near=is_near)
                preposition = preposition if end == match.end() else "in"
            spans.append(NamedSpan(_span(preposition, *days), match.start(), end))
    for match in find_all(_JAPANESE_DATE, text, "年", "月"):
        year, month = match["year"], match["month"] or match["month2"]
        days = days_between(
            _year(year, int(month or 1), today, is_near=is_near),
            int(month) if month else None,
            int(match["day"]) if match["day"] else None,
        )
        if days:
            spans.append(
                NamedSpan(_span(_JAPANESE_HOW.get(match["how"], "in"), *days), *match.span())
            )
            break
    spans += islice(_quarters(text, today, is_near=is_near), 1)
    return min(spans, key=lambda each: each.begin, default=None)


def _extend_span(
    text: str, days: tuple[str, str], end: int, words: _DateWords, today: date, *, is_near: bool
) -> tuple[tuple[str, str], int]:
    """Extend a span by a last date, such as `to June`; also returns the end of the match."""
    until = re.compile(rf"\s+{_date_pattern(words, words.upto)}", re.IGNORECASE).match(text, end)
    last = _days(until, words, today, is_near=is_near) if until else None
    if not until or not last:
        return days, end
    first = days[0]
    if first >= last[1]:  # a month without a year, before one with a year
        first = f"{int(last[0][:4]) - (first[4:] > last[0][4:]):04}{first[4:]}"
    return (first, last[1]), until.end()


_QUARTER = (
    r"\b(?:(?:in\s+)?(?:the\s+)?(?P<name>first|second|third|fourth)\s+quarter|Q(?P<number>[1-4]))"
    r"(?:\s+(?:of\s+)?(?P<year>(?:19|20)\d{2}))?\b"
)
_ORDINALS = ("first", "second", "third", "fourth")


def _quarters(text: str, today: date, *, is_near: bool) -> Iterator[NamedSpan]:
    """The quarters in a text; without a year, the most recent one."""
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


def _year(digits: str | None, month: int, today: date, *, is_near: bool) -> int:
    if digits:
        return int(digits)
    if is_near:
        return today.year + (month - today.month < -_HALF_YEAR) - (month - today.month > _HALF_YEAR)
    return today.year - (month > today.month)


def _days(
    match: re.Match[str], words: _DateWords, today: date, *, is_near: bool
) -> tuple[str, str] | None:
    """The first day of a date, and the day after its last; None if it is not a date."""
    if match["iso"]:
        return day_span(match["iso"])
    if match["year4"]:
        return days_between(int(match["year4"]), None, None)
    if match["day4"]:
        return days_between(int(match["year5"]), int(match["month4"]), int(match["day4"]))
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


class NamedEvent(Struct, frozen=True):
    """A time given by an event, such as `after the outage`."""

    how: str
    """`since`, `after`, `before` or `until`."""
    words: str
    """The words of the event, for a search."""
    begin: int
    end: int

    def span(self, day: str) -> TimeSpan:
        """The span, if the event happened on `day`, an ISO date.

        The day itself counts as after the event: most of what is written about an event on its
        day is written when it is over.
        """
        if self.how == "until":
            return TimeSpan(until=next_day(date.fromisoformat(day)))
        return TimeSpan(until=day) if self.how == "before" else TimeSpan(since=day)

    def bounded(self, span: TimeSpan) -> TimeSpan:
        """The span, if only a span is known in which the event happened."""
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
"""Per language: words of which one must occur, the prepositions, and the articles.

An article must follow the preposition: *after lunch* and *before noon* are not stored events."""
_JAPANESE_EVENT = r"(?P<words>[^\s、。]{2,20}?)(?:の(?P<how>前|後)に?|(?P<how2>以来|以降))"
_JAPANESE_EVENT_HOW = MappingProxyType(
    {"前": "before", "後": "after", "以来": "since", "以降": "since"}
)


def named_event(text: str) -> NamedEvent | None:
    """The first event in a text that limits a time, up to the end of its clause."""
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
