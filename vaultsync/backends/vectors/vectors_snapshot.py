"""The matrix as one header counts it: mapped parts, fields in columns, search."""

from __future__ import annotations

import mmap
from functools import cached_property
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from vaultsync.backends.vectors.columns import DEAD, FLOAT, ROW, TAG, Columns, fact_of
from vaultsync.backends.vectors.files import PARTS, DamagedError, Header, MatrixFiles
from vaultsync.backends.vectors.vectors_keys import Keys
from vaultsync.indexing.vector_index import Near, VectorRow
from vaultsync.model.filters import Filters

Vectors = npt.NDArray[np.float32]

_BLOCK = 128
"""Rows of which the best is looked at first, to find how good the best ones are."""
_SLACK = 1e-5
"""More than the cosine of one vector differs by between two places of a matrix."""
_DIGITS = 6
"""Of a cosine; what differs less is equal."""
_FEW = 8
"""Where a filter leaves less than one row in so many, these are gathered first."""


class Snapshot:
    """What one header counts. An older one of the same series makes it cheaper."""

    def __init__(
        self, header: Header, files: MatrixFiles, old: Snapshot | None
    ) -> None:
        if old is not None and old.header.series != header.series:
            old = None
        self.header: Header = header
        self._maps: dict[str, mmap.mmap | bytes] = {
            part: _mapped(header, files, part, old) for part in PARTS
        }
        seen = old.header if old else Header(header.identity)
        for part in PARTS[1:]:  # to read all of the vectors takes too long
            _check(self._maps[part], seen, header, part)
        columns = old.columns if old else Columns.empty()
        try:
            columns.words.take(
                self._maps["words"][seen.sizes["words"] : header.sizes["words"]]
            )
            self.rows = self._array("rows", ROW)
            self.dead = self._array("dead", DEAD)
            self.columns: Columns = columns.grown(
                self.rows[len(columns.alive) :],
                self._array("tags", TAG)[len(columns.tags) :],
                self.dead[seen.sizes["dead"] // DEAD.itemsize :],
            )
            vectors = self._array("vectors", FLOAT)
            self.vectors: Vectors = vectors.reshape(len(self.rows), header.dimension)
        except (ValueError, IndexError) as error:
            raise DamagedError(str(error)) from error

    @cached_property
    def keys(self) -> Keys:
        """The rows by name."""
        return Keys(self.rows, self.columns.alive)

    def decoded(self, rows: npt.NDArray[np.intp]) -> list[VectorRow]:
        """Rows as values, with facts that pass the same filters."""
        words, tags = self.columns.words.by_number, self.columns.tags
        chosen = np.zeros(len(self.rows), np.bool_)
        chosen[rows] = True
        tagged: dict[int, list[str]] = {}
        for row, word in tags[chosen[tags["row"]]].tolist():
            tagged.setdefault(row, []).append(words[word])
        return [
            VectorRow(
                fact_of(entry, words, tuple(tagged.get(row, ()))),
                entry["chunk"].decode(),
                vector,
            )
            for row, entry, vector in zip(
                rows.tolist(), self.rows[rows], self.vectors[rows], strict=True
            )
        ]

    def verify(self) -> None:
        """Read all vectors.

        Raises:
            DamagedError: they are not what was written.
        """
        _check(self._maps["vectors"], Header(""), self.header, "vectors")

    def _array(self, part: str, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        count = self.header.sizes[part] // dtype.itemsize
        if not count:
            return np.empty(0, dtype)
        return np.frombuffer(self._maps[part], dtype, count)


def _mapped(
    header: Header, files: MatrixFiles, part: str, old: Snapshot | None
) -> mmap.mmap | bytes:
    if old is not None and len(old._maps[part]) >= header.sizes[part]:  # noqa: SLF001 - of its own kind
        return old._maps[part]  # noqa: SLF001 - the same
    return files.map(header, part)


def _check(block: mmap.mmap | bytes, seen: Header, header: Header, part: str) -> None:
    with memoryview(block) as view:
        fresh = view[seen.sizes[part] : header.sizes[part]]
        if crc32(fresh, seen.sums[part]) != header.sums[part]:
            raise DamagedError(part)


def best(
    held: Snapshot, vector: npt.NDArray[np.float32], filters: Filters, limit: int
) -> list[Near]:
    """The nearest facts that pass the filters, each once."""
    admitted = held.columns.admitted(filters)
    count = int(np.count_nonzero(admitted))
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
        found = _once(held, chosen, scores[top])
        if len(found) >= limit or len(top) >= count:
            return found[:limit]
        wanted *= 4


def _top(scores: Vectors, wanted: int) -> npt.NDArray[np.intp]:
    """The places of the best scores: so many of them, and those that are as good."""
    blocks = len(scores) // _BLOCK
    if blocks > wanted:
        # The best of so many blocks are so many rows: none of the best is below them.
        bests = scores[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
        found = np.flatnonzero(scores >= _floor(bests, wanted))
    else:
        found = np.flatnonzero(scores > -np.inf)
    if len(found) > wanted:
        found = found[scores[found] >= _floor(scores[found], wanted)]
    return found


def _floor(scores: Vectors, wanted: int) -> float:
    """What the last of the best scores is, or a little less; never that of a row left out."""
    place = len(scores) - wanted
    return max(-2.0, float(np.partition(scores, place)[place]) - _SLACK)


def _once(held: Snapshot, rows: npt.NDArray[np.intp], scores: Vectors) -> list[Near]:
    """Each fact by its nearest chunk, the nearest first."""
    entries = held.rows[rows]
    found: dict[str, Near] = {}
    for cosine, fact, chunk in sorted(
        zip(
            (-scores.clip(-1, 1).astype(np.float64).round(_DIGITS)).tolist(),
            entries["fact"].tolist(),
            entries["chunk"].tolist(),
            strict=True,
        )
    ):
        name = fact.decode()
        if name not in found:
            found[name] = Near(name, chunk.decode(), -cosine)
    return list(found.values())
