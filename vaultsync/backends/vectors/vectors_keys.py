"""The rows of a matrix by the names of their facts and chunks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

_PART = 8
"""Bytes of a name by which rows are sorted; rows of equal ones are looked at."""
_LAST = {"fact": 36 - _PART, "chunk": 0}
"""Where those bytes begin: an id of a fact begins with the time, which many share."""


class Keys:
    """Finds living rows by name, in two arrays that are sorted when first asked for."""

    def __init__(
        self, rows: npt.NDArray[np.void], alive: npt.NDArray[np.bool_]
    ) -> None:
        self._rows = rows
        self._alive = alive
        self._sorted: dict[str, tuple[npt.NDArray[Any], npt.NDArray[np.intp]]] = {}

    def facts(self, names: Iterable[str]) -> dict[str, list[int]]:
        """The rows of those of the facts that have any."""
        return self._find("fact", names)

    def chunks(self, names: Iterable[str]) -> dict[str, int]:
        """One of the rows of each of the chunks that are held."""
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
                row
                for row in order[start:end].tolist()
                if self._alive[row] and held[row] == full
            ]
            if rows:
                found[name] = rows
        return found


def _parts(rows: npt.NDArray[np.void], field: str) -> npt.NDArray[np.uint64]:
    """Of each name the bytes by which it is sorted, as one number."""
    at = rows.dtype.fields[field][1] + _LAST[field]  # type: ignore[index]
    table = rows.view(np.uint8).reshape(len(rows), rows.dtype.itemsize)
    parts: npt.NDArray[np.uint64] = (
        np.ascontiguousarray(table[:, at : at + _PART]).view("<u8").ravel()
    )
    return parts
