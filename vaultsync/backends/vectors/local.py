"""Vectors on this machine: a matrix that answers, and a copy of it in LanceDB.

What is put goes into the matrix, which is flushed to the disk, and from there into the
table of LanceDB, many rows at a time: a command that changes one note does not load
LanceDB. Either can be made again from the other. Where there are so many rows that an
index answers sooner than a look at all of them, and nothing waits to be copied, LanceDB
answers; whenever it cannot, the matrix does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from vaultsync.backends.vectors.lancedb import INDEX_FROM, LanceVectors
from vaultsync.backends.vectors.matrix import MatrixVectors
from vaultsync.errors import DerivedError
from vaultsync.indexing.ports import NearFact, VectorRow
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters

_COPIED_AT_ONCE = 256
"""So many rows are worth a version of the table, and loading LanceDB."""
# The matrix is whole without its copy. LanceDB may not even be installed.
_TROUBLE = (OSError, DerivedError, ImportError)


class LocalVectors:
    """A `VectorIndex` in one folder, which may be deleted at any time."""

    def __init__(self, folder: Path, *, index_from: int = INDEX_FROM) -> None:
        self._matrix = MatrixVectors(folder / "matrix")
        self._table = LanceVectors(folder / "lance", index_from=index_from)
        self._index_from = index_from
        self._searched = self._tried = False

    def identity(self) -> str | None:
        """Of the vectors it holds; a matrix that is lost is made again from its copy."""
        found = self._matrix.identity()
        if found is None and not self._tried:
            with suppress(*_TROUBLE):
                self._restore()
            found = self._matrix.identity()
            self._tried = found is None
        return found

    def record(self) -> str | None:
        return self._matrix.record()

    def reset(self, identity: str) -> None:
        with self._matrix.alone():
            self._matrix.reset(identity)
            with suppress(*_TROUBLE):
                self._table.reset(identity)

    def chunks(self, fact_ids: Iterable[str] | None = None) -> Mapping[str, frozenset[str]]:
        return self._matrix.chunks(fact_ids)

    def outdated(self, facts: Iterable[Fact]) -> set[str]:
        return self._matrix.outdated(facts)

    def count(self) -> int:
        return self._matrix.count()

    def vectors(self, chunk_ids: Iterable[str]) -> dict[str, Sequence[float]]:
        return self._matrix.vectors(chunk_ids)

    def put(
        self, rows: Sequence[VectorRow], *, replace: Iterable[str] = (), record: str | None = None
    ) -> None:
        self._matrix.put(rows, replace=replace, record=record)
        if self._matrix.rows() >= self._index_from:
            self._copy()

    def search(
        self, vector: Sequence[float], filters: FactFilters, *, limit: int
    ) -> list[NearFact]:
        if self._matrix.rows() >= self._index_from and self._table_answers():
            found = self._table.search(vector, filters, limit=limit)
            if found and self._table.identity() is not None:
                return found
        return self._matrix.search(vector, filters, limit=limit)

    def _table_answers(self) -> bool:
        # A single question is answered sooner than LanceDB is loaded for it.
        first, self._searched = not self._searched, True
        if (first and not self._table.is_open) or self._matrix.uncopied():
            return False
        try:
            return self._is_copy()
        except _TROUBLE:
            return False

    def tidy(self) -> None:
        """Copy what waits for it, and make both fast again."""
        self._copy()
        with suppress(*_TROUBLE):
            if self._table.is_open:
                self._table.tidy()
        self._matrix.tidy()

    def close(self) -> None:
        self._matrix.close()
        self._table.close()

    def _copy(self) -> None:
        """Bring the table up to the matrix, when enough waits or it is open anyway."""
        waiting = self._matrix.uncopied()
        if not waiting or (waiting < _COPIED_AT_ONCE and not self._table.is_open):
            return
        with suppress(*_TROUBLE), self._matrix.alone():
            identity = self._matrix.identity()
            if identity is not None and not (self._matrix.has_copy and self._is_copy()):
                self._matrix.mark_copied(nothing=True)
                self._table.reset(identity)
            gone, pages = self._matrix.changes()
            self._table.put(next(pages, []), replace=gone)
            for page in pages:
                self._table.put(page)
            self._table.put([], record=self._matrix.record() or "")
            self._matrix.mark_copied()

    def _is_copy(self) -> bool:
        """Whether the table is of the same vectors and has lost nothing."""
        return (
            self._table.identity() == self._matrix.identity() and self._table.record() is not None
        )

    def _restore(self) -> None:
        """Fill an empty matrix from the table."""
        identity = None if self._table.is_empty() else self._table.identity()
        if identity is None:
            return
        with self._matrix.alone():
            self._matrix.reset(identity)
            for page in self._table.rows():
                self._matrix.put(page)
            # None when the table turned out to be damaged on the way.
            self._matrix.put([], record=self._table.record())
            self._matrix.mark_copied()
