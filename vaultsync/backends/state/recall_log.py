"""The log of used facts, in a file in the state folder: one line per answer."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from vaultsync.backends.replace_file import append_line, read_file
from vaultsync.model.canonical import NEVER, to_microseconds
from vaultsync.recall.ports import LoggedUses
from vaultsync.storage.store import AccessCount

_log = logging.getLogger(__name__)
RECALL_LOG_NAME = "recalled.log"


class FileRecallLog:
    """A `RecallLog` in a file: a line is one write, not flushed.

    A batch is the log, renamed to another file. While there is one, the log grows and does not
    become another batch, so an unavailable store leaves only two files.
    """

    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / RECALL_LOG_NAME

    def note(self, fact_ids: Iterable[str], at: str) -> None:
        try:
            append_line(self._path, " ".join((at, *fact_ids)))
        except OSError as error:
            _log.debug("a use was not counted: %s", error)

    def size(self) -> int:
        found = 0
        for path in (self._path, *self._batches()):
            with suppress(OSError):  # nothing was noted, or another process drops it
                found += path.stat().st_size
        return found

    def batch(self) -> LoggedUses | None:
        path = next(iter(self._batches()), None)
        try:
            if path is None:
                path = self._path.with_name(f"{RECALL_LOG_NAME}.{os.urandom(4).hex()}")
                self._path.rename(path)
            lines = read_file(path).decode(errors="replace").splitlines()
        except OSError:  # nothing was noted, or another process drops it
            return None
        return LoggedUses(path.suffix[1:], parse_uses(line.split() for line in lines))

    def drop(self, op: str) -> None:
        with suppress(OSError):  # another process was faster
            self._path.with_name(f"{RECALL_LOG_NAME}.{op}").unlink()

    def _batches(self) -> list[Path]:
        folder, prefix = self._path.parent, f"{RECALL_LOG_NAME}."
        with suppress(OSError):  # the folder does not exist yet
            names = os.listdir(folder)  # noqa: PTH208 - at each use, and 8 times faster
            return [folder / each for each in sorted(names) if each.startswith(prefix)]
        return []


def parse_uses(lines: Iterable[Iterable[str]]) -> dict[str, AccessCount]:
    """Count the uses in lines with a time and fact ids; other lines are ignored."""
    found: dict[str, AccessCount] = {}
    for at, *fact_ids in filter(None, map(list, lines)):
        for each in fact_ids if to_microseconds(at) != NEVER else ():
            before = found.get(each, AccessCount(0, at))
            found[each] = AccessCount(before.times + 1, max(before.at, at))
    return found
