"""Parse a question: its filters, phrases, search terms and hints.

A *filter* (`type:decision`, `tag:ops`, `tier:critical`, `since:2026-03`) excludes facts. A
*hint* in plain words (decisions, last week, in May) only ranks facts higher: what happened
last week may have been written down today.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from types import MappingProxyType
from typing import NamedTuple

from vaultsync.errors import InvalidFieldError
from vaultsync.indexing.session_context import MONTHS
from vaultsync.model.canonical import check_type
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.model.hiding import FORGOTTEN, RETIRED_STATUSES, SUPERSEDED
from vaultsync.model.schema import LOWEST_PRIORITY, TIERS, TYPES
from vaultsync.model.scope import check_scope
from vaultsync.model.time_span import ISO_DAY, TimeSpan, day_span, days_between, time_span
from vaultsync.recall.recall_request import RecallRequest


class ParsedQuery(NamedTuple):
    """What a question asks for."""

    text_without_filters: str
    """What a model reads."""
    words: str
    """What keyword search looks up: also without request phrases and relative dates."""
    phrases: tuple[str, ...] = ()
    """What stood in quotes; each must occur."""
    types: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    tiers: frozenset[str] = frozenset()
    span: TimeSpan = TimeSpan()
    """Given as filters, like types, tags and tiers."""
    hinted_types: frozenset[str] = frozenset()
    hinted_tiers: frozenset[str] = frozenset()
    hinted_span: TimeSpan | None = None
    """Hinted at in plain words, like types and tiers."""

    @property
    def has_hints(self) -> bool:
        """Whether there is anything to rank higher."""
        return bool(self.hinted_types or self.hinted_tiers or self.hinted_span)

    def matches_hints(self, fact: Fact) -> bool:
        """Whether a fact matches all hints; True when there are none."""
        return (
            (not self.hinted_types or fact.type in self.hinted_types)
            and (
                not self.hinted_tiers
                or any(fact.priority in TIERS[tier] for tier in self.hinted_tiers)
            )
            and (self.hinted_span is None or self.hinted_span.holds(fact.created_at))
        )


_TYPE_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "decision": "decision decisions decide decided",
        "commitment": "commitment commitments promise promises promised",
        "lesson": "lesson lessons learned learnt",
        "observation": "observation observations",
        "preference": "preference preferences",
        "task": "tasks",
        "episodic": "episode episodes",
        "correction": "correction corrections",
        "convention": "convention conventions",
    }
)
"""Type -> the words that hint at it. Words with other common meanings (note, fact, project,
person, to prefer) are left out."""
_HINTED_TYPE: Mapping[str, str] = MappingProxyType(
    {word: name for name, words in _TYPE_WORDS.items() for word in words.split()}
)


def type_hint(fact: Fact) -> str:
    """The type of a fact if it is a word that questions use, such as lesson; else empty."""
    return fact.type if fact.type in _TYPE_WORDS else ""


# Patterns are compiled when they are first used: most questions need only a few.
_TIER_HINT = (
    r"\b(critical|notable|background)\s+(?:facts?|notes?|memory|memories|observations?|"
    r"decisions?|lessons?|commitments?)\b"
)
_QUOTED = r"\"([^\"]+)\"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」"
_REQUEST = (
    r"\A\s*(?:(?:please|(?:can|could)\s+you)\s+)*"
    r"(?:(?:tell|show|remind|give)\s+(?:me|us)(?:\s+(?:all|everything|more))?(?:\s+(?:about|of))?"
    r"|(?:what\s+)?do\s+(?:I|we|you)\s+(?:know|remember)(?:\s+(?:about|of))?"
    r"|what(?:\s+has|\s+is|['’]s)?\s+happen(?:ed|ing|s))"
    r"(?=\s+\w)"
)
"""Request phrases at the beginning of a question, which occur in no answer."""
_REQUEST_WORDS = ("tell", "show", "remind", "give", "know", "remember", "happen")
_FILTER = r"(?<!\S)(type|tag|tier|since|until|after|before):(\S+)"
_WORD = re.compile(r"[^\W\d_]+")
_MONTH = "|".join([*MONTHS, *(f"{name[:3]}\\b\\.?" for name in MONTHS)])
_DATE = (
    rf"(?:(?P<iso>{ISO_DAY})"
    rf"|(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?(?P<month>{_MONTH})(?:,?\s+(?P<year>\d{{4}}))?"
    rf"|(?P<month2>{_MONTH})\s+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(?P<year2>\d{{4}}))?"
    rf"|(?P<month3>{_MONTH})(?:,?\s+(?P<year3>\d{{4}}))?"
    r"|(?P<year4>(?:19|20)\d{2}))\b"
)
_DATED = rf"\b(?P<how>in|on|of|from|during|since|after|before|until|till|by)\s+{_DATE}"
_RELATIVE = (
    r"\b(?:(?P<when>today|yesterday)"
    r"|(?P<which>this|last|past|previous)\s+(?P<unit>day|week|month|year)"
    r"|(?:in\s+)?(?:the\s+)?(?:last|past)\s+(?P<count>\d{1,3})\s+(?P<units>day|week|month|year)s)\b"
)
_RELATIVE_WORDS = ("today", "yesterday", "this", "last", "past", "previous")
_DATE_PARTS = (*"0123456789", *(name[:3] for name in MONTHS))
_DAYS: Mapping[str, int] = MappingProxyType({"day": 1, "week": 7, "month": 30, "year": 365})
"""Unit -> days in it, for spans such as the last two months."""


def parse_request(request: RecallRequest, *, now: datetime) -> tuple[ParsedQuery, FactFilters]:
    """Parse the question of a request and merge its filters with those of the request.

    Raises:
        InvalidFieldError, UnknownTypeError, InvalidScopeError: a filter is invalid.
    """
    if request.limit < 1:
        raise InvalidFieldError("limit", request.limit, "1 or more")
    query = parse_query(request.query, today=now.date())
    if request.status == FORGOTTEN:
        what = "another status: `vaultsync list --status forgotten` lists deleted facts"
        raise InvalidFieldError("status", request.status, what)
    span = query.span.within(time_span(request.since, request.until))
    # A hint at a tier below the request's adds that tier; a filter replaces what is requested.
    priorities = [each for tier in query.tiers or query.hinted_tiers for each in TIERS[tier]]
    most = LOWEST_PRIORITY if request.max_priority is None else request.max_priority
    wants_superseded = request.status == SUPERSEDED
    hides = not request.all
    return query, FactFilters(
        scopes=frozenset(map(check_scope, request.scopes)) or None,
        types=frozenset(map(check_type, request.types)) | query.types,
        tags=frozenset(request.tags) | query.tags,
        status=None if wants_superseded else request.status or None,
        max_priority=max(priorities if query.tiers else [most, *priorities]),
        since=span.since,
        until=span.until,
        heads_only=request.heads_only and hides and not wants_superseded,
        tiers=query.tiers,
        user=request.user,
        superseded_only=wants_superseded,
        hidden_statuses=frozenset(RETIRED_STATUSES if hides and request.status == "" else ()),
        hide_background=hides
        and request.max_priority is None
        and LOWEST_PRIORITY not in priorities,
        alive_at=now.isoformat() if hides else None,
        agent=request.agent,
    )


def hinted_filters(query: ParsedQuery, filters: FactFilters) -> FactFilters:
    """Filters for what a question hints at, as far as its own filters admit that."""
    span = TimeSpan(filters.since, filters.until).within(query.hinted_span or TimeSpan())
    priorities = [each for tier in query.hinted_tiers for each in TIERS[tier]]
    return filters._replace(
        types=filters.types or query.hinted_types,
        max_priority=min(filters.max_priority, max(priorities, default=LOWEST_PRIORITY)),
        since=span.since,
        until=span.until,
    )


def parse_query(text: str, *, today: date) -> ParsedQuery:
    """Parse a question. Any text is one: what is no valid filter is a search term.

    Args:
        text: the question.
        today: the day that relative dates (last week) count from.
    """
    rest, types, tags, tiers = text, set[str](), set[str](), set[str]()
    since = until = None
    for match in _find_all(_FILTER, text, ":"):
        key, value = match[1].lower(), match[2].strip("\"'")
        if key == "type" and value.lower() in TYPES:
            types.add(value.lower())
        elif key == "tag":
            tags.add(value.lstrip("#"))
        elif key == "tier" and value.lower() in TIERS:
            tiers.add(value.lower())
        elif key not in ("type", "tier") and (days := day_span(value)):
            first, after = days
            since = first if key == "since" else after if key == "after" else since
            until = after if key == "until" else first if key == "before" else until
        else:
            continue
        rest = rest.replace(match[0], " ", 1)
    text_without_filters = " ".join(rest.split())
    request = next(_find_all(_REQUEST, text_without_filters, *_REQUEST_WORDS), None)
    rest = text_without_filters[request.end() :] if request else text_without_filters
    hinted_span, rest = _relative_span(rest, today)
    phrases = tuple(
        phrase
        for match in _find_all(_QUOTED, rest, '"')
        if (phrase := " ".join("".join(filter(None, match.groups())).split()))
    )
    return ParsedQuery(
        text_without_filters=text_without_filters,
        words=" ".join(rest.split()),
        phrases=phrases,
        types=frozenset(types),
        tags=frozenset(tags),
        tiers=frozenset(tiers),
        span=TimeSpan(since, until),
        hinted_types=frozenset(
            _HINTED_TYPE[word] for word in _WORD.findall(rest.lower()) if word in _HINTED_TYPE
        ),
        hinted_tiers=frozenset(match[1].lower() for match in _find_all(_TIER_HINT, rest, *TIERS)),
        hinted_span=hinted_span or _dated_span(rest, today),
    )


def _find_all(pattern: str, text: str, *required: str) -> Iterator[re.Match[str]]:
    """Find a pattern whose matches contain one of `required`, as few ASCII texts do."""
    lowered = text.lower()
    if text.isascii() and not any(map(lowered.__contains__, required)):
        return iter(())
    return re.finditer(pattern, text, re.IGNORECASE)


def _relative_span(text: str, today: date) -> tuple[TimeSpan | None, str]:
    """The span of the first relative date, and the text without it."""
    match = next(_find_all(_RELATIVE, text, *_RELATIVE_WORDS), None)
    if match is None:
        return None, text
    rest = f"{text[: match.start()]} {text[match.end() :]}"
    if match["when"]:
        first = today - timedelta(days=match["when"].lower() == "yesterday")
        return TimeSpan(first.isoformat(), (first + timedelta(days=1)).isoformat()), rest
    unit = (match["unit"] or match["units"]).lower()
    if (match["which"] or "").lower() == "this":
        first = {
            "day": today,
            "week": today - timedelta(days=today.weekday()),
            "month": today.replace(day=1),
            "year": today.replace(month=1, day=1),
        }[unit]
    else:
        days = _DAYS[unit] * int(match["count"] or 1)
        first = date.fromordinal(max(1, today.toordinal() - days))
    return TimeSpan(first.isoformat()), rest


def _dated_span(text: str, today: date) -> TimeSpan | None:
    """The span that the first date with a preposition (in May, before 2025) names."""
    match = next(_find_all(_DATED, text, *_DATE_PARTS), None)
    span = _date_span(match, today) if match else None
    if match is None or span is None:
        return None
    first, after = span
    how = match["how"].lower()
    if how in ("since", "after"):
        return TimeSpan(since=first if how == "since" else after)
    if how in ("before", "until", "till", "by"):
        return TimeSpan(until=first if how == "before" else after)
    return TimeSpan(first, after)


def _date_span(match: re.Match[str], today: date) -> tuple[str, str] | None:
    """The first day of a date, and the day after its last; None when it is no date."""
    if match["iso"]:
        return day_span(match["iso"])
    if match["year4"]:
        return days_between(int(match["year4"]), None, None)
    name = match["month"] or match["month2"] or match["month3"]
    if name.lower() == "may" and name != "May":
        return None  # the verb
    month = next(n for n, full in enumerate(MONTHS, 1) if full[:3] == name[:3].lower())
    day = match["day"] or match["day2"]
    given_year = match["year"] or match["year2"] or match["year3"]
    # Without a year it is the most recent month of that name.
    year = int(given_year) if given_year else today.year - (month > today.month)
    return days_between(year, month, int(day) if day else None)
