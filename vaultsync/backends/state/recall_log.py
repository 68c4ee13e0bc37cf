"""What was recalled, in a file of the state folder: one line for each answer."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from vaultsync.model.canonical import NEVER, to_microseconds
from vaultsync.recall.ports import RecallCount

RECALL_LOG_NAME = "recalled.log"


class FileRecallLog:
    """Lines are appended in one write and never synced; who takes them takes the file."""

    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / RECALL_LOG_NAME

    def note(self, fact_ids: Iterable[str], at: str) -> None:
        line = " ".join((at, *fact_ids))
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        with suppress(OSError):
            fd = os.open(self._path, flags, 0o600)
            try:
                os.write(fd, f"{line}\n".encode())
            finally:
                os.close(fd)

    def size(self) -> int:
        try:
            return self._path.stat().st_size
        except OSError:
            return 0

    def take(self) -> dict[str, RecallCount]:
        taken = self._path.with_name(f"{RECALL_LOG_NAME}.{os.urandom(4).hex()}")
        lines: list[str] = []
        with suppress(OSError):
            self._path.rename(taken)
            lines = taken.read_text(encoding="utf-8", errors="replace").splitlines()
            taken.unlink()
        return parse_recalls(line.split() for line in lines)


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


def parse_recalls(lines: Iterable[Iterable[str]]) -> dict[str, RecallCount]:
    """Each fact of lines that begin with a time; others are none of ours."""
    found: dict[str, RecallCount] = {}
    for at, *fact_ids in filter(None, map(list, lines)):
        for each in fact_ids if to_microseconds(at) != NEVER else ():
            before = found.get(each, RecallCount(0, at))
            found[each] = RecallCount(before.times + 1, max(before.at, at))
    return found
