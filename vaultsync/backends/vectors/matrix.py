"""Vectors in a memory-mapped matrix: exact search by one product; loads only numpy."""

from __future__ import annotations

import mmap
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace as replace_fields
from functools import cached_property
from pathlib import Path
from typing import Any
from zlib import crc32

import filelock
import numpy as np
import numpy.typing as npt

from vaultsync.backends.vectors.columns import (
    DEAD_DTYPE,
    FLOAT_DTYPE,
    ROW_DTYPE,
    TAG_DTYPE,
    FilterColumns,
    FilterFields,
    RowKeys,
    best_by_fact,
    check_dimension,
    chunks_by_fact,
    cosines_by_fact,
    dimension_of,
    encode_rows,
    index_busy_error,
    index_missing_error,
    not_finite_error,
)
from vaultsync.backends.vectors.files import MATRIX_PARTS, DamagedError, MatrixFiles, MatrixHeader
from vaultsync.indexing.ports import NearFact, VectorRow
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.storage.erasure import Traces

VectorArray = npt.NDArray[np.float32]

_SLACK = 1e-5
"""More than one vector's cosine differs between two positions of a matrix."""
_FEW = 8
"""If a filter leaves less than one row in eight, only these rows are multiplied."""


class MatrixSnapshot:
    """The rows that one header covers. An older snapshot of the same series saves reading."""

    def __init__(
        self, header: MatrixHeader, files: MatrixFiles, old: MatrixSnapshot | None
    ) -> None:
        if old is not None and old.header.series != header.series:
            old = None
        self.header: MatrixHeader = header
        self._maps: dict[str, mmap.mmap | bytes] = {
            part: _mapped(header, files, part, old) for part in MATRIX_PARTS
        }
        seen = old.header if old else MatrixHeader(None)
        for part in MATRIX_PARTS[1:]:  # to read all of the vectors takes too long
            _check(self._maps[part], seen, header, part)
        columns = old.columns if old else FilterColumns.empty()
        try:
            columns.words.take(self._maps["words"][seen.sizes["words"] : header.sizes["words"]])
            self.rows = self._array("rows", ROW_DTYPE)
            self.dead = self._array("dead", DEAD_DTYPE)
            self.columns: FilterColumns = columns.grown(
                self.rows[len(columns.alive) :],
                self._array("tags", TAG_DTYPE)[len(columns.tags) :],
                self.dead[seen.sizes["dead"] // DEAD_DTYPE.itemsize :],
            )
            vectors = self._array("vectors", FLOAT_DTYPE)
            self.vectors: VectorArray = vectors.reshape(len(self.rows), header.dimension)
        except (ValueError, IndexError) as error:
            raise DamagedError(str(error)) from error

    @cached_property
    def keys(self) -> RowKeys:
        return RowKeys(self.rows, self.columns.alive)

    def decoded(self, rows: npt.NDArray[np.intp]) -> list[VectorRow]:
        """Rows with facts that match the same filters as the original facts."""
        words, tags = self.columns.words.by_number, self.columns.tags
        chosen = np.zeros(len(self.rows), np.bool_)
        chosen[rows] = True
        tagged: dict[int, list[str]] = {}
        for row, word in tags[chosen[tags["row"]]].tolist():
            tagged.setdefault(row, []).append(words[word])
        found = []
        entries = zip(rows.tolist(), self.rows[rows].tolist(), self.vectors[rows], strict=True)
        for row, (fact_id, chunk, *numbers, created, priority, head), vector in entries:
            scope, kind, status = (words[number] for number in numbers)
            tags_of_row = tagged.get(row, ())
            fields = FilterFields(scope, kind, status, priority, head, created, tags_of_row)
            found.append(VectorRow(fields.fact(fact_id.decode()), chunk.decode(), vector))
        return found

    def verify(self) -> None:
        """Read all vectors; `DamagedError` if they are not what was written."""
        _check(self._maps["vectors"], MatrixHeader(None), self.header, "vectors")

    def _array(self, part: str, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        count = self.header.sizes[part] // dtype.itemsize
        if not count:
            return np.empty(0, dtype)
        return np.frombuffer(self._maps[part], dtype, count)


def _mapped(
    header: MatrixHeader, files: MatrixFiles, part: str, old: MatrixSnapshot | None
) -> mmap.mmap | bytes:
    if old is not None and len(old._maps[part]) >= header.sizes[part]:  # noqa: SLF001 - of its own kind
        return old._maps[part]  # noqa: SLF001 - the same
    return files.map(header, part)


def _check(block: mmap.mmap | bytes, seen: MatrixHeader, header: MatrixHeader, part: str) -> None:
    with memoryview(block) as view:
        fresh = view[seen.sizes[part] : header.sizes[part]]
        if crc32(fresh, seen.sums[part]) != header.sums[part]:
            raise DamagedError(part)


def nearest_facts(
    held: MatrixSnapshot, vector: npt.NDArray[np.float32], filters: FactFilters, limit: int
) -> list[NearFact]:
    """The nearest facts that match the filters, each once."""
    admitted = held.columns.admitted(filters)
    count = int(np.count_nonzero(admitted))
    if not count:
        return []
    rows = None
    if count * _FEW < len(admitted):
        rows = np.flatnonzero(admitted)
        scores = held.vectors[rows] @ vector
    else:
        scores = held.vectors @ vector
        if count < len(admitted):
            scores[~admitted] = -np.inf
    wanted = limit
    while True:
        top = _top(scores, wanted)
        chosen = top if rows is None else rows[top]
        rows_found = held.rows[chosen]
        facts, chunks = rows_found["fact"].tolist(), rows_found["chunk"].tolist()
        found = best_by_fact(
            (score, fact.decode(), chunk.decode())
            for score, fact, chunk in zip(scores[top].tolist(), facts, chunks, strict=True)
        )
        if len(found) >= limit or len(top) >= count:
            return found[:limit]
        wanted *= 4


def _top(scores: VectorArray, wanted: int) -> npt.NDArray[np.intp]:
    """The positions of the best scores of rows that are not filtered, with ties of the last."""
    place = max(0, len(scores) - wanted)
    last = float(np.partition(scores, place)[place])
    return np.flatnonzero(scores >= max(-2.0, last - _SLACK))


_MIN_DEAD = (512, 0.25)
"""The number of dead rows, and their share of all, from which on the files are rewritten."""
_COPIED_ROWS = 16384
"""Rows of one copy."""
_WAIT = 2.0
"""Seconds to wait for another writer."""


class MatrixVectors:
    """A `VectorIndex` of files in a folder of its own."""

    def __init__(self, folder: Path, *, wait: float = _WAIT) -> None:
        self._folder = folder
        self._files = MatrixFiles(folder)
        self._lock = filelock.FileLock(folder / "lock", mode=0o600)
        self._wait = wait
        self._seen: MatrixSnapshot | None = None
        self._empty = MatrixSnapshot(MatrixHeader(None), self._files, None)
        self._bad: MatrixHeader | None = None

    def identity(self) -> str | None:
        return self._now().header.identity

    def record(self) -> str | None:
        return self._now().header.record

    def reset(self, identity: str) -> None:
        with self.alone():
            self._files.publish(MatrixHeader(identity, series=secrets.token_hex(4)))

    def chunks(self, fact_ids: Iterable[str] | None = None) -> Mapping[str, frozenset[str]]:
        seen = self._now()
        if fact_ids is None:
            rows = seen.rows[seen.columns.alive]
        else:
            named = seen.keys.facts(fact_ids)
            rows = seen.rows[[row for many in named.values() for row in many]]
        pairs = zip(rows["fact"].tolist(), rows["chunk"].tolist(), strict=True)
        return chunks_by_fact((fact.decode(), chunk.decode()) for fact, chunk in pairs)

    def outdated(self, facts: Iterable[Fact]) -> set[str]:
        seen = self._now()
        given = {fact.id: FilterFields.of(fact) for fact in facts}
        rows = [many[0] for many in seen.keys.facts(given).values()]
        return {
            row.fact.id
            for row in seen.decoded(np.array(rows, np.intp))
            if FilterFields.of(row.fact) != given[row.fact.id]
        }

    def count(self) -> int:
        return self._now().header.facts

    def vectors(self, chunk_ids: Iterable[str]) -> dict[str, Sequence[float]]:
        seen = self._now()
        return {
            chunk: seen.vectors[row].tolist() for chunk, row in seen.keys.chunks(chunk_ids).items()
        }

    def put(
        self, rows: Sequence[VectorRow], *, replace: Iterable[str] = (), record: str | None = None
    ) -> None:
        with self.alone():
            seen = self._now()
            if seen.header.identity is None:
                raise index_missing_error()
            self._files.publish(self._grown(seen, rows, set(replace), record))

    def _grown(
        self,
        seen: MatrixSnapshot,
        rows: Sequence[VectorRow],
        replaced: set[str],
        record: str | None,
    ) -> MatrixHeader:
        """Write more rows, and return the header of the snapshot that includes them."""
        unique = {(row.fact.id, row.chunk_id): row for row in rows}
        header = seen.header
        matrix = _stacked(list(unique.values()), header.dimension)
        put = {fact_id for fact_id, _ in unique}
        held = seen.keys.facts(put | replaced)
        chunks = seen.rows["chunk"]
        dead = [
            row
            for fact_id, many in held.items()
            for row in many
            if fact_id in replaced or (fact_id, chunks[row].decode()) in unique
        ]
        words = seen.columns.words.copy()
        entries, tags = encode_rows(list(unique.values()), words, len(seen.rows))
        blocks = {
            "vectors": matrix.tobytes(),
            "rows": entries.tobytes(),
            "tags": tags.tobytes(),
            "dead": np.array(dead, DEAD_DTYPE).tobytes(),
            "words": words.fresh(len(seen.columns.words.by_number)),
        }
        return replace_fields(
            self._files.append(header, blocks),
            dimension=header.dimension or matrix.shape[1],
            facts=header.facts + len(put) - len(held),
            record=header.record if record is None else record,
        )

    def search(
        self, vector: Sequence[float], filters: FactFilters, *, limit: int
    ) -> list[NearFact]:
        seen = self._now()
        if not len(seen.rows) or limit < 1:
            return []
        check_dimension(vector, seen.header.dimension)
        return nearest_facts(seen, np.asarray(vector, np.float32), filters, limit)

    def cosines(self, vector: Sequence[float], fact_ids: Iterable[str]) -> dict[str, list[float]]:
        seen = self._now()
        held = seen.keys.facts(fact_ids)
        if not held:
            return {}
        check_dimension(vector, seen.header.dimension)
        rows = [row for many in held.values() for row in many]
        facts = (fact for fact, many in held.items() for _ in many)
        scores = seen.vectors[rows] @ np.asarray(vector, np.float32)
        return cosines_by_fact(zip(facts, scores.tolist(), strict=True))

    def tidy(self) -> None:
        """Rewrite the files without the dead rows if there are many."""
        seen = self._now()
        dead = len(seen.dead)
        if dead < _MIN_DEAD[0] or dead < _MIN_DEAD[1] * len(seen.rows):
            return
        with self.alone():
            seen = self._now()
            if seen.header.identity is not None:
                self._files.publish(self._rewritten(seen))

    def erase(self, traces: Traces) -> dict[str, int]:
        """Erase the rows of facts, as an `Erasable`: all parts are written again without them.

        A process that has the old parts mapped can go on with them until it looks again.
        """
        with self.alone():
            held = sum(map(len, self.chunks(traces.fact_ids).values()))
            if self.identity() is not None:
                self.put([], replace=traces.fact_ids)
                self._files.publish(self._rewritten(self._now()))
        return {"vectors": held}

    def close(self) -> None:
        self._seen = None

    # ------------------------------------------------------------- for a copy elsewhere

    def rows(self) -> int:
        seen = self._now()
        return len(seen.rows) - len(seen.dead)

    def uncopied(self) -> int:
        """The number of rows that were added or removed since the last copy."""
        seen = self._now()
        return len(seen.rows) + len(seen.dead) - sum(seen.header.copied)

    @property
    def has_copy(self) -> bool:
        """Whether any of it was copied."""
        return self._now().header.copied != (0, 0)

    def changes(self) -> tuple[set[str], Iterator[list[VectorRow]]]:
        """What brings a copy up to date: facts whose rows are replaced, and new rows.

        The facts of the rows pass the same filters as those that were put.
        """
        seen = self._now()
        rows, dead = seen.header.copied
        changed = {each.decode() for each in seen.rows["fact"][seen.dead[dead:]].tolist()}
        chosen = np.arange(len(seen.rows)) >= rows
        held = seen.keys.facts(changed)
        chosen[[row for many in held.values() for row in many]] = True
        wanted = np.flatnonzero(chosen & seen.columns.alive)
        pages = (
            seen.decoded(wanted[start : start + _COPIED_ROWS])
            for start in range(0, len(wanted), _COPIED_ROWS)
        )
        return changed, pages

    def mark_copied(self, *, nothing: bool = False) -> None:
        """Note that the copy is up to date, or that there is none."""
        with self.alone():
            seen = self._now()
            if seen.header.identity is not None:
                whole = (0, 0) if nothing else (len(seen.rows), len(seen.dead))
                self._files.publish(replace_fields(seen.header, copied=whole))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the write lock; `IndexBusyError` if another process holds it."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with self._lock.acquire(timeout=self._wait):
                yield
        except filelock.Timeout:
            raise index_busy_error() from None

    # --------------------------------------------------------------------------- inside

    def _now(self) -> MatrixSnapshot:
        """The newest snapshot; empty if there is none or it cannot be read."""
        for again in (True, False):
            header = self._files.header()
            if header is None or header is self._bad:
                break
            if self._seen is not None and self._seen.header is header:
                return self._seen
            try:
                self._seen = MatrixSnapshot(header, self._files, self._seen)
            except DamagedError:
                self._seen, self._bad = None, header
                if again:  # others may have replaced the files since it was read
                    self._files.forget()
            else:
                return self._seen
        self._seen = None
        return self._empty

    def _rewritten(self, seen: MatrixSnapshot) -> MatrixHeader:
        """The header of files with only the live rows."""
        try:
            seen.verify()
        except DamagedError:
            self._files.discard()
            raise index_missing_error() from None
        alive = np.flatnonzero(seen.columns.alive)
        place = np.zeros(len(seen.rows), np.int32)
        place[alive] = np.arange(len(alive), dtype=np.int32)
        tags = seen.columns.tags[seen.columns.alive[seen.columns.tags["row"]]]
        tags["row"] = place[tags["row"]]
        entries = seen.rows[alive]
        words = seen.columns.words.only(entries, tags)
        header = MatrixHeader(
            seen.header.identity,
            record=seen.header.record,
            dimension=seen.header.dimension,
            facts=seen.header.facts,
            series=secrets.token_hex(4),
            copied=(len(alive), 0) if not self.uncopied() else (0, 0),
        )
        blocks = {"tags": tags.tobytes(), "words": words.fresh(0)}
        header = self._files.append(header, blocks)
        for start in range(0, len(alive), _COPIED_ROWS):
            part = slice(start, start + _COPIED_ROWS)
            vectors = seen.vectors[alive[part]]
            blocks = {"vectors": vectors.tobytes(), "rows": entries[part].tobytes()}
            header = self._files.append(header, blocks)
        return header


def _stacked(rows: Sequence[VectorRow], known: int) -> VectorArray:
    dimension = dimension_of(rows, known)
    matrix = np.array([row.vector for row in rows], FLOAT_DTYPE).reshape(len(rows), dimension)
    if not np.isfinite(matrix).all():
        raise not_finite_error()
    return matrix
