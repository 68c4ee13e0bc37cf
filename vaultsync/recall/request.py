"""What is asked for, in a question and beside it: one request for all surfaces, checked here."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import NamedTuple

from vaultsync.errors import InvalidFieldError
from vaultsync.model.canonical import check_type
from vaultsync.model.filters import FactFilters
from vaultsync.model.schema import TIERS
from vaultsync.model.scope import check_scope
from vaultsync.model.time_span import time_span
from vaultsync.recall.query import ParsedQuery, parse_query

DEFAULT_BUDGET = 4_000
"""Tokens of a pack when nobody says how many."""


class RecallRequest(NamedTuple):
    """A question, and what is asked for beside it."""

    query: str
    limit: int = 10
    """The largest number of hits."""
    mode: str = "auto"
    """`auto`, `index`, `vector` or `fused`."""
    types: Iterable[str] = ()
    """Only facts of these types; empty for all."""
    scopes: Iterable[str] = ()
    """Only facts of these scopes; empty for all that the agent may see."""
    tags: Iterable[str] = ()
    """Only facts that have all of these tags."""
    max_priority: int = 2
    """Down to this priority; 4 is all."""
    status: str | None = "active"
    """Only facts of this status; None for any."""
    heads_only: bool = True
    """Whether to leave out facts that were superseded."""
    since: str | None = None
    """Only facts from this day, month or moment on."""
    until: str | None = None
    """Only facts up to this day or month, or before this moment."""
    user: str | None = None
    """Only what is about that user."""
    explain: bool = False
    """Whether each stage says what it found."""
    agent: str | None = None
    """For whom; None is a person, who sees all."""


class ContextRequest(NamedTuple):
    """A question and a budget. The filters are those of a `RecallRequest`.

    Background facts are asked for too, for a pack has a share for them.
    """

    query: str
    budget: int = DEFAULT_BUDGET
    """The largest number of tokens."""
    format: str = "markdown"
    """`markdown`, `xml` or `json`."""
    intent: str | None = None
    """`decisions`, `recent` or `balanced`; None to tell by the words of the question."""
    mode: str = "auto"
    types: Iterable[str] = ()
    scopes: Iterable[str] = ()
    tags: Iterable[str] = ()
    max_priority: int = 4
    since: str | None = None
    user: str | None = None
    agent: str | None = None


def parse_request(asked: RecallRequest, *, today: date) -> tuple[ParsedQuery, FactFilters]:
    """What a question asks for, and which facts may answer it.

    Raises:
        InvalidFieldError, UnknownTypeError, InvalidScopeError: a filter makes no sense.
    """
    if asked.limit < 1:
        raise InvalidFieldError("limit", asked.limit, "1 or more")
    question = parse_query(asked.query, today=today)
    span = question.span.within(time_span(asked.since, asked.until))
    return question, FactFilters(
        scopes=frozenset(map(check_scope, asked.scopes)) or None,
        types=frozenset(map(check_type, asked.types)) | question.types,
        tags=frozenset(asked.tags) | question.tags,
        status=asked.status,
        max_priority=_lowest(question, asked.max_priority),
        since=span.since,
        until=span.until,
        heads_only=asked.heads_only,
        tiers=question.tiers,
        user=asked.user,
    )


def _lowest(asked: ParsedQuery, given: int) -> int:
    """The lowest priority that may be found: that of a tier that is asked for may."""
    if asked.tiers:
        return max(each for tier in asked.tiers for each in TIERS[tier])
    return max([given, *(p for tier in asked.hinted_tiers for p in TIERS[tier])])
