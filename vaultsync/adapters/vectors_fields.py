"""The fields by which vectors are filtered, as they are compared. No adapter of a port."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from vaultsync.core.fact import Fact

NEVER = -(2**63)
"""The number of no time: older than all."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def moment(text: str) -> int:
    """A time of ISO 8601 as microseconds since 1970; in UTC unless it says otherwise."""
    if not text:
        return NEVER
    found = datetime.fromisoformat(text)
    known = found if found.tzinfo else found.replace(tzinfo=UTC)
    return (known - _EPOCH) // _MICROSECOND


def time_of(made: int) -> str:
    """A text of which `moment()` makes the number again."""
    if made == NEVER:
        return ""
    return (_EPOCH + made * _MICROSECOND).isoformat().replace("+00:00", "Z")


def with_parents(tags: Iterable[str]) -> frozenset[str]:
    """Tags as they are compared, and those above each: `a/b` is also `a`."""
    found = set()
    for tag in tags:
        parts = tag.casefold().split("/")
        found |= {"/".join(parts[:end]) for end in range(1, len(parts) + 1)}
    return frozenset(found)


def filtered_by(fact: Fact) -> tuple[object, ...]:
    """All that filters ask of a fact: where it is the same, its rows need not change."""
    return (
        *(fact.scope, fact.type, fact.status, fact.priority),
        *(not fact.superseded_by_id, moment(fact.created_at), with_parents(fact.tags)),
    )
