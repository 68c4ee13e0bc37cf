"""The request of a question, the same for all surfaces, and its validation."""

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
"""Default budget of a pack in tokens."""


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


def parse_request(request: RecallRequest, *, today: date) -> tuple[ParsedQuery, FactFilters]:
    """Parse the question of a request, and unite its filters with those of the request.

    Raises:
        InvalidFieldError, UnknownTypeError, InvalidScopeError: a filter is invalid.
    """
    if request.limit < 1:
        raise InvalidFieldError("limit", request.limit, "1 or more")
    query = parse_query(request.query, today=today)
    span = query.span.within(time_span(request.since, request.until))
    return query, FactFilters(
        scopes=frozenset(map(check_scope, request.scopes)) or None,
        types=frozenset(map(check_type, request.types)) | query.types,
        tags=frozenset(request.tags) | query.tags,
        status=request.status,
        max_priority=_max_priority(query, request.max_priority),
        since=span.since,
        until=span.until,
        heads_only=request.heads_only,
        tiers=query.tiers,
        user=request.user,
    )


def _max_priority(query: ParsedQuery, requested: int) -> int:
    """The lowest tier that is found: one given as a filter, or hinted at below the request."""
    if query.tiers:
        return max(each for tier in query.tiers for each in TIERS[tier])
    return max([requested, *(each for tier in query.hinted_tiers for each in TIERS[tier])])
