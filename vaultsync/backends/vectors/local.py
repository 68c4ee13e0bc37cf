"""Vectors on this machine: a matrix that is searched, and a copy of it in LanceDB.

Rows are put into the matrix, which is flushed to the disk, and copied into the table of
LanceDB many at a time: a command that changes one note does not load LanceDB. Each of the
two can be restored from the other. LanceDB answers once all rows are copied and there
are enough of them that its index is faster than a full scan; until then the matrix does.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from vaultsync.backends.vectors.lancedb import INDEX_FROM, LanceVectors
from vaultsync.backends.vectors.matrix import MatrixVectors
from vaultsync.errors import DerivedError
from vaultsync.indexing.ports import NearFact, VectorRow
from vaultsync.model.filters import FactFilters
from vaultsync.storage.erasure import Traces

_log = logging.getLogger(__name__)
_MIN_COPIED_ROWS = 256
"""The number of new rows from which loading LanceDB and writing a table version pays off."""


class LocalVectors(MatrixVectors):
    """A matrix with a copy in LanceDB, in one folder, which may be deleted at any time."""

    def __init__(self, folder: Path, *, index_from: int = INDEX_FROM) -> None:
        super().__init__(folder / "matrix")
        self._table = LanceVectors(folder / "lance", index_from=index_from)
        self._index_from = index_from
        self._searched = self._tried = False

    def identity(self) -> str | None:
        """A matrix that was lost is restored from its copy."""
        found = super().identity()
        if found is None and not self._tried:
            with _copy_errors_logged():
                self._restore()
            found = super().identity()
            self._tried = found is None
        return found

    def reset(self, identity: str) -> None:
        with self.alone():
            super().reset(identity)
            with _copy_errors_logged():
                self._table.reset(identity)

    def put(
        self, rows: Sequence[VectorRow], *, replace: Iterable[str] = (), record: str | None = None
    ) -> None:
        super().put(rows, replace=replace, record=record)
        if self.rows() >= self._index_from:
            self._copy()

    def search(
        self, vector: Sequence[float], filters: FactFilters, *, limit: int
    ) -> list[NearFact]:
        if self.rows() >= self._index_from and self._table_answers():
            found = self._table.search(vector, filters, limit=limit)
            if found and self._table.identity() is not None:
                return found
        return super().search(vector, filters, limit=limit)

    def _table_answers(self) -> bool:
        # A single question is answered sooner than LanceDB is loaded for it.
        first, self._searched = not self._searched, True
        if (first and not self._table.is_open) or self.uncopied():
            return False
        with _copy_errors_logged():
            return self._is_copy()
        return False

    def tidy(self) -> None:
        """Copy what is not copied yet, and compact both."""
        self._copy()
        with _copy_errors_logged():
            if self._table.is_open:
                self._table.tidy()
        super().tidy()

    def erase(self, traces: Traces) -> dict[str, int]:
        """Erase the rows of facts from both; the table is deleted and copied again."""
        identity = super().identity()
        with self.alone():
            erased = super().erase(traces)
            if identity is not None and not self._table.is_empty():
                self.mark_copied(nothing=True)
                self._table.reset(identity)
        return erased

    def close(self) -> None:
        super().close()
        self._table.close()

    def _copy(self) -> None:
        """Update the table from the matrix if enough rows are new or the table is already open."""
        waiting = self.uncopied()
        if not waiting or (waiting < _MIN_COPIED_ROWS and not self._table.is_open):
            return
        with _copy_errors_logged(), self.alone():
            identity = super().identity()
            if identity is not None and not (self.has_copy and self._is_copy()):
                self.mark_copied(nothing=True)
                self._table.reset(identity)
            gone, pages = self.changes()
            self._table.put(next(pages, []), replace=gone)
            for page in pages:
                self._table.put(page)
            self._table.put([], record=self.record() or "")
            self.mark_copied()

    def _is_copy(self) -> bool:
        """Whether the table has the same vectors and has lost none."""
        return self._table.identity() == super().identity() and self._table.record() is not None

    def _restore(self) -> None:
        """Fill an empty matrix from the table."""
        identity = None if self._table.is_empty() else self._table.identity()
        if identity is None:
            return
        with self.alone():
            super().reset(identity)
            for page in self._table.rows():
                super().put(page)
            # None when the table turned out to be damaged on the way.
            super().put([], record=self._table.record())
            self.mark_copied()


@contextmanager
def _copy_errors_logged() -> Iterator[None]:
    """Log an error of the copy: the matrix is complete without it; LanceDB may not be installed."""
    try:
        yield
    except (OSError, DerivedError, ImportError) as error:
        _log.debug("the copy of the vectors in LanceDB: %s", error)
