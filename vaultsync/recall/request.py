"""What is asked for, in a question and beside it: checked, and in one form for all."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from vaultsync.errors import InvalidFieldError
from vaultsync.model.canonical import check_type
from vaultsync.model.filters import FactFilters
from vaultsync.model.schema import TIERS
from vaultsync.model.scope import check_scope
from vaultsync.model.time_span import time_span
from vaultsync.recall.query import ParsedQuery, parse_query


def parse_request(
    question: str,
    *,
    today: date,
    limit: int,
    types: Iterable[str] = (),
    scopes: Iterable[str] = (),
    tags: Iterable[str] = (),
    max_priority: int = 2,
    status: str | None = "active",
    heads_only: bool = True,
    since: str | None = None,
    until: str | None = None,
    user: str | None = None,
) -> tuple[ParsedQuery, FactFilters]:
    """What a question asks for, and which facts may answer it.

    Raises:
        InvalidFieldError, UnknownTypeError, InvalidScopeError: a filter makes no sense.
    """
    if limit < 1:
        raise InvalidFieldError("limit", limit, "1 or more")
    asked = parse_query(question, today=today)
    span = asked.span.within(time_span(since, until))
    return asked, FactFilters(
        scopes=frozenset(map(check_scope, scopes)) or None,
        types=frozenset(map(check_type, types)) | asked.types,
        tags=frozenset(tags) | asked.tags,
        status=status,
        max_priority=_lowest(asked, max_priority),
        since=span.since,
        until=span.until,
        heads_only=heads_only,
        tiers=asked.tiers,
        user=user,
    )


def _lowest(asked: ParsedQuery, given: int) -> int:
    """The lowest priority that may be found: that of a tier that is asked for may."""
    if asked.tiers:
        return max(each for tier in asked.tiers for each in TIERS[tier])
    return max([given, *(p for tier in asked.hinted_tiers for p in TIERS[tier])])
