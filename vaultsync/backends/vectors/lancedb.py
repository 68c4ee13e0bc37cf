"""Vectors in LanceDB: a table of chunks, with an index of neighbours when it is large.

LanceDB does not flush to the disk, so a power cut may undo writes. The header beside the
table has the version that was written last. An older table has lost something; then
`record()` is None, and the owner compares.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from operator import itemgetter
from pathlib import Path
from typing import Any

import filelock

from vaultsync.backends.vectors.columns import (
    FilterFields,
    best_by_fact,
    check_dimension,
    dimension_of,
    index_busy_error,
    index_missing_error,
)
from vaultsync.backends.vectors.files import ChecksummedJson
from vaultsync.indexing.ports import NearFact, VectorRow
from vaultsync.model.canonical import FOREVER, NEVER
from vaultsync.model.filters import FactFilters

_FIELD_COLUMNS = ("scope", "type", "status", "priority", "head", "made", "tags")
"""The columns of `FilterFields`, in their order."""


def row_key(row: VectorRow) -> str:
    """The name of a row."""
    return f"{row.fact.id} {row.chunk_id}"


def arrow_table(rows: list[VectorRow], dimension: int) -> Any:  # noqa: ANN401 - pyarrow has no types
    """The rows as an Arrow table; the matrix has checked that their vectors are finite."""
    import numpy as np
    import pyarrow as pa  # type: ignore[import-untyped] # it has no types

    fields = [FilterFields.of(row.fact) for row in rows]
    columns = {
        "key": [row_key(row) for row in rows],
        "fact": [row.fact.id for row in rows],
        "chunk": [row.chunk_id for row in rows],
        **{name: [each[at] for each in fields] for at, name in enumerate(_FIELD_COLUMNS)},
    }
    text = pa.string()
    kinds = {"priority": pa.int8(), "head": pa.bool_(), "made": pa.int64(), "tags": pa.list_(text)}
    held = {name: pa.array(each, kinds.get(name, text)) for name, each in columns.items()}
    numbers = np.array([row.vector for row in rows], np.float32).ravel()
    held["vector"] = pa.FixedSizeListArray.from_arrays(pa.array(numbers), dimension)
    return pa.table(held)


def _text(word: str) -> str:
    """A literal of SQL."""
    return "'" + word.replace("'", "''") + "'"


def sql_one_of(column: str, words: Iterable[str]) -> str:
    """The SQL condition that a column has one of the words."""
    listed = ", ".join(map(_text, words))
    return f"{column} IN ({listed})" if listed else "false"


def sql_where(filters: FactFilters) -> str:
    """The filters in SQL."""
    clauses = [f"priority <= {int(filters.max_priority)}"]
    clauses += [sql_one_of(field, sorted(words)) for field, words in filters.words.items()]
    if filters.heads_only:
        clauses.append("head")
    first, until = filters.moments
    if first > NEVER:
        clauses.append(f"made >= {first}")
    if until < FOREVER:
        clauses.append(f"made < {until}")
    clauses += [f"array_has(tags, {_text(tag)})" for tag in sorted(filters.plain_tags)]
    return " AND ".join(clauses)


INDEX_FROM = 200_000
"""The number of rows from which on an index is faster than a full scan."""
_FORMAT = 1
_PARTITIONS = 40
_REFINE = 10
"""Partitions that are searched, and how many times the rows asked for are compared exactly.
IVF_RQ then finds 0.997 of the first ten of 250,000 (0.945 with 20 partitions, 0.715 without
refining); IVF_HNSW_SQ takes 10 times as long to build."""
_BITMAPS = ("scope", "type", "status", "priority", "head")
_UNINDEXED = 512
_VERSIONS = 50
_OLD = timedelta(minutes=10)
"""The minimum age of versions that are removed; readers may still use newer ones."""
_PAGE_ROWS = 10_000
_WAIT = 2.0
# The library raises these for every kind of failure.
_LANCE_ERRORS = (OSError, RuntimeError, ValueError)


class LanceVectors:
    """Rows in a LanceDB database in a folder of its own, put and searched as `VectorIndex` says."""

    def __init__(self, folder: Path, *, index_from: int = INDEX_FROM, wait: float = _WAIT) -> None:
        self._folder = folder
        self._file = ChecksummedJson(folder / "header.json", _FORMAT)
        self._lock = filelock.FileLock(folder / "lock", mode=0o600)
        self._index_from = index_from
        self._wait = wait
        self._name = ""
        self._table: Any = None
        self._bad: object = None

    # ---------------------------------------------------------------------- reading

    def identity(self) -> str | None:
        held = self._header()
        return held["identity"] if held else None

    def record(self) -> str | None:
        """Also None if rows that were put are lost."""
        held = self._header()
        if held is None or (held["table"] and self._table.version < held["version"]):
            return None
        found: str | None = held["record"]
        return found

    def rows(self) -> Iterator[list[VectorRow]]:
        """All rows, some at a time, with facts that match the same filters."""
        start, fields = 0, itemgetter(*_FIELD_COLUMNS)
        while page := self._read(self._page, start):
            start += len(page)
            facts = (FilterFields(*fields(row)).fact(row["fact"]) for row in page)
            rows = zip(facts, page, strict=True)
            yield [VectorRow(fact, row["chunk"], row["vector"]) for fact, row in rows]

    def search(
        self, vector: Sequence[float], filters: FactFilters, *, limit: int
    ) -> list[NearFact]:
        held = self._header()
        if held is None or not held["table"] or limit < 1:
            return []
        check_dimension(vector, held["dimension"])
        where = sql_where(filters)
        wanted = 2 * limit + 8
        while True:
            rows = self._read(self._nearest, vector, where, wanted)
            found = best_by_fact((1 - row["_distance"], row["fact"], row["chunk"]) for row in rows)
            if len(found) >= limit or len(rows) < wanted:
                return found[:limit]
            wanted *= 4

    def _nearest(self, vector: Sequence[float], where: str, wanted: int) -> Any:  # noqa: ANN401 - a query of the library
        return (
            self._table.search(list(vector), vector_column_name="vector")
            .distance_type("cosine")
            .where(where, prefilter=True)
            .select(["fact", "chunk", "_distance"])
            .limit(wanted)
            .nprobes(_PARTITIONS)
            .refine_factor(_REFINE)
        )

    def _page(self, start: int) -> Any:  # noqa: ANN401 - the same
        return self._table.search().offset(start).limit(_PAGE_ROWS)

    def _read(self, query: Callable[..., Any], *asked: object) -> list[dict[str, Any]]:
        """The result from the table; empty if the table is missing or damaged."""
        held = self._header()
        if held is None or not held["table"]:
            return []
        try:
            found: list[dict[str, Any]] = query(*asked).to_arrow().to_pylist()
        except _LANCE_ERRORS:
            self._bad = held
            return []
        return found

    def _header(self) -> dict[str, Any] | None:
        """The header, with its table open; None if it is missing or damaged."""
        held = self._file.read()
        if held is None or held is self._bad:
            return None
        if held["table"] != self._name:
            try:
                self._table = held["table"] and self._database().open_table(held["table"])
                self._name = held["table"]
            except _LANCE_ERRORS:
                self._bad = held
                return None
        return held

    def _database(self) -> Any:  # noqa: ANN401 - the type would load the library
        os.environ.setdefault("LANCE_LOG", "error")  # it warns of what is normal
        import lancedb

        return lancedb.connect(
            self._folder,
            read_consistency_interval=timedelta(0),  # look for other writers each time
        )

    # ---------------------------------------------------------------------- writing

    def reset(self, identity: str) -> None:
        with self._writing():
            empty = {"record": None, "dimension": 0, "table": "", "version": 0}
            self._file.write({"identity": identity, "tidied": 0, **empty})
            for path in self._folder.glob("*.lance"):
                shutil.rmtree(path, ignore_errors=True)

    def put(
        self, rows: Sequence[VectorRow], *, replace: Iterable[str] = (), record: str | None = None
    ) -> None:
        """Create one version of the table."""
        with self._writing():
            held = self._header()
            if held is None:
                raise index_missing_error()
            unique = list({row_key(row): row for row in rows}.values())
            dimension = dimension_of(unique, held["dimension"])
            replaced = sorted(set(replace))
            if unique and not held["table"]:
                name = f"chunks-{secrets.token_hex(4)}"
                data = arrow_table(unique, dimension)
                self._table = self._database().create_table(name, data=data)
                self._name = name
                held = held | {"table": name}
            elif held["table"] and (unique or replaced):
                merge = self._table.merge_insert("key")
                merge = merge.when_matched_update_all().when_not_matched_insert_all()
                if replaced:
                    merge = merge.when_not_matched_by_source_delete(sql_one_of("fact", replaced))
                merge.execute(arrow_table(unique, dimension))
            self._note(held, dimension=dimension, record=record)

    def _note(self, held: dict[str, Any], *, record: str | None, **news: object) -> None:
        version = self._table.version if self._name else 0
        record = held["record"] if record is None else record
        try:
            self._file.write(held | news | {"record": record, "version": version})
        except OSError:
            if held["version"]:
                with suppress(*_LANCE_ERRORS):  # `record()` tells of a version that was lost
                    self._table.restore(held["version"])
            raise

    def tidy(self) -> None:
        """Index and compact if there are many new rows or versions."""
        if self._header() is None:
            return
        with self._writing():
            held = self._header()
            if held is None or not held["table"]:
                return
            rows = self._table.count_rows()
            if rows > _UNINDEXED:
                self._index(large=rows >= self._index_from)
            if self._is_untidy(held):
                self._table.optimize(cleanup_older_than=_OLD)
            elif held["version"] == self._table.version:
                return
            self._note(held, record=None, tidied=self._table.version)

    def _is_untidy(self, held: dict[str, Any]) -> bool:
        if self._table.version - held["tidied"] > _VERSIONS:
            return True
        stats = self._table.index_stats("key_idx")
        return stats is not None and stats.num_unindexed_rows > _UNINDEXED

    def _index(self, *, large: bool) -> None:
        """Create the missing indexes, of the keys or of all columns that are searched."""
        from lancedb.index import Bitmap, BTree, IvfRq, LabelList

        wanted: dict[str, Any] = {"key": BTree()}
        if large:
            wanted |= {
                "vector": IvfRq(distance_type="cosine"),
                "made": BTree(),
                "tags": LabelList(),
                **{name: Bitmap() for name in _BITMAPS},
            }
        held = {each.name for each in self._table.list_indices()}
        for column, config in wanted.items():
            if f"{column}_idx" not in held:
                self._table.create_index(column, config=config, name=f"{column}_idx")

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Exclusive, with the errors of the library as `OSError`."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with self._lock.acquire(timeout=self._wait):
                yield
        except filelock.Timeout:
            raise index_busy_error() from None
        except (RuntimeError, ValueError) as error:
            raise OSError(errno.EIO, f"LanceDB: {error}", str(self._folder)) from error

    def is_empty(self) -> bool:
        """Whether it has never had a row; does not load the library."""
        held = self._file.read()
        return held is None or not held["table"]

    @property
    def is_open(self) -> bool:
        """Whether the library is loaded and a table open."""
        return bool(self._name)

    def close(self) -> None:
        self._table, self._name = None, ""
