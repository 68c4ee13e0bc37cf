"""Times as numbers, as the indexes of vectors compare them. No adapter of a port."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

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
