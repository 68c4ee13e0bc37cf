"""The memory files that a daemon keeps in step: looked at each second, for they are few.

A watcher listens to the vault; these files may lie anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import to_builtins

from vaultsync.errors import StoreUnavailableError, VaultsyncError
from vaultsync.model.schema import Value
from vaultsync.sync.report import error_summary

if TYPE_CHECKING:
    from vaultsync.api.memory_files import MemoryFileMethods

POLL_INTERVAL = 1.0
"""Seconds between two looks at the files."""
SEARCH_INTERVAL = 10.0
"""Seconds after which folders are searched for new ones."""
_Stamp = tuple[int, int, int, int] | None


class _FileStatus(NamedTuple):
    stamp: _Stamp
    since: float


class MemoryFileWatch:
    """Takes the memory files of the settings in when they have been quiet for a while."""

    def __init__(
        self, memory: MemoryFileMethods, tell: Callable[[str, Mapping[str, Value]], None]
    ) -> None:
        self._memory = memory
        self._tell = tell
        self._quiet = memory.settings.memory_file.settle_seconds
        self._each_read = memory.settings.watch.hash_seconds
        self._seen: dict[Path, _FileStatus] = {}
        self._done: dict[Path, _Stamp] = {}
        self._next = self._search = self._read = 0.0
        self.settled = not memory.settings.memory_file.files
        """Whether all of them are taken in."""

    def tick(self, now: float) -> float:
        """Do what is due; returns for how many seconds nothing is."""
        if not self._memory.settings.memory_file.files:
            return float("inf")
        if now >= self._next:
            self._next = now + POLL_INTERVAL
            if now >= self._read:
                # What no stamp tells of: texts that wait, facts that lost their section.
                self._read = now + self._each_read
                self._done.clear()
            self._look(now)
            self._take_in(now)
        return max(self._next - now, 0.0)

    def _look(self, now: float) -> None:
        paths = list(self._seen)
        if now >= self._search:
            self._search = now + SEARCH_INTERVAL
            paths = [*paths, *self._memory.watched_memory_files()]
        for path in paths:
            stamp = _stamp(path)
            seen = self._seen.get(path)
            if seen is None:  # what was there before is quiet already
                self._seen[path] = _FileStatus(stamp, now - self._quiet)
            elif seen.stamp != stamp:
                self._seen[path] = _FileStatus(stamp, now)

    def _take_in(self, now: float) -> None:
        new = {
            path: seen
            for path, seen in self._seen.items()
            if path not in self._done or self._done[path] != seen.stamp
        }
        due = {p: s.stamp for p, s in new.items() if now - s.since >= self._quiet}
        self.settled = not new
        if not due:
            return
        try:
            report = self._memory.follow_memory_files(due)
        except StoreUnavailableError:
            return  # they are as new as before: it is tried again
        except (VaultsyncError, OSError) as error:
            self._tell("error", to_builtins(error_summary(error)))
        else:
            if report is not None and (report.fact_ids or report.attention):
                said: dict[str, Value] = {
                    "files": [each.name for each in report.files],
                    "counts": dict(report.counts),
                    "attentions": len(report.attention),
                }
                self._tell("memory-file", said)
        self._done.update(due)
        self.settled = len(due) == len(new)


def _stamp(path: Path) -> _Stamp:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino
