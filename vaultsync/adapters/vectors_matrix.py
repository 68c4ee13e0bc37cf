"""Vectors in a memory-mapped matrix: exact search by one product; loads numpy alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace as but
from pathlib import Path

import filelock
import numpy as np

from vaultsync.adapters.vectors_columns import DEAD, FLOAT, encode
from vaultsync.adapters.vectors_fields import filtered_by
from vaultsync.adapters.vectors_files import DamagedError, Header, MatrixFiles
from vaultsync.adapters.vectors_snapshot import Keys, Snapshot, Vectors, best
from vaultsync.core.fact import Fact
from vaultsync.errors import DerivedError, EmbedderError, IndexBusyError
from vaultsync.ports import Filters, Near, VectorRow

_DEAD = (512, 0.25)
"""So many dead rows, and such a share of all, are worth a rewriting."""
_AT_ONCE = 16384
"""Rows that are copied at once."""
_WAIT = 2.0
"""Seconds for which another writer is waited for."""


class MatrixVectors:
    """A `VectorIndex` of files in a folder of its own."""

    def __init__(self, folder: Path, *, wait: float = _WAIT) -> None:
        self._folder = folder
        self._files = MatrixFiles(folder)
        self._lock = filelock.FileLock(folder / "lock", mode=0o600)
        self._wait = wait
        self._seen: Snapshot | None = None
        self._keys: Keys | None = None

    def identity(self) -> str | None:
        """Of the vectors it holds."""
        seen = self._now()
        return seen.header.identity if seen else None

    def record(self) -> str | None:
        """What was noted last."""
        seen = self._now()
        return seen.header.record if seen else None

    def reset(self, identity: str) -> None:
        """Forget everything."""
        with self.alone():
            self._files.publish(self._files.begin(identity))

    def chunks(
        self, fact_ids: Iterable[str] | None = None
    ) -> Mapping[str, frozenset[str]]:
        """Fact id -> the ids of its chunks."""
        seen = self._now()
        if seen is None:
            return {}
        held = self._known(seen).facts
        wanted = held if fact_ids is None else [each.encode() for each in fact_ids]
        return {
            fact.decode(): frozenset(map(bytes.decode, held[fact]))
            for fact in wanted
            if fact in held
        }

    def outdated(self, facts: Iterable[Fact]) -> set[str]:
        """Those of the facts that have rows made of other fields."""
        seen = self._now()
        if seen is None:
            return set()
        held = self._known(seen).facts
        rows = {
            next(iter(held[key].values())): fact
            for fact in facts
            if (key := fact.id.encode()) in held
        }
        made = seen.decoded(np.array(list(rows), np.intp))
        return {
            fact.id
            for fact, row in zip(rows.values(), made, strict=True)
            if filtered_by(fact) != filtered_by(row.fact)
        }

    def count(self) -> int:
        """How many facts it holds."""
        seen = self._now()
        return len(self._known(seen).facts) if seen else 0

    def vectors(self, chunk_ids: Iterable[str]) -> dict[str, Sequence[float]]:
        """The vectors of those chunks that are held."""
        seen = self._now()
        if seen is None:
            return {}
        found = self._known(seen).find(each.encode() for each in chunk_ids)
        return {
            chunk.decode(): seen.vectors[row].tolist() for chunk, row in found.items()
        }

    def put(
        self,
        rows: Sequence[VectorRow],
        *,
        replace: Iterable[str] = (),
        record: str | None = None,
    ) -> None:
        """Add rows; those of the facts in `replace` go first."""
        with self.alone():
            seen = self._now()
            if seen is None:
                raise DerivedError(
                    "the vectors are gone or damaged",
                    hint="the next pass makes them again",
                )
            self._put(seen, rows, replace, record)

    def _put(
        self,
        seen: Snapshot,
        rows: Sequence[VectorRow],
        replace: Iterable[str],
        record: str | None,
    ) -> None:
        unique = {(row.fact.id, row.chunk_id): row for row in rows}
        header = seen.header
        matrix = _stacked(list(unique.values()), header.dimension)
        facts = self._known(seen).facts
        gone: set[int] = set()
        for fact_id in replace:
            gone.update(facts.get(fact_id.encode(), {}).values())
        for fact_id, chunk_id in unique:
            row = facts.get(fact_id.encode(), {}).get(chunk_id.encode())
            gone.update([] if row is None else [row])
        words = seen.columns.words.copy()
        entries, tags = encode(list(unique.values()), words, len(seen.rows))
        blocks = {
            "vectors": matrix.tobytes(),
            "rows": entries.tobytes(),
            "tags": tags.tobytes(),
            "dead": np.array(sorted(gone), DEAD).tobytes(),
            "words": words.fresh(len(seen.columns.words.by_number)),
        }
        grown = self._files.append(header, blocks)
        self._files.publish(
            but(
                grown,
                dimension=header.dimension or matrix.shape[1],
                record=header.record if record is None else record,
            )
        )

    def search(
        self, vector: Sequence[float], filters: Filters, *, limit: int
    ) -> list[Near]:
        """The nearest facts, each once."""
        seen = self._now()
        if seen is None or not len(seen.rows) or limit < 1:
            return []
        wanted = np.asarray(vector, np.float32)
        if wanted.shape != (seen.header.dimension,):
            raise _dimension(len(wanted), seen.header.dimension)
        return best(seen, wanted, filters, limit)

    def tidy(self) -> None:
        """Write the files again without the dead rows, when these are many."""
        seen = self._now()
        if seen is None:
            return
        dead = seen.header.sizes["dead"] // 4
        if dead < _DEAD[0] or dead < _DEAD[1] * len(seen.rows):
            return
        with self.alone():
            seen = self._now()
            if seen is not None:
                self._files.publish(self._rewritten(seen))

    def close(self) -> None:
        """Let go of the files."""
        self._seen = self._keys = None

    # ------------------------------------------------------- for who keeps a copy of it

    def rows(self) -> int:
        """How many rows it holds."""
        seen = self._now()
        return len(seen.rows) - len(seen.dead) if seen else 0

    def uncopied(self) -> int:
        """How many rows came or went since the copy was made."""
        seen = self._now()
        if seen is None:
            return 0
        return len(seen.rows) + len(seen.dead) - sum(seen.header.copied)

    def changes(self) -> tuple[set[str], Iterator[list[VectorRow]]]:
        """What brings a copy up to date: facts whose rows go, then rows that come.

        The facts of the rows pass the same filters as those that were put.
        """
        seen = self._now()
        if seen is None:
            return set(), iter([])
        rows, dead = seen.header.copied
        changed = set(seen.rows["fact"][seen.dead[dead:]].tolist())
        known = self._known(seen).facts
        chosen = np.arange(len(seen.rows)) >= rows
        chosen[[row for fact in changed for row in known.get(fact, {}).values()]] = True
        wanted = np.flatnonzero(chosen & seen.columns.alive)
        pages = (
            seen.decoded(wanted[start : start + _AT_ONCE])
            for start in range(0, len(wanted), _AT_ONCE)
        )
        return {fact.decode() for fact in changed}, pages

    def mark_copied(self, *, nothing: bool = False) -> None:
        """Note that the copy is up to date, or that there is none."""
        with self.alone():
            seen = self._now()
            if seen is not None:
                whole = (0, 0) if nothing else (len(seen.rows), len(seen.dead))
                self._files.publish(but(seen.header, copied=whole))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """While no other process writes.

        Raises:
            IndexBusyError: one does.
        """
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with self._lock.acquire(timeout=self._wait):
                yield
        except filelock.Timeout:
            raise IndexBusyError(
                "another process is writing the vectors",
                hint="what is missing now is taken up by the next pass",
            ) from None

    # --------------------------------------------------------------------------- inside

    def _now(self) -> Snapshot | None:
        """What counts now; None when that is nothing, or cannot be read."""
        for _ in range(3):
            header = self._files.header()
            if header is None:
                break
            if self._seen is not None and self._seen.header is header:
                return self._seen
            try:
                self._seen = Snapshot(header, self._files, self._seen)
            except DamagedError:
                self._seen = None
                self._files.forget()  # it may have been replaced since it was read
            else:
                return self._seen
        self._seen = self._keys = None
        return None

    def _known(self, seen: Snapshot) -> Keys:
        if self._keys is None or not self._keys.follow(seen):
            self._keys = Keys(seen)
        return self._keys

    def _rewritten(self, seen: Snapshot) -> Header:
        """The header of files that hold the living rows alone."""
        try:
            seen.verify()
        except DamagedError:
            raise DerivedError(
                "the vectors are damaged", hint="the next pass makes them again"
            ) from None
        alive = np.flatnonzero(seen.columns.alive)
        place = np.zeros(len(seen.rows), np.int32)
        place[alive] = np.arange(len(alive), dtype=np.int32)
        tags = seen.columns.tags[seen.columns.alive[seen.columns.tags["row"]]]
        tags["row"] = place[tags["row"]]
        header = but(
            self._files.begin(seen.header.identity),
            record=seen.header.record,
            dimension=seen.header.dimension,
            copied=(len(alive), 0) if not self.uncopied() else (0, 0),
        )
        blocks = {"tags": tags.tobytes(), "words": seen.columns.words.fresh(0)}
        header = self._files.append(header, blocks)
        for start in range(0, len(alive), _AT_ONCE):
            some = alive[start : start + _AT_ONCE]
            blocks = {
                "vectors": seen.vectors[some].tobytes(),
                "rows": seen.rows[some].tobytes(),
            }
            header = self._files.append(header, blocks)
        return header


def _stacked(rows: Sequence[VectorRow], dimension: int) -> Vectors:
    """The vectors of rows, all of one dimension, which is the given one unless 0."""
    dimension = dimension or (len(rows[0].vector) if rows else 0)
    for row in rows:
        if len(row.vector) != dimension:
            raise _dimension(len(row.vector), dimension)
    return np.array([row.vector for row in rows], FLOAT).reshape(len(rows), dimension)


def _dimension(found: int, expected: int) -> EmbedderError:
    return EmbedderError(
        f"a vector has {found} numbers, but those of the index have {expected}",
        hint="the model was changed; the next pass makes all vectors again",
    )
