"""What the indexes of vectors have in common. No adapter of a port.

The fields by which vectors are filtered, as they are compared, and what is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from vaultsync.core.fact import Fact
from vaultsync.errors import DerivedError, EmbedderError, IndexBusyError
from vaultsync.ports import VectorRow

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


def dimension_of(rows: Sequence[VectorRow], known: int) -> int:
    """The length of the vectors of rows, which is the known one unless that is 0.

    Raises:
        EmbedderError: they differ.
    """
    found = known or (len(rows[0].vector) if rows else 0)
    for row in rows:
        check_dimension(row.vector, found)
    return found


def check_dimension(vector: Sequence[float], known: int) -> None:
    """See that a vector is of the index's dimension.

    Raises:
        EmbedderError: it is not.
    """
    if len(vector) != known:
        raise EmbedderError(
            f"a vector has {len(vector)} numbers, but those of the index have {known}",
            hint="the model was changed; the next pass makes all vectors again",
        )


def not_finite() -> EmbedderError:
    """A vector holds what is not a number: it would hide all others."""
    return EmbedderError(
        "the model made a vector that holds what is not a number",
        hint="use another model, or make its export again",
    )


def gone() -> DerivedError:
    """There is no index to put into."""
    return DerivedError(
        "the vectors are gone or damaged", hint="the next pass makes them again"
    )


def busy() -> IndexBusyError:
    """Another process writes."""
    return IndexBusyError(
        "another process is writing the vectors",
        hint="what is missing now is taken up by the next pass",
    )
