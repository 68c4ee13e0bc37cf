"""Time in plain words: the span that a question names, in five languages.

`seit März`, `2026年5月`, `after the outage`; `model/dates.py` reads `last week`. A date must follow
a preposition, because a bare number or month may be anything; in Japanese, a calendar character
must follow it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import islice
from types import MappingProxyType

from msgspec import Struct

from vaultsync.indexing.session_context import MONTHS
from vaultsync.model.dates import (
    ISO_DAY,
    NamedSpan,
    TimeSpan,
    day_span,
    days_after,
    days_between,
    find_all,
    next_day,
)
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.number_words import number_of, number_patterns
from vaultsync.model.written_dates import relative_span

# ------------------------------------------------------------------------------ dates


class _DateWords(Struct, frozen=True):
    """How one language writes dates."""

    months: tuple[str, ...]
    """The names of the months, as patterns, starting with January."""
    prepositions: Mapping[str, str]
    """`in`, `since`, `after`, `before` or `until` -> the words for it, as a pattern."""
    upto: str
    """The words between the two dates of a span, as a pattern."""


DATES: Sequence[_DateWords] = (
    _DateWords(
        tuple(f"{name}|{name[:3]}\\b\\.?" for name in MONTHS),
        {
            "in": r"in|on|at(?=\s+the\b)|of|from|during|between",
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
            "in": r"im|am|aus|vom|von|in|während|zwischen|zum(?=\s+\d)",
            "since": "seit|ab",
            "after": "nach",
            "before": "vor",
            "until": r"bis(?:\s+zu[mr]?)?",
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
            "until": r"jusqu['’](?:en|au|à)|d['’]ici(?:\s+(?:à|au))?",
        },
        "à|au|et|jusqu['’](?:en|au|à)",
    ),
    _DateWords(
        (
            *("enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto"),
            *("sep?tiembre", "octubre", "noviembre", "diciembre"),
        ),
        {
            "in": r"en|de|el|del|durante|entre|para(?=\s+el\s+\d)",
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
    r"(?:(?P<day>\d{1,2})日)?(?:(?:から|[-–〜~])(?P<end>\d{1,2})日)?(?P<how>以降|以来|から|より前|以前|まで)?"
)
JAPANESE_HOW = MappingProxyType(
    dict.fromkeys(("以降", "以来", "から"), "since")
    | dict.fromkeys(("より前", "の前", "前"), "before")
    | dict.fromkeys(("以前", "まで"), "until")
)


_ARTICLE = r"(?:the|de[mnr]|le|el)\s+"
_MEASURED = (
    r"(?!(?:(?:\s?[-–—]\s?|\s+(?:to|bis|à|au?)\s+)\d+)?\s?(?:[€$£%]|(?:[ckm]?m|[km]?g|[kmg]b|bits?"
    r"|bytes?|px|pixels?|euros?|dollars?|francs?|characters?|chars|words|tokens|zeichen|wörtern?"
    r"|zeilen|caract[eè]res|mots|palabras|met[er]+s?|mètres?|metros?|lit[er]+s?|litros?"
    r"|watts?|volts?)(?![\w'’])))"
)
"""No unit follows, with which a number is no year: *in 2000 characters*."""


_CLAUSE_END = (
    r"\s*(?=(?:(?:(?-i:ge)\w{3,}[tn]|beschlossen|entschieden|versprochen|passiert|vereinbart)\b\s*)*"
    r"(?:[,;:.?!？]|\Z))"
)
"""The end of a clause; German has participles there: *nach dem Umzug beschlossen*."""


def _date_pattern(words: _DateWords, how: str) -> str:
    """The pattern of a date after a preposition of the kind `how`."""
    month, ending, article = "|".join(words.months), "(?:st|nd|rd|th|er|\\.)?", f"(?:{_ARTICLE})?"
    joint = rf"(?:\s?[-–—]\s?|\s+(?:{words.upto})\s+{article})"
    return (
        # Two days need no preposition: *3-5 March*.
        rf"(?:\b(?P<how>{how})\s+{article}|(?<![\w.,:-])(?=(?:(?:{month})\s+)?\d{{1,2}}{ending}{joint}\d))"
        rf"(?:(?P<iso>{ISO_DAY})"
        r"|(?P<slashed>\d{4}/\d{1,2}/\d{1,2}|\d{1,2}/\d{1,2}/\d{4})(?![\w/]|\.\w)"
        rf"|(?P<day4>\d{{1,2}})\.\s?(?P<month4>\d{{1,2}})\.(?:\s?(?P<year5>(?:19|20)\d{{2}})|(?!\d))"
        rf"|(?:(?P<begin>\d{{1,2}}){ending}{joint})?"
        rf"(?P<day>\d{{1,2}}){ending}\s+(?:of\s+|de\s+)?(?P<month>{month})"
        rf"(?:,?\s+(?:del?\s+)?(?P<year>\d{{4}}))?"
        rf"|(?P<month2>{month})\s+(?P<day2>\d{{1,2}}){ending}(?:{joint}(?P<end>\d{{1,2}}){ending})?(?!\w)"
        rf"(?:,?\s+(?P<year2>\d{{4}}))?"
        # No ending of a file follows: *in mar.txt*.
        rf"|(?P<month3>{month})(?!\.?[^\W\d_])(?:,?\s+(?:del?\s+)?(?P<year3>\d{{4}}))?"
        rf"|(?P<year4>(?:19|20)\d{{2}}){_MEASURED}"
        rf"|(?P<alone>\d{{1,2}})(?:st|nd|rd|th|er|(?P<dot>\.)|(?<=\b[le][el]\s\d)|(?<=\b[le][el]\s\d\d))"
        rf"(?={_CLAUSE_END}|{joint}\d))(?:\b|(?<=\.))"
    )


def dated_span(text: str, today: date, *, is_near: bool = False) -> NamedSpan | None:
    """The span of the first date with a preposition, such as `before May 2025`.

    Args:
        text: a question.
        today: the day of the question.
        is_near: whether a month without a year is the nearest one, not the last one.
    """
    spans = []
    for words in DATES:
        needed = (*"0123456789", *(name[:3] for name in words.months))
        pattern = _date_pattern(words, "|".join(words.prepositions.values()))
        match = next(find_all(pattern, text, *needed), None)
        days = _days(match, words, today, is_near=is_near) if match else None
        if match and days:
            preposition = key_of(words.prepositions, match["how"]) if match["how"] else "in"
            end = match.end()
            if preposition in ("in", "since"):
                days, end = _extend_span(text, days, end, words, today, is_near=is_near)
                preposition = preposition if end == match.end() else "in"
            spans.append(NamedSpan(span_of(preposition, *days), match.start(), end))
    for match in find_all(_JAPANESE_DATE, text, "年", "月"):
        year, month = match["year"], match["month"] or match["month2"]
        days = days_between(
            _year(year, int(month or 1), today, is_near=is_near),
            int(month) if month else None,
            int(match["day"]) if match["day"] else None,
        )
        how = JAPANESE_HOW.get(match["how"], "in")
        if days and match["end"]:
            how, days = "in", _until_day(days, match["end"])
        if days:
            spans.append(NamedSpan(span_of(how, *days), *match.span()))
            break
    spans += islice(_quarters(text, today, is_near=is_near), 1)
    spans += islice(_numbered_weeks(text, today, is_near=is_near), 1)
    return min(spans, key=lambda each: each.begin, default=None)


_UNIT_OF_PERIOD = {
    word: unit
    for unit, words in {
        "week": "week woche semaine semana",
        "month": "month monat monats mois mes",
        "year": "year jahr jahres année l'année l’année an año",
    }.items()
    for word in words.split()
}


def bare_date(text: str, today: date) -> TimeSpan | None:
    """The span of a text that is nothing but a date without a preposition, or a unit of time.

    The unit is the present one: *the first decision of the year*.
    """
    if unit := _UNIT_OF_PERIOD.get(text):
        named = relative_span(f"this {unit}", today)
        return named.span if named else None
    # Behind *en*, *06/05/2026* is a day in May; without a word, it may be one in June.
    for dated in (f"in {text}", f"en {text}")[: 1 if "/" in text else 2]:
        named = dated_span(dated, today)
        if named and named.end == len(dated):
            return named.span
    return None


def is_subject(name: str, question: str) -> bool:
    """Whether a name is who did something, and no time: *What did April decide?*."""
    acts = rf"\b(?:did|does|has|had|hat|hatte)\s+{name}\b(?!['’])"
    return bool(re.search(acts, question, re.IGNORECASE))


def _extend_span(
    text: str, days: tuple[str, str], end: int, words: _DateWords, today: date, *, is_near: bool
) -> tuple[tuple[str, str], int]:
    """Extend a span by a last date, such as `to June`; also returns the end of the match."""
    until = re.compile(rf"\s+{_date_pattern(words, words.upto)}", re.IGNORECASE).match(text, end)
    last = _days(until, words, today, is_near=is_near) if until else None
    if not until or not last:
        return days, end
    first = days[0]
    if until["alone"]:
        last = _day_alone(int(until["alone"]), date.fromisoformat(first), is_near=True) or last
    if first >= last[1]:  # a month without a year, before one with a year
        first = f"{int(last[0][:4]) - (first[4:] > last[0][4:]):04}{first[4:]}"
    return (first, last[1]), until.end()


_ORDINALS = (
    "first|1st|erste[nrs]?|premier|1er|primer|第?[1一](?=四半期)|上",
    "second|2nd|zweite[nrs]?|deuxième|2e|segundo|第?[2二](?=四半期)|下",
    "third|3rd|dritte[nrs]?|troisième|3e|tercer|第?[3三](?=四半期)",
    "fourth|4th|vierte[nrs]?|quatrième|4e|cuarto|第?[4四](?=四半期)",
)
_QUARTER = (
    r"(?<![a-zà-ÿ\d])(?:(?:in|im|the|au|du|en|le|des|del?|el)\s+)*(?:"
    r"(?:(?P<last>last|past|previous|(?:letzte|vergangene|vorige)[mnrs]?|前)"
    r"|(?P<this>this|current|diese[ms]?|laufende[mns]?|ce|este|今)"
    r"|(?P<next>next|(?:nächste|kommende)[mns]?|来)"
    rf"|(?P<name>{'|'.join(_ORDINALS)}|[1-4]\.)|(?=trimestre|semestre))\s*"
    r"(?:quarter|quartals?|trimestre|四半期"
    r"|(?P<half>half[-\s]year|halbjahre?s?|semestre|半期))"
    r"(?:\s+(?:(?P<last2>dernier|passé|pasado|anterior)|(?P<next2>prochain|próximo)))?"
    r"|Q(?P<number>[1-4])|(?-i:H)(?P<half_number>[12])(?=\s+(?:of\s+)?(?:19|20)\d\d))"
    r"(?:\s+(?:of\s+|de\s+)?(?P<year>(?:19|20)\d{2}))?(?![a-zà-ÿ\d])"
)
"""Quarters, and halves of a year."""
_QUARTER_SIGNS = (
    *("quarter", "quartal", "trimestre", "四半期", "half", "halbjahr", "semestre", "半期"),
    *("q1", "q2", "q3", "q4", "h1", "h2"),
)
_TURNS = MappingProxyType({"last": -1, "last2": -1, "this": 0, "next": 1, "next2": 1})


def _quarters(text: str, today: date, *, is_near: bool) -> Iterator[NamedSpan]:
    """The quarters and half-years in a text; without a year, the most recent one."""
    for match in find_all(_QUARTER, text, *_QUARTER_SIGNS):
        months = 6 if match["half"] or match["half_number"] else 3
        turns = [turn for name, turn in _TURNS.items() if match[name]]
        if turns:
            months_on = months * ((today.month - 1) // months + turns[0])
            year, begin = today.year + months_on // 12, months_on % 12 + 1
        elif number := _ordinal(match, 12 // months):
            begin = months * (number - 1) + 1
            year = _year(match["year"], begin, today, is_near=is_near)
        else:
            continue
        first = days_between(year, begin, None)
        last = days_between(year, begin + months - 1, None)
        if first and last:
            yield NamedSpan(TimeSpan(first[0], last[1]), *match.span())


_NUMBERED_WEEK = (
    r"\b(?:(?:in|im)\s+)?(?:(?:the|der|la)\s+)?(?:KW|Kalenderwoche|calendar\s+week|semaine)\s?"
    r"(?P<number>\d{1,2})\b(?:\s+(?:of\s+|de\s+)?(?P<year>(?:19|20)\d{2})\b)?"
)


def _numbered_weeks(text: str, today: date, *, is_near: bool) -> Iterator[NamedSpan]:
    """The calendar weeks (ISO 8601) in a text; without a year, the most recent one."""
    for match in find_all(_NUMBERED_WEEK, text, "kw", "woche", "week", "semaine"):
        year, week, _ = today.isocalendar()
        number = int(match["number"])
        year = int(match["year"] or year - (number > week and not is_near))
        try:
            monday = date.fromisocalendar(year, number, 1)
        except ValueError:  # most years have 52
            continue
        yield NamedSpan(
            TimeSpan(monday.isoformat(), next_day(days_after(monday, 6))), *match.span()
        )


def _ordinal(match: re.Match[str], most: int) -> int:
    """The number of a quarter or half-year; 0 if it has none, or a year has fewer."""
    digits, name = match["number"] or match["half_number"] or "0", match["name"] or ""
    patterns = (re.sub(r"\(\?=.*?\)", "", each) for each in _ORDINALS)
    named = (
        number
        for number, words in enumerate(patterns, 1)
        if name == f"{number}." or re.fullmatch(words, name, re.IGNORECASE)
    )
    number = int(digits) or next(named, 0)
    return number if number <= most else 0


def key_of(words: Mapping[str, str], word: str) -> str:
    """The key of the pattern that matches a word."""
    # The lookahead of a pattern is not in the word.
    patterns = ((key, re.sub(r"\(\?=.*?\)", "", each)) for key, each in words.items())
    return next(key for key, each in patterns if re.fullmatch(each, word, re.IGNORECASE))


def span_of(how: str, first: str, after: str) -> TimeSpan:
    """The span `in`, `since`, `after`, `before` or `until` some days, and the day after them."""
    return {
        "in": TimeSpan(first, after),
        "since": TimeSpan(since=first),
        "after": TimeSpan(since=after),
        "before": TimeSpan(until=first),
        "until": TimeSpan(until=after),
    }[how]


_HALF_YEAR = 6
_BEFORE_DAY = frozenset(
    {"am", "vom", "seit", "ab", "nach", "vor", "bis", "bis zum", "zum", "zwischen"}
)
"""Prepositions after which *3.4.* is a day: only German has such dates without a year."""
_BEFORE_MAY = frozenset({"in", "since", "during", "until", "till", "before", "after"})
"""Prepositions after which *may* is no verb, unless a subject follows: *in may we trust*."""
_AFTER_VERB = lazy_pattern(r"\s+(?:I|you|he|she|it|we|they|one|be|have|not)\b", re.IGNORECASE)


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
    if match["slashed"]:
        # *In*, which `bare_date()` adds, is also German.
        is_english = words is DATES[0] or match["how"].lower() == "in"
        return _slashed_day(match["slashed"], is_english=is_english)
    if match["year4"]:
        return days_between(int(match["year4"]), None, None)
    if match["day4"]:
        if not match["year5"] and match["how"].lower() not in _BEFORE_DAY:
            return None  # a version or a section: *What changed in 2.10.?*
        month = int(match["month4"])
        return days_between(
            _year(match["year5"], month, today, is_near=is_near), month, int(match["day4"])
        )
    if match["alone"]:
        if match["dot"] and match["how"].lower() not in _BEFORE_DAY:
            return None
        return _day_alone(int(match["alone"]), today, is_near=is_near)
    name = match["month"] or match["month2"] or match["month3"]
    if match["month3"] == "may" and (
        match["how"].lower() not in _BEFORE_MAY or _AFTER_VERB.match(match.string, match.end())
    ):
        return None  # the verb
    month = next(
        number
        for number, pattern in enumerate(words.months, 1)
        if re.fullmatch(pattern, name, re.IGNORECASE)
    )
    day = match["begin"] or match["day"] or match["day2"]
    year = _year(match["year"] or match["year2"] or match["year3"], month, today, is_near=is_near)
    days = days_between(year, month, int(day) if day else None)
    end = match["day"] if match["begin"] else match["end"]
    return _until_day(days, end) if days and end else days


def _slashed_day(written: str, *, is_english: bool) -> tuple[str, str] | None:
    """The day of *2026/06/15*, *15/06/2026* or *6/15/2026*.

    None in English if it may be two days, such as *06/05/2026*: there, both orders are common.
    """
    first, second, third = map(int, written.split("/"))
    if written.index("/") == len("2026"):
        return days_between(first, second, third)
    if second > len(MONTHS):
        return days_between(third, first, second)
    if is_english and first != second and first <= len(MONTHS):
        return None
    return days_between(third, second, first)


def _day_alone(day: int, today: date, *, is_near: bool) -> tuple[str, str] | None:
    """The last such day of a month until today, or the first from today: *on the 15th*."""
    months = (today.year * 12 + today.month - 1 + (n if is_near else -n) for n in range(3))
    found = filter(None, (days_between(n // 12, n % 12 + 1, day) for n in months))
    now = today.isoformat()
    return next((each for each in found if each[0] == now or (each[0] > now) == is_near), None)


def _until_day(days: tuple[str, str], end: str) -> tuple[str, str] | None:
    """The days from the first of `days` until another one of its month: *from 3 to 5 March*."""
    first = date.fromisoformat(days[0])
    last = days_between(first.year, first.month, int(end))
    return (days[0], last[1]) if last and last[0] > days[0] else None


_BOUND = (
    r"(?:(?P<since>since|seit|depuis|desde)|(?P<until>until|till|by|bis(?:\s+zu[mr]?)?|hasta"
    r"|jusqu['’]à)|(?P<before>before|avant|antes\s+de))\s+(?:(?:the|de[mnr]|l[ae]|el)\s+)?\Z"
)
_JAPANESE_BOUND = r"(?P<since>以降|以来|から)|(?P<until>まで)|(?P<before>より?前)"
"""What bounds a relative date: *since yesterday*, *昨日から*."""


def bounded(named: NamedSpan, question: str) -> NamedSpan:
    """A relative date as an open span, if a word beside it bounds it: *since yesterday*."""
    span, before = named.span, question[: named.begin]
    bound = re.search(_BOUND, before, re.IGNORECASE) if before else None
    after = None if bound else re.compile(_JAPANESE_BOUND).match(question, named.end)
    match bound or after:
        case None:
            return named
        case found if found["since"]:
            span = TimeSpan(since=span.since)
        case found if found["until"]:
            span = TimeSpan(until=span.until)
        case _:
            span = TimeSpan(until=span.since)
    return NamedSpan(
        span, bound.start() if bound else named.begin, after.end() if after else named.end
    )


# ----------------------------------------------------------------------------- events


class NamedEvent(Struct, frozen=True):
    """A time given by an event, such as `after the outage`."""

    how: str
    """`since`, `after`, `before` or `until`; `on` with a unit only."""
    words: str
    """The words of the event, for a search."""
    begin: int
    end: int
    unit: str = ""
    """`day` or `week`, if the time is one near the event: *the day after the launch*."""
    count: int = 0
    """The number of units between, if it is named: *two days after the launch*."""

    def span(self, day: str) -> TimeSpan:
        """The span, if the event happened on `day`, an ISO date.

        The day itself counts as after the event: most of what is written about an event on its
        day is written when it is over.
        """
        if self.unit:
            return self._near(date.fromisoformat(day))
        if self.how == "until":
            return TimeSpan(until=next_day(date.fromisoformat(day)))
        return TimeSpan(until=day) if self.how == "before" else TimeSpan(since=day)

    def _near(self, day: date) -> TimeSpan:
        """The day or week at, before or after an event, or the given number of units from it."""
        length = 7 if self.unit == "week" else 1
        sign = -1 if self.how == "before" else 1
        if self.how == "on":
            first, days = day - timedelta(day.weekday() if length > 1 else 0), length
        elif self.count:
            first = day + timedelta(sign * self.count * length - length // 2)
            days = length
        else:
            first, days = day + timedelta(-length if sign < 0 else 1), length
        return TimeSpan(first.isoformat(), (first + timedelta(days)).isoformat())

    def bounded(self, span: TimeSpan) -> TimeSpan:
        """The span, if only a span is known in which the event happened."""
        is_end = self.how in ("before", "until")
        return TimeSpan(until=span.until) if is_end else TimeSpan(since=span.since)


_EVENT_WORDS = r"(?:[^\s,;:.?!？]++\s*+){1,8}?"
"""Whole words: to try each part of a long one, such as a hash, would take hours."""
_EVENTS: Sequence[tuple[tuple[str, ...], Mapping[str, str], str]] = (
    (
        ("since", "after", "before", "until"),
        {"since": "ever since|since", "after": "after", "before": "before", "until": "until"},
        r"the|our|my|his|her|their|that",
    ),
    (
        ("seit", "nach", "vor", "bis"),
        {"since": "seit", "after": "nach", "before": "vor", "until": r"bis\s+zu[mr]?"},
        r"de[mnr]|unsere[mnr]?|meine[mr]",
    ),
    (
        ("depuis", "après", "avant", "jusqu"),
        {"since": "depuis", "after": "après", "before": "avant", "until": r"jusqu['’](?:à|aux?)"},
        r"l[ae]s?|notre|mon|ma",
    ),
    (
        ("desde", "tras", "después", "antes", "hasta"),
        {
            "since": "desde",
            "after": r"después\s+del?|tras",
            "before": r"antes\s+del?",
            "until": "hasta",
        },
        r"el|las?|los|nuestr[oa]|mi",
    ),
)
"""Per language: words of which one must occur, the prepositions, and the articles.

An article must follow the preposition: *after lunch* and *before noon* are not stored events."""
_JOINED_ARTICLE = r"(?:(?<=\bdel)|(?<=\bzum)|(?<=\bzur)|(?<=['’]au)|(?<=['’]aux))"
"""Behind a preposition that is one word with it: *antes del lanzamiento*, *bis zum Umzug*."""
_COUNTS = tuple(rf"\d{{1,2}}|{each}" for each in number_patterns())
_NEAR_EVENTS: Sequence[tuple[tuple[str, ...], str, str]] = (
    (
        ("day", "week", "during"),
        (
            rf"\b(?:(?:on|in|during)\s+)?(?:(?:the\s+)?(?:(?P<count>{_COUNTS[0]})\s+)?"
            r"(?:(?P<day>days?)|(?P<week>weeks?))\s+(?:(?P<before>before|preceding)|(?P<on>of)|after"
            r"|following)|(?P<during>during))\s+"
        ),
        r"(?:the|our|my|his|her|their|that)\s+",
    ),
    (
        ("tag", "woche", "während"),
        (
            rf"\b(?:(?:am|an\s+dem|in\s+der)\s+)?(?:(?:(?P<count>{_COUNTS[1]})\s+)?"
            r"(?:(?P<day>tage?n?)|(?P<week>wochen?))\s+(?:(?P<before>vor)\s+|nach\s+|(?P<on>(?=de[rs])))"
            r"|(?P<during>während)\s+)"
        ),
        r"(?:de[mnrs]|unsere[mnrs]?|meine[mnrs]?)\s+",
    ),
    (
        ("jour", "semaine", "lendemain", "veille", "pendant"),
        (
            rf"\b(?:(?P<next>le\s+lendemain\s+d)|(?P<eve>la\s+veille\s+d)|(?P<during>pendant\s+)"
            rf"|(?:l[ae]\s+)?(?:(?P<count>{_COUNTS[2]})\s+)?(?:(?P<day>jours?)|(?P<week>semaines?))\s+"
            r"(?:(?P<before>avant|précédant)\s+|(?:après|suivant)\s+|(?P<on>d)))"
        ),
        r"(?:u\s+|e\s+(?:la\s+|l['’]|notre\s+)|es\s+|l[ae]s?\s+|l['’]|notre\s+)",
    ),
    (
        ("día", "semana", "víspera", "durante"),
        (
            rf"\b(?:(?P<eve>la\s+víspera\s+de)|(?P<during>durante)"
            rf"|(?:(?:el|la)\s+)?(?:(?P<count>{_COUNTS[3]})\s+)?(?:(?P<day>días?)|(?P<week>semanas?))\s+"
            r"(?:(?P<before>antes\s+de|previ[oa]\s+a)|después\s+de|siguiente\s+a|tras|(?P<on>de)))"
        ),
        r"(?:l\s+|\s+(?:las?|los|el|nuestr[oa]|mi)\s+)",
    ),
)
"""Per language: words of which one must occur, a time near an event, and what must be before the
event unless a number tells that it is one: *the day after the launch*, *two days after launch*."""
_UNITS = ("day", "week", "month", "year", "tag", "woche", "monat", "jahr", "jour", "semaine")
"""*The first day of the week* is no event, nor is *during the month*."""
_HOW_MANY = r"\b(?:how\s+many|wie\s?viele|combien\s+de|cuánt[oa]s)\s+\Z"
_JAPANESE_NEAR_EVENT = (
    r"(?P<words>[^\s、。]{2,20}?)の?(?:翌(?P<next>日|週)|前(?P<before>日(?!本)|週)|当(?P<on>日))"
)
_JAPANESE_EVENT = r"(?P<words>[^\s、。]{2,20}?)(?:の(?P<how>前|後)に?|(?P<how2>以来|以降))"
_JAPANESE_EVENT_HOW = MappingProxyType(
    {"前": "before", "後": "after", "以来": "since", "以降": "since"}
)


def named_event(text: str) -> NamedEvent | None:
    """The first event in a text that limits a time, up to the end of its clause."""
    if near := _near_event(text):
        return near
    for needed, prepositions, articles in _EVENTS:
        how = "|".join(prepositions.values())
        pattern = (
            rf"\b(?P<how>{how})(?:\s+(?:{articles})\s+|\s+l['’]|{_JOINED_ARTICLE}\s+)"
            rf"(?P<words>{_EVENT_WORDS}){_CLAUSE_END}"
        )
        match = next(find_all(pattern, text, *needed), None)
        if match:
            key = key_of(prepositions, match["how"])
            return NamedEvent(key, match["words"].strip(), *match.span())
    match = next(find_all(_JAPANESE_EVENT, text, *_JAPANESE_EVENT_HOW), None)
    if match is None:
        return None
    key = _JAPANESE_EVENT_HOW[match["how"] or match["how2"]]
    return NamedEvent(key, match["words"], *match.span())


def _near_event(text: str) -> NamedEvent | None:
    """A time near the first event in a text: *the day after the launch*."""
    for needed, pattern, article in _NEAR_EVENTS:
        either = rf"(?(on){article}|(?(count)(?:{article}|\s*)|{article}))"
        whole = rf"{pattern}{either}(?P<words>{_EVENT_WORDS}){_CLAUSE_END}"
        match = next(find_all(whole, text, *needed), None)
        is_counted = match and re.search(_HOW_MANY, text[: match.start()], re.IGNORECASE)
        if match and not is_counted and not match["words"].lower().startswith(_UNITS):
            named = {key for key, value in match.groupdict().items() if value is not None}
            how = "before" if named & {"before", "eve"} else "after"
            how = "on" if named & {"on", "during"} else how
            unit = "week" if "week" in named else "day"
            count = number_of(match["count"].lower()) if "count" in named else 0
            return NamedEvent(how, match["words"].strip(), *match.span(), unit, count)
    match = next(find_all(_JAPANESE_NEAR_EVENT, text, "翌", "前日", "前週", "当日"), None)
    if match is None:
        return None
    how = "on" if match["on"] else "before" if match["before"] else "after"
    is_week = "週" in (match["next"] or match["before"] or "")
    return NamedEvent(how, match["words"], *match.span(), "week" if is_week else "day")
