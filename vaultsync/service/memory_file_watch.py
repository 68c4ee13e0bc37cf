"""The memory files that a daemon syncs: checked every second, because they are few.

A watcher listens to the vault; these files may be anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from msgspec import to_builtins

from vaultsync.api.memory import Memory
from vaultsync.errors import StoreUnavailableError, VaultsyncError
from vaultsync.model.backoff import BackOff
from vaultsync.model.schema import Value
from vaultsync.sync.report import error_summary

POLL_INTERVAL = 1.0
"""Seconds between two checks of the files."""
EARLY_SECONDS = 0.25
"""A check is done this much earlier if the daemon is awake anyway, which costs less than waking up
once more."""
SEARCH_INTERVAL = 10.0
"""Seconds between two searches of folders for new files."""
FIRST_RETRY, LONGEST_RETRY = 1.0, 60.0
"""First and maximum delay, in seconds, before files whose sync failed are synced again."""
_NONE_YET = object()
_Stamp = tuple[int, int, int, int] | None


class _FileStatus(NamedTuple):
    stamp: _Stamp
    since: float


class MemoryFileWatch:
    """Syncs memory files after they, or the memory, have been quiet for a while."""

    def __init__(
        self,
        memory: Memory,
        publish: Callable[[str, Mapping[str, Value]], None],
        version: Callable[[], object] = lambda: None,
        *,
        jitter: Callable[[], float] = lambda: 1.0,
    ) -> None:
        """Prepare it.

        `publish` receives the results as `memory-file` events, and `version` returns the version of
        the memory, which the files follow. `jitter` is as in `BackOff`.
        """
        self._memory = memory
        self._publish = publish
        self._quiet = memory.settings.memory_file.settle_seconds
        self._read_interval = memory.settings.watch.hash_seconds
        self._seen: dict[Path, _FileStatus] = {}
        self._done: dict[Path, _Stamp] = {}
        self._failed: dict[Path, _Stamp] = {}
        """The files whose sync failed; unless they change, they wait until `_retry_at`."""
        self._retry_at = 0.0
        self._retries = BackOff(first=FIRST_RETRY, longest=LONGEST_RETRY, jitter=jitter)
        self.error: Exception | None = None
        """The error of the last sync."""
        self._next = self._next_search = self._next_read = 0.0
        self._version: tuple[object, float] = object(), 0.0
        """The version of the memory, and the time at which it was first seen."""
        self._followed: object = _NONE_YET
        """The version to which the files were synced."""
        self.settled = not memory.watched_memory_files()
        """Whether all of them are synced."""
        self._version_of = version

    def tick(self, now: float) -> float:
        """Do what is due; returns the seconds until something else is."""
        if now >= self._next - EARLY_SECONDS:
            self._next = now + POLL_INTERVAL
            if now >= self._next_read:
                # File stamps do not show queued texts, or facts that lost their section.
                self._next_read = now + self._read_interval
                self._done.clear()
            self._check(now)
            followed = self._follow_memory(now)
            self._sync(now)
            if self.settled:
                self._followed = followed
            if not self._seen:
                self._next = self._next_search
        return max(self._next - now, 0.0)

    def _follow_memory(self, now: float) -> object:
        """Sync all files with the memory, once it is quiet; returns the synced version."""
        if not self._seen:
            return self._followed
        try:
            version = self._version_of()
        except (VaultsyncError, OSError):  # the next sync says why
            return self._followed
        if version != self._version[0]:
            self._version = version, now
        if self._followed is _NONE_YET:
            return version  # at first, all files are synced anyway
        if version == self._followed or now - self._version[1] < self._quiet:
            return self._followed
        self._done.clear()
        return version

    def _check(self, now: float) -> None:
        paths = list(self._seen)
        if now >= self._next_search:
            self._next_search = now + SEARCH_INTERVAL
            paths = [*paths, *self._memory.watched_memory_files()]
        for path in paths:
            stamp = _stamp(path)
            seen = self._seen.get(path)
            if seen is None:  # a file that existed before is already quiet
                self._seen[path] = _FileStatus(stamp, now - self._quiet)
            elif seen.stamp != stamp:
                self._seen[path] = _FileStatus(stamp, now)

    def _sync(self, now: float) -> None:
        new = {
            path: seen
            for path, seen in self._seen.items()
            if path not in self._done or self._done[path] != seen.stamp
        }
        due = {p: s.stamp for p, s in new.items() if now - s.since >= self._quiet}
        self.settled = not new
        if not due or (now < self._retry_at and due.items() <= self._failed.items()):
            return
        try:
            report = self._memory.follow_memory_files(due)
        except StoreUnavailableError:
            return  # retried at the next check
        except (VaultsyncError, OSError) as error:
            self.error, self._failed = error, due
            wait = self._retries.next()
            self._retry_at = now + wait
            event = to_builtins(error_summary(error))
            self._publish("error", {**event, "again_in": round(wait, 1)})
            return
        self.error, self._failed = None, {}
        self._retries.reset()
        self._done.update(due)
        self.settled = len(due) == len(new)
        if report is not None and not (report.quiet and not report.attention):
            data: dict[str, Value] = {
                "files": [each.name for each in (*report.files, *report.blocks)],
                "counts": dict(report.counts),
                "attentions": len(report.attention),
                "sections": [
                    {
                        "path": file.name,
                        "section": each.title,
                        "fact_id": each.fact_id,
                        "action": each.action,
                    }
                    for file in report.files
                    for each in file.actions
                ],
            }
            self._publish("memory-file", data)


def _stamp(path: Path) -> _Stamp:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino
