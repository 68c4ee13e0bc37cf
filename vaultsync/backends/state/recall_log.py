"""The log of recalled facts, in a file of the state folder: one line for each answer."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from vaultsync.backends.replace_file import read_file
from vaultsync.model.canonical import NEVER, to_microseconds
from vaultsync.recall.ports import RecallCount

_log = logging.getLogger(__name__)
RECALL_LOG_NAME = "recalled.log"


class FileRecallLog:
    """A `RecallLog` in a file: a line is one write, not flushed; `take()` removes the file."""

    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / RECALL_LOG_NAME

    def note(self, fact_ids: Iterable[str], at: str) -> None:
        line = " ".join((at, *fact_ids))
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            fd = os.open(self._path, flags, 0o600)
            try:
                os.write(fd, f"{line}\n".encode())
            finally:
                os.close(fd)
        except OSError as error:
            _log.debug("a recall was not counted: %s", error)

    def size(self) -> int:
        try:
            return self._path.stat().st_size
        except OSError:
            return 0

    def take(self) -> dict[str, RecallCount]:
        taken = self._path.with_name(f"{RECALL_LOG_NAME}.{os.urandom(4).hex()}")
        lines: list[str] = []
        with suppress(OSError):  # nothing was noted, or another process takes it
            self._path.rename(taken)
            lines = read_file(taken).decode(errors="replace").splitlines()
            taken.unlink()
        return parse_recalls(line.split() for line in lines)


def parse_recalls(lines: Iterable[Iterable[str]]) -> dict[str, RecallCount]:
    """The counts of lines of a time and fact ids; other lines are ignored."""
    found: dict[str, RecallCount] = {}
    for at, *fact_ids in filter(None, map(list, lines)):
        for each in fact_ids if to_microseconds(at) != NEVER else ():
            before = found.get(each, RecallCount(0, at))
            found[each] = RecallCount(before.times + 1, max(before.at, at))
    return found
