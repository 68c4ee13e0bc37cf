"""The columns beside the vectors of a matrix, and the rows that match a filter.

Words (scopes, types, statuses, tags) are numbered once and never forgotten; a row holds
their numbers. A snapshot is never changed: what was appended makes the next one. Errors and
`FilterFields` are those of all indexes of vectors.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vaultsync.errors import DerivedError, EmbedderError, IndexBusyError
from vaultsync.indexing.ports import NearFact, VectorRow
from vaultsync.model.canonical import (
    FOREVER,
    NEVER,
    from_microseconds,
    tag_keys,
    tag_keys_with_parents,
    to_microseconds,
)
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.model.inline_tags import all_tags


class FilterFields(NamedTuple):
    """The fields that filters use: rows change only if one of these does."""

    scope: str
    type: str
    status: str
    priority: int
    head: bool
    created: int
    """Microseconds since 1970."""
    tags: Sequence[str]
    """Keys in order, including those of parent tags."""

    @classmethod
    def of(cls, fact: Fact) -> FilterFields:
        head, created = not fact.superseded_by_id, to_microseconds(fact.created_at)
        tags = sorted(tag_keys_with_parents(all_tags(fact)))
        return cls(fact.scope, fact.type, fact.status, fact.priority, head, created, tags)

    def fact(self, fact_id: str) -> Fact:
        """A fact that matches the same filters as the fact with these fields."""
        return Fact(
            fact_id,
            type=self.type,
            status=self.status,
            scope=self.scope,
            priority=self.priority,
            created_at=from_microseconds(self.created),
            superseded_by_id=None if self.head else fact_id,
            tags=tuple(self.tags),
        )


def chunks_by_fact(pairs: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    """The chunks of each fact, from pairs of fact and chunk."""
    found: dict[str, set[str]] = {}
    for fact, chunk in pairs:
        found.setdefault(fact, set()).add(chunk)
    return {fact: frozenset(chunks) for fact, chunks in found.items()}


def dimension_of(rows: Sequence[VectorRow], known: int) -> int:
    """The length that all vectors of rows must have: the known one, unless that is 0."""
    found = known or (len(rows[0].vector) if rows else 0)
    for row in rows:
        check_dimension(row.vector, found)
    return found


def check_dimension(vector: Sequence[float], known: int) -> None:
    """Raise `EmbedderError` for a vector whose dimension differs from the index's."""
    if len(vector) != known:
        raise EmbedderError(
            f"a vector has {len(vector)} dimensions, but those of the index have {known}",
            hint="the model was changed; the next run computes all vectors again",
        )


def not_finite_error() -> EmbedderError:
    """The error for a vector with NaN or infinity, which would rank above all others."""
    return EmbedderError(
        "the model returned a vector with a value that is not a number",
        hint="use another model, or create its export again",
    )


def best_by_fact(found: Iterable[tuple[float, str, str]]) -> list[NearFact]:
    """Each fact by its nearest chunk, the nearest first, of cosines, facts and chunks."""
    best: dict[str, NearFact] = {}
    ranked = sorted((-cosine_of(score), fact, chunk) for score, fact, chunk in found)
    for negative, fact, chunk in ranked:
        best.setdefault(fact, NearFact(fact, chunk, -negative))
    return list(best.values())


def cosines_by_fact(found: Iterable[tuple[str, float]]) -> dict[str, list[float]]:
    """The cosines of each fact, nearest first, from facts and scores."""
    grouped: dict[str, list[float]] = {}
    for fact, score in found:
        grouped.setdefault(fact, []).append(cosine_of(score))
    return {fact: sorted(cosines, reverse=True) for fact, cosines in grouped.items()}


def cosine_of(score: float) -> float:
    """A cosine clamped to its range, and rounded so that the position of a row does not matter."""
    return round(min(1.0, max(-1.0, score)), 6)


def index_missing_error() -> DerivedError:
    """The error for an index that must be built again."""
    hint = "the next run computes them again"
    return DerivedError("the vectors are missing or damaged", hint=hint)


def index_busy_error() -> IndexBusyError:
    """The error while another process is writing."""
    return IndexBusyError(
        "another process is writing the vectors", hint="the next run adds what is missing"
    )


_PART = 8
"""Bytes of a name by which rows are sorted; rows with equal ones are compared in full."""
_LAST = {"fact": 36 - _PART, "chunk": 0}
"""Where those bytes begin: ids of facts begin with the time, which many share."""


class RowKeys:
    """Look up live rows by name, in two arrays that are sorted on first use."""

    def __init__(self, rows: npt.NDArray[np.void], alive: npt.NDArray[np.bool_]) -> None:
        self._rows = rows
        self._alive = alive
        self._sorted: dict[str, tuple[npt.NDArray[Any], npt.NDArray[np.intp]]] = {}

    def facts(self, names: Iterable[str]) -> dict[str, list[int]]:
        """The rows of the facts; facts without rows are omitted."""
        return self._find("fact", names)

    def chunks(self, names: Iterable[str]) -> dict[str, int]:
        """One row of each chunk that is in the index."""
        return {name: rows[0] for name, rows in self._find("chunk", names).items()}

    def _find(self, field: str, names: Iterable[str]) -> dict[str, list[int]]:
        wanted = {name: name.encode() for name in names}
        if not wanted or not len(self._rows):
            return {}
        if field not in self._sorted:
            parts = _parts(self._rows, field)
            order = np.argsort(parts, kind="stable")
            self._sorted[field] = (parts[order], order)
        parts, order = self._sorted[field]
        asked = np.array([*wanted.values()], self._rows.dtype[field])
        given = _parts(asked.view([(field, asked.dtype)]), field)
        starts = np.searchsorted(parts, given, "left").tolist()
        ends = np.searchsorted(parts, given, "right").tolist()
        held = self._rows[field]
        found = {}
        for (name, full), start, end in zip(wanted.items(), starts, ends, strict=True):
            rows = [
                row for row in order[start:end].tolist() if self._alive[row] and held[row] == full
            ]
            if rows:
                found[name] = rows
        return found


def _parts(rows: npt.NDArray[np.void], field: str) -> npt.NDArray[np.uint64]:
    """The bytes by which each name is sorted, as one number."""
    at = rows.dtype.fields[field][1] + _LAST[field]  # type: ignore[index] # the array has fields
    table = rows.view(np.uint8).reshape(len(rows), rows.dtype.itemsize)
    parts: npt.NDArray[np.uint64] = (
        np.ascontiguousarray(table[:, at : at + _PART]).view("<u8").ravel()
    )
    return parts


Flags = npt.NDArray[np.bool_]

ROW_DTYPE = np.dtype(
    [
        ("fact", "S36"),
        ("chunk", "S64"),
        ("scope", "<i4"),
        ("type", "<i4"),
        ("status", "<i4"),
        ("created", "<i8"),  # microseconds since 1970
        ("priority", "i1"),
        ("head", "?"),
    ]
)
TAG_DTYPE = np.dtype([("row", "<i4"), ("word", "<i4")])
DEAD_DTYPE = np.dtype("<u4")
"""The number that marks a row that was replaced or removed."""
FLOAT_DTYPE = np.dtype("<f4")
_WORD_COLUMNS = ("scope", "type", "status")
# In the order in which `Columns` has them.
_COLUMNS = (*_WORD_COLUMNS, "created", "priority", "head")
_COMPARED = 8
"""Up to this count of numbers, comparing with each is faster than a lookup table."""


class WordTable:
    """A table of words and their numbers; a new word gets a number on first use."""

    def __init__(self) -> None:
        self.by_number: list[str] = []
        self._numbers: dict[str, int] = {}

    def copy(self) -> WordTable:
        table = WordTable()
        table.by_number, table._numbers = [*self.by_number], {**self._numbers}
        return table

    def take(self, lines: bytes) -> None:
        """The next words, as `fresh()` gave them; `ValueError` if these are none."""
        for line in lines.splitlines():
            self.number(str(json.loads(line)))

    def number(self, word: str) -> int:
        found = self._numbers.setdefault(word, len(self.by_number))
        if found == len(self.by_number):
            self.by_number.append(word)
        return found

    def find(self, words: Iterable[str]) -> list[int]:
        """The numbers of the words; words without a number are omitted."""
        return [self._numbers[each] for each in words if each in self._numbers]

    def tagged(self, tag: str) -> list[int]:
        """The numbers of a tag and of the tags below it."""
        return [
            number
            for number, word in enumerate(self.by_number)
            if word == tag or word.startswith(f"{tag}/")
        ]

    def only(self, rows: npt.NDArray[np.void], tags: npt.NDArray[np.void]) -> WordTable:
        """A table of the words of rows and tags alone, which get the numbers of that table."""
        numbered = [*((rows, name) for name in _WORD_COLUMNS), (tags, "word")]
        used = np.unique(np.concatenate([array[name] for array, name in numbered]))
        table = WordTable()
        for number in used.tolist():
            table.number(self.by_number[number])
        for array, name in numbered:
            array[name] = np.searchsorted(used, array[name])
        return table

    def fresh(self, since: int) -> bytes:
        """The words from a number on, a line of JSON each."""
        return b"".join(json.dumps(word).encode() + b"\n" for word in self.by_number[since:])


def encode_rows(
    rows: Sequence[VectorRow], words: WordTable, first: int
) -> tuple[npt.NDArray[np.void], npt.NDArray[np.void]]:
    """The entries and the tags of rows, the first of which has the number `first`."""
    entries = np.zeros(len(rows), ROW_DTYPE)
    tags = []
    for at, row in enumerate(rows):
        fields = FilterFields.of(row.fact)
        numbers = map(words.number, (fields.scope, fields.type, fields.status))
        rest = (fields.created, fields.priority, fields.head)
        entries[at] = (row.fact.id.encode(), row.chunk_id.encode(), *numbers, *rest)
        tags += [(first + at, words.number(tag)) for tag in tag_keys(all_tags(row.fact))]
    return entries, np.array(tags, TAG_DTYPE)


@dataclass(frozen=True, slots=True)
class FilterColumns:
    """The fields of all rows, including dead ones, as one array per field."""

    words: WordTable
    alive: Flags
    tags: npt.NDArray[np.void]
    scope: npt.NDArray[np.int32]
    type: npt.NDArray[np.int32]
    status: npt.NDArray[np.int32]
    created: npt.NDArray[np.int64]
    priority: npt.NDArray[np.int8]
    head: Flags

    @classmethod
    def empty(cls) -> FilterColumns:
        """Columns without rows."""
        none = np.zeros(0, ROW_DTYPE)
        columns = (none[name].copy() for name in _COLUMNS)
        return cls(WordTable(), np.zeros(0, np.bool_), np.zeros(0, TAG_DTYPE), *columns)

    def grown(
        self, rows: npt.NDArray[np.void], tags: npt.NDArray[np.void], dead: npt.NDArray[np.uint32]
    ) -> FilterColumns:
        """A copy with more rows at the end, and with some rows marked as dead."""
        columns = (np.concatenate([getattr(self, name), rows[name]]) for name in _COLUMNS)
        alive = np.concatenate([self.alive, np.ones(len(rows), np.bool_)])
        alive[dead] = False
        tags = np.concatenate([self.tags, tags])
        return FilterColumns(self.words, alive, tags, *columns)

    def admitted(self, filters: FactFilters) -> Flags:
        """Select the live rows that match a filter."""
        left = self.alive.copy()
        for name, words in filters.words.items():
            left &= _among(getattr(self, name), self.words.find(words))
        if filters.heads_only:
            left &= self.head
        left &= self.priority <= filters.max_priority
        first, until = filters.moments
        if first > NEVER:
            left &= self.created >= first
        if until < FOREVER:
            left &= self.created < until
        for tag in filters.plain_tags:
            having = np.zeros(len(left), np.bool_)
            chosen = _among(self.tags["word"], self.words.tagged(tag))
            having[self.tags["row"][chosen]] = True
            left &= having
        return left


def _among(column: npt.NDArray[np.int32], numbers: Sequence[int]) -> Flags:
    """A mask of the rows whose column holds one of the numbers."""
    found = np.zeros(len(column), np.bool_)
    if len(numbers) <= _COMPARED:
        for number in numbers:
            found |= column == number
        return found
    chosen = np.zeros(max(int(column.max(initial=0)), *numbers) + 1, np.bool_)
    chosen[numbers] = True
    looked_up: Flags = chosen[column]
    return looked_up
