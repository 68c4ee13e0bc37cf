"""A log of recalled facts in memory."""

from __future__ import annotations

from collections.abc import Iterable

from vaultsync.backends.state.recall_log import parse_recalls
from vaultsync.recall.ports import RecallCount


class MemoryRecallLog:
    """In memory, for one process."""

    def __init__(self) -> None:
        self._lines: list[tuple[str, ...]] = []

    def note(self, fact_ids: Iterable[str], at: str) -> None:
        self._lines.append((at, *fact_ids))

    def size(self) -> int:
        return sum(len(" ".join(line)) + 1 for line in self._lines)

    def take(self) -> dict[str, RecallCount]:
        lines, self._lines = self._lines, []
        return parse_recalls(lines)
