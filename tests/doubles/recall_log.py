"""A log of used facts in memory."""

from __future__ import annotations

from collections.abc import Iterable

from vaultsync.backends.state.recall_log import parse_uses
from vaultsync.recall.ports import LoggedUses


class MemoryRecallLog:
    """In memory, for one process."""

    def __init__(self) -> None:
        self._lines: list[tuple[str, ...]] = []
        self._batch: LoggedUses | None = None
        self._size = self._made = 0

    def note(self, fact_ids: Iterable[str], at: str) -> None:
        self._lines.append((at, *fact_ids))

    def size(self) -> int:
        return self._size + self._new_size()

    def _new_size(self) -> int:
        return sum(len(" ".join(line)) + 1 for line in self._lines)

    def batch(self) -> LoggedUses | None:
        if self._batch is None and self._lines:
            self._made += 1
            self._size = self._new_size()
            self._batch = LoggedUses(f"batch{self._made}", parse_uses(self._lines))
            self._lines = []
        return self._batch

    def drop(self, op: str) -> None:
        if self._batch is not None and self._batch.op == op:
            self._batch, self._size = None, 0
