"""The schedule of the daemon: intervals, debounced paths, and due times."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vaultsync.model.paths import VaultPath
from vaultsync.storage.archive import Archive

RUNS_TO_CONFIRM_DELETION = 2
"""Number of full runs that confirm a deletion; later, facts wait for a process or the user."""


@dataclass(frozen=True, slots=True)
class Intervals:
    """Intervals of the daemon, in seconds."""

    settle: float = 0.3
    """From the last event of a note until it is read."""
    settle_longest: float = 2.0
    """From the first event of a continuously saved note until it is read."""
    poll: float = 1.0
    """Between polls of the store's state: a process of this machine that writes to it also
    causes an event."""
    rescan: float = 60.0
    """Between scans of the timestamps of all notes, in vaults of up to 5,000 notes."""
    rescan_per_note: float = 0.012
    """The same for each note of a larger vault while it is watched, because then a scan only finds
    what the system did not report. So scans take less than a thousandth of a core."""
    longest_rescan: float = 600.0
    hashes: float = 3600.0
    """Between scans of the contents of all notes (Syncthing's default)."""
    derive: float = 1.0
    """From a run until indexes and other derived data are updated."""
    check: float = 1.0
    """Between health checks of the watcher."""
    probe: float = 2.5
    """Between probes of the watcher."""
    answer: float = 2.0
    """Timeout of a probe: with `probe`, a dead watcher is noticed within 5 s."""
    gap: float = 5.0
    """Length of a pause that counts as sleep, in which events may have been lost."""
    retries: tuple[float, ...] = (0.25, 1.1, 4.0, 16.0, 20.0)
    """Delays before retries of facts that could not be synced. The second is longer than the
    grace period of a deletion; the sum is longer than a file stays partly saved."""
    failure: float = 1.0
    longest_failure: float = 60.0
    """The maximum delay after a failed run."""
    upkeep: float = 60.0
    longest_upkeep: float = 3600.0
    """The first and the maximum delay before derived data is updated, or contents are compared,
    again after that failed."""


class Debouncer:
    """Paths with recent events, until no more arrive.

    A path is due `quiet` seconds after its last event, and at the latest `longest` seconds after
    its first one, so that a continuously saved file is still read. The caller passes the current
    time.
    """

    def __init__(self, *, quiet: float, longest: float) -> None:
        self._quiet = quiet
        self._longest = max(quiet, longest)
        self._first: dict[VaultPath, float] = {}
        self._last: dict[VaultPath, float] = {}

    def add(self, paths: Iterable[VaultPath], now: float) -> None:
        """Record an event of each path."""
        for path in paths:
            self._first.setdefault(path, now)
            self._last[path] = now

    def pop_due(self, now: float) -> frozenset[VaultPath]:
        """Remove and return the paths that are due."""
        paths = frozenset(path for path in self._first if self._due(path) <= now)
        for path in paths:
            del self._first[path], self._last[path]
        return paths

    def pending(self) -> frozenset[VaultPath]:
        """The paths that are not due yet."""
        return frozenset(self._first)

    def next_due(self) -> float | None:
        """When the next path is due if no event follows; None if there is no path."""
        return min(map(self._due, self._first), default=None)

    def oldest(self) -> float | None:
        """The time of the oldest event; None if there is no path."""
        return min(self._first.values(), default=None)

    def _due(self, path: VaultPath) -> float:
        return min(self._last[path] + self._quiet, self._first[path] + self._longest)


class DueTimes:
    """When each kind of work is due, by the monotonic clock."""

    NEVER = float("inf")

    def __init__(self, now: float, intervals: Intervals) -> None:
        self._intervals = intervals
        self.all = "it begins"
        """Why the whole vault is scanned next; empty when it is not."""
        self.behind_since: float | None = None
        """Since when the store is known to have newer changes."""
        self.cursor = -1
        """The position in the store's feed of the last sync."""
        self.queued = ""
        """The operation that was queued last in the outbox; empty when nothing is."""
        self.ask_at = now
        self.not_before = now
        """The earliest time of the next run, after a failure."""
        self.derive_at = now
        self.derive_retry_at = self.NEVER
        """When derived data is updated again after that failed; not pending work."""
        self.rescan_at = now
        self.retry_at = self.NEVER
        self.hash_at = now + intervals.hashes
        self.to_hash: list[VaultPath] = []
        self.hash_retry_at = now
        """The earliest time at which contents are compared, after that failed."""
        self._waiting = ""
        self._tries = 0

    @property
    def next_full_scan(self) -> float:
        """When the whole vault is scanned next."""
        return min(self.rescan_at, self.retry_at)

    @property
    def has_pending(self) -> bool:
        """Whether there is work other than regular rescans."""
        retries = self.retry_at != self.NEVER and self._tries < RUNS_TO_CONFIRM_DELETION
        soon = retries or self.derive_at != self.NEVER
        return bool(self.all) or soon or self.behind_since is not None

    def run_done(
        self, now: float, *, cursor: int, waiting: str, whole: bool, watched: int = 0
    ) -> None:
        """Schedule the work after a run; waiting facts are retried a limited number of times.

        `cursor` is the position in the store's feed, `waiting` the facts that could not be synced,
        `whole` whether the run scanned the whole vault, and `watched` the number of notes whose
        changes a watcher reports.
        """
        self.cursor = cursor
        self.behind_since = None
        if whole:
            intervals = self._intervals
            by_size = min(watched * intervals.rescan_per_note, intervals.longest_rescan)
            self.rescan_at = now + max(intervals.rescan, by_size)
        if waiting != self._waiting:
            self._waiting, self._tries = waiting, 0
        elif whole:
            self._tries += 1
        retries = self._intervals.retries
        if not waiting or self._tries >= len(retries):
            self.retry_at = self.NEVER
        elif whole or self.retry_at == self.NEVER:
            self.retry_at = now + retries[self._tries]

    def take_folders_to_hash(self, now: float, archive: Archive) -> bool:
        """Whether to compare the contents of folders regardless of timestamps."""
        if now >= self.hash_at:
            self.hash_at = now + self._intervals.hashes
            self.to_hash = list(archive.folders())
        return bool(self.to_hash) and now >= self.hash_retry_at

    def wait(self, now: float, *settle: float | None) -> float:
        """Seconds until something is due."""
        times = [self.rescan_at, self.retry_at, self.hash_at]
        times += [self.derive_at, self.derive_retry_at]
        times += [at for at in settle if at is not None]
        if self.to_hash:
            times.append(self.hash_retry_at)
        if self.all or self.behind_since is not None:
            times.append(now)
        soonest = max(min(times), self.not_before)
        poll = max(self.ask_at - now, 0.0)
        return min(max(soonest - now, 0.0), poll, self._intervals.check)
