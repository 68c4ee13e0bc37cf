"""What the daemon wants to do, and what it tells of itself."""

from __future__ import annotations

from vaultsync.daemon.schedule import Intervals
from vaultsync.model.paths import VaultPath
from vaultsync.storage.archive import Archive

RUNS_TO_CONFIRM_DELETION = 2
"""Whole passes that a deletion needs; what waits longer waits for somebody."""


class DueTimes:
    """What is to be done when; all times by the clock that never goes back."""

    NEVER = float("inf")

    def __init__(self, now: float, intervals: Intervals) -> None:
        self._intervals = intervals
        self.all = "it begins"
        """Why the whole vault is to be looked at; empty when it is not."""
        self.behind_since: float | None = None
        """Since when the store is known to be ahead."""
        self.cursor = -1
        """Up to where the store's feed was followed."""
        self.ask_at = now
        self.not_before = now
        """Nothing is done before: the last pass failed."""
        self.derive_at = now
        self.rescan_at = now
        self.retry_at = self.NEVER
        self.hash_at = now + intervals.hashes
        self.to_hash: list[VaultPath] = []
        self._waiting = ""
        self._tries = 0

    @property
    def next_full_scan(self) -> float:
        """When the whole vault is looked at next."""
        return min(self.rescan_at, self.retry_at)

    @property
    def has_pending(self) -> bool:
        """Whether something is left to do but for rescans."""
        looks = self.retry_at != self.NEVER and self._tries < RUNS_TO_CONFIRM_DELETION
        soon = looks or self.derive_at != self.NEVER
        return bool(self.all) or soon or self.behind_since is not None

    def run_done(self, now: float, *, cursor: int, waiting: str, whole: bool) -> None:
        """A pass was done; what it left waiting is looked at again, but not for ever."""
        self.cursor = cursor
        self.behind_since = None
        if whole:
            self.rescan_at = now + self._intervals.rescan
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
        """Whether folders are to be read whatever their stamps say; a few at a time."""
        if now >= self.hash_at:
            self.hash_at = now + self._intervals.hashes
            self.to_hash = list(archive.folders())
        return bool(self.to_hash)

    def wait(self, now: float, *settle: float | None) -> float:
        """For how many seconds nothing is due."""
        due = [self.rescan_at, self.retry_at, self.derive_at, self.hash_at]
        due += [at for at in settle if at is not None]
        if self.all or self.to_hash or self.behind_since is not None:
            due.append(now)
        soonest = max(min(due), self.not_before)
        asks = max(self.ask_at - now, 0.0)
        return min(max(soonest - now, 0.0), asks, self._intervals.check)
