"""Parse a question: its filters, phrases, search terms, and what it asks for in plain words.

A *filter* (`type:decision`, `tag:ops`, `tier:critical`, `since:2026-03`) excludes facts. A
*hint* in plain words (decisions, last week, in May) only ranks facts higher: what happened
last week may have been written down today. A question without a topic (*What decisions did we
make?*, *What happened last week?*, `type:lesson`) asks for a *set*: there, hints are filters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime
from typing import NamedTuple

from vaultsync.errors import InvalidFieldError
from vaultsync.model.canonical import check_type
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.model.hiding import FORGOTTEN, RETIRED_STATUSES, SUPERSEDED
from vaultsync.model.schema import LOWEST_PRIORITY, TIERS, TYPES
from vaultsync.model.scope import check_scope
from vaultsync.model.time_span import TimeSpan, day_span, time_span, year_span
from vaultsync.recall.asked_for import DUE, AskedFor, asked_for, is_in_state
from vaultsync.recall.recall_request import RecallRequest
from vaultsync.recall.time_words import dated_span, find_all, relative_span


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
    asked: AskedFor = AskedFor()
    """The types, the state and the order that are asked for in plain words."""
    hinted_tiers: frozenset[str] = frozenset()
    hinted_span: TimeSpan | None = None
    """Hinted at in plain words, like tiers."""
    today: str = ""
    """The day it is asked on, an ISO date."""

    @property
    def hinted_types(self) -> frozenset[str]:
        """The types that are asked for or mentioned."""
        return self.asked.hinted_types

    @property
    def has_filters(self) -> bool:
        """Whether the question has filters of its own."""
        return bool(self.types or self.tags or self.tiers or self.span != TimeSpan())

    @property
    def has_hints(self) -> bool:
        """Whether there is anything to rank higher."""
        return bool(self.hinted_types or self.hinted_tiers or self.hinted_span or self.asked.state)

    @property
    def is_set(self) -> bool:
        """Whether it asks for a set of facts, by filters or hints alone, and names no topic."""
        return not (self.asked.topic or self.phrases) and bool(
            self.has_filters or self.has_hints or self.asked.order
        )

    def matches_hints(self, fact: Fact) -> bool:
        """Whether a fact matches all hints; True when there are none."""
        is_due = self.asked.state == DUE
        span = self.hinted_span or TimeSpan()
        return (
            (not self.hinted_types or fact.type in self.hinted_types)
            and (
                not self.hinted_tiers
                or any(fact.priority in TIERS[tier] for tier in self.hinted_tiers)
            )
            and (is_due or span.holds(fact.created_at))
            and is_in_state(
                fact, self.asked.state, today=self.today, due=span if is_due else TimeSpan()
            )
        )


# Patterns are compiled when they are first used: most questions need only a few.
_TIER_HINT = (
    r"\b(critical|notable|background)\s+(?:facts?|notes?|memory|memories|observations?|"
    r"decisions?|lessons?|commitments?)\b"
)
# No quotation reaches over another opening sign, so that a question is read once.
_QUOTED = r"\"([^\"]+)\"|“([^“”]+)”|„([^„“”]+)[“”]|«([^«»]+)»|「([^「」]+)」"
_REQUEST = (
    r"\A\s*(?:(?:please|(?:can|could)\s+you)\s+)*"
    r"(?:(?:tell|show|remind|give)\s+(?:me|us)(?:\s+(?:all|everything|more))?(?:\s+(?:about|of))?"
    r"|(?:what\s+)?do\s+(?:I|we|you)\s+(?:know|remember)(?:\s+(?:about|of))?"
    r"|what(?:\s+has|\s+is|['’]s)?\s+happen(?:ed|ing|s))"
    r"(?=\s+\w)"
)
"""Request phrases at the beginning of a question, which occur in no answer."""
_REQUEST_WORDS = ("tell", "show", "remind", "give", "know", "remember", "happen")
_TAG = r"(?<![\w#&/])#([^\W\d_][\w/-]*)"
_TAGGED = (
    r"\b(?:tagged(?:\s+(?:with|as))?|(?:with\s+|under\s+)?(?:the\s+)?tag|etikettiert\s+mit|"
    r"(?:mit\s+|unter\s+)?dem\s+tag|(?:avec\s+)?l['’]étiquette|con\s+la\s+etiqueta|etiquetad[oa]s?"
    r"(?:\s+con)?)\s+[\"'“„«]?#?([^\W\d_][\w/-]*)[\"'”“»]?"
)
_FILTER = r"(?<!\S)(type|tag|tier|since|until|after|before):(\S+)"
_VALUES = {"type": "one of " + ", ".join(sorted(TYPES)), "tier": "one of " + ", ".join(TIERS)}
_DATES = "a day, month or year, such as 2026-03-31, 2026-03 or 2026"


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
    """Filters for what a question hints at, as far as its own filters admit that.

    They leave the state of tasks and promises to `ParsedQuery.matches_hints()`.
    """
    hinted_span = None if query.asked.state == DUE else query.hinted_span
    span = TimeSpan(filters.since, filters.until).within(hinted_span or TimeSpan())
    priorities = [each for tier in query.hinted_tiers for each in TIERS[tier]]
    return filters._replace(
        types=filters.types or query.hinted_types,
        max_priority=min(filters.max_priority, max(priorities, default=LOWEST_PRIORITY)),
        since=span.since,
        until=span.until,
    )


def parse_query(text: str, *, today: date) -> ParsedQuery:
    """Parse a question.

    Args:
        text: the question.
        today: the day that relative dates (last week) count from.

    Raises:
        InvalidFieldError: a filter has a value that it does not take.
    """
    types, tags, tiers = set[str](), set[str](), set[str]()
    since = until = None
    filters = list(find_all(_FILTER, text, ":"))
    for match in filters:
        key, value = match[1].lower(), match[2].strip("\"'")
        if key == "type" and value.lower() in TYPES:
            types.add(value.lower())
        elif key == "tag":
            tags.add(value.lstrip("#"))
        elif key == "tier" and value.lower() in TIERS:
            tiers.add(value.lower())
        elif key not in ("type", "tier") and (days := day_span(value) or year_span(value)):
            first, after = days
            since = first if key == "since" else after if key == "after" else since
            until = after if key == "until" else first if key == "before" else until
        else:
            raise InvalidFieldError(key, match[2][:80], _VALUES.get(key, _DATES))
    rest = _without(text, filters)
    for pattern, needed in ((_TAG, ("#",)), (_TAGGED, ("tag", "étiquette", "etiquet"))):
        named_tags = list(find_all(pattern, rest, *needed))
        tags |= {match[1].rstrip("/") for match in named_tags}
        rest = _without(rest, named_tags)
    text_without_filters = " ".join(rest.split())
    request = next(find_all(_REQUEST, text_without_filters, *_REQUEST_WORDS), None)
    rest = text_without_filters[request.end() :] if request else text_without_filters
    relative = relative_span(rest, today)
    if relative is not None:
        rest = f"{rest[: relative.begin]} {rest[relative.end :]}"
    dated = dated_span(rest, today)
    undated = f"{rest[: dated.begin]} {rest[dated.end :]}" if dated else rest
    named = relative or dated
    phrases = tuple(
        phrase
        for match in find_all(_QUOTED, rest, *'"“„«「')
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
        asked=asked_for(undated),
        hinted_tiers=frozenset(match[1].lower() for match in find_all(_TIER_HINT, rest, *TIERS)),
        hinted_span=named.span if named else None,
        today=today.isoformat(),
    )


def _without(text: str, matches: Iterable[re.Match[str]]) -> str:
    """A text with a blank in place of each match."""
    parts, at = [], 0
    for match in matches:
        parts.append(text[at : match.start()])
        at = match.end()
    return " ".join([*parts, text[at:]])
