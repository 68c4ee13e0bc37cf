"""What the indexes of vectors have in common. No adapter of a port.

The fields by which vectors are filtered, as they are compared, and what is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from vaultsync.errors.work import DerivedError, EmbedderError, IndexBusyError
from vaultsync.indexing.vector_index import VectorRow
from vaultsync.model.canonical import moment, with_parents
from vaultsync.model.fact import Fact


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
