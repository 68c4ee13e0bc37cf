"""The table of chunks: rows in columns of Arrow, and filters in SQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from vaultsync.backends.vectors.vectors_fields import not_finite
from vaultsync.indexing.vector_index import VectorRow
from vaultsync.model.canonical import FOREVER, NEVER, moment, time_of, with_parents
from vaultsync.model.fact import Fact
from vaultsync.model.filters import Filters

FIELDS = ["fact", "scope", "type", "status", "priority", "head", "made", "tags"]
"""The columns that `fact_of()` reads."""


def key_of(row: VectorRow) -> str:
    """The name of a row."""
    return f"{row.fact.id} {row.chunk_id}"


def batch(rows: list[VectorRow], dimension: int) -> Any:  # noqa: ANN401 - pyarrow has no types
    """The rows as a table of Arrow."""
    import numpy as np
    import pyarrow as pa  # type: ignore[import-untyped]

    facts = [row.fact for row in rows]
    columns = {
        "key": (pa.string(), [key_of(row) for row in rows]),
        "fact": (pa.string(), [fact.id for fact in facts]),
        "chunk": (pa.string(), [row.chunk_id for row in rows]),
        "scope": (pa.string(), [fact.scope for fact in facts]),
        "type": (pa.string(), [fact.type for fact in facts]),
        "status": (pa.string(), [fact.status for fact in facts]),
        "priority": (pa.int8(), [fact.priority for fact in facts]),
        "head": (pa.bool_(), [not fact.superseded_by_id for fact in facts]),
        "made": (pa.int64(), [moment(fact.created_at) for fact in facts]),
        "tags": (
            pa.list_(pa.string()),
            [sorted(with_parents(fact.tags)) for fact in facts],
        ),
    }
    held = {name: pa.array(each, kind) for name, (kind, each) in columns.items()}
    numbers = np.array([row.vector for row in rows], np.float32).ravel()
    if not np.isfinite(numbers).all():
        raise not_finite()
    held["vector"] = pa.FixedSizeListArray.from_arrays(pa.array(numbers), dimension)
    return pa.table(held)


def fact_of(row: Mapping[str, Any]) -> Fact:
    """A fact that passes the same filters as the one that a row was made of."""
    return Fact(
        row["fact"],
        scope=row["scope"],
        type=row["type"],
        status=row["status"],
        priority=row["priority"],
        created_at=time_of(row["made"]),
        superseded_by_id=None if row["head"] else row["fact"],
        tags=tuple(row["tags"]),
    )


def _text(word: str) -> str:
    """A literal of SQL."""
    return "'" + word.replace("'", "''") + "'"


def one_of(column: str, words: Iterable[str]) -> str:
    """Where a column has one of the words, in SQL."""
    listed = ", ".join(map(_text, words))
    return f"{column} IN ({listed})" if listed else "false"


def where_of(filters: Filters) -> str:
    """The filters in SQL."""
    made = [f"priority <= {int(filters.max_priority)}"]
    if filters.scopes is not None:
        made.append(one_of("scope", sorted(filters.scopes)))
    if filters.types:
        made.append(one_of("type", sorted(filters.types)))
    if filters.status is not None:
        made.append(one_of("status", [filters.status]))
    if filters.heads_only:
        made.append("head")
    first, until = filters.moments
    if first > NEVER:
        made.append(f"made >= {first}")
    if until < FOREVER:
        made.append(f"made < {until}")
    made += [f"array_has(tags, {_text(tag)})" for tag in sorted(filters.plain_tags)]
    return " AND ".join(made)
