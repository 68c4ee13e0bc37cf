"""Background work of an idle daemon."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import date
from typing import TypeVar

from msgspec import to_builtins

from vaultsync.backends.state.vault_marker import uses_modules
from vaultsync.errors import GuardError, RepositoryError, VaultsyncError
from vaultsync.model.backoff import BackOff
from vaultsync.model.schema import Value
from vaultsync.observations.processing import MAX_PER_RUN
from vaultsync.service.daemon_work import DaemonWork
from vaultsync.sync.report import Report

R = TypeVar("R")
CHECK_INTERVAL = 600.0
"""Seconds between two checks of the date."""
FIRST_RETRY, LONGEST_RETRY = 60.0, 3600.0
"""First and maximum delay, in seconds, before failed classifications are retried."""
REPOSITORY_INTERVAL = 60.0
"""Seconds between two checks of all known repositories."""
MODULE_INTERVAL = 60.0
"""Seconds between two syncs of modules; after failures, the wait grows."""
LONGEST_GAP = 31
"""Days after which a memory counts as first seen again: if the clock is wrong, maintenance would
permanently remove what is not old, and a clock is corrected soon."""
LAST_MAINTENANCE = "maintained"
"""The archive's setting with the day of the last maintenance."""


class IdleWork:
    """Upkeep of a memory, and of the files beside it, while a daemon is idle.

    Classifies observations after writes to the store, maintains once a day, and syncs modules and
    repositories. The day on which a memory is seen first, or for the first time in a month, counts
    as maintained.
    """

    def __init__(
        self,
        memory: DaemonWork,
        publish: Callable[[str, Mapping[str, Value]], None],
        record_error: Callable[[Exception], None],
        *,
        jitter: Callable[[], float],
    ) -> None:
        """Prepare it; `publish` receives reports as `pass` events, `jitter` is as in `BackOff`."""
        self._memory = memory
        self._publish = publish
        self._record_error = record_error
        self._seen = 0
        """The position in the store's feed up to which observations are classified."""
        self._retries = BackOff(first=FIRST_RETRY, longest=LONGEST_RETRY, jitter=jitter)
        self._classify_at = 0.0
        """The time of the next classification, which is delayed after failures."""
        self._next_check = 0.0
        self._steps: Iterator[None] = iter(())
        """What is left of today's maintenance."""
        self._next_modules = 0.0
        self._next_repositories = 0.0

    def tick(self, now: float) -> bool:
        """Do what is due, and a step of maintenance; returns whether that has more steps."""
        if self._classify_at <= now:
            self._classify(now)
        if now >= self._next_check:
            self._next_check = now + CHECK_INTERVAL
            self._steps = self._maintain()
        if now >= self._next_modules:
            self._next_modules = now + MODULE_INTERVAL
            self._attempt(self._sync_modules)
        if now >= self._next_repositories:
            self._next_repositories = now + REPOSITORY_INTERVAL
            self._attempt(self._look_after_repositories)
        is_busy = self._attempt(lambda: next(self._steps, True)) is None  # an error ends the steps
        if is_busy:  # a check would begin again
            self._next_check = now + CHECK_INTERVAL
        return is_busy

    def _classify(self, now: float) -> None:
        """Classify pending observations, after writes or for a retry."""
        if self._attempt(self._pending) != 0:
            self._classify_at = now + self._retries.next()
            self._seen = 0
        else:
            self._retries.reset()
            self._classify_at = 0.0

    def _pending(self) -> int:
        """The number of observations that are still pending after classifying."""
        seq = self._memory.ctx.store.state().seq
        if seq == self._seen:
            return 0
        since = self._seen if self._seen < seq else 0  # the store may have been restored
        report = self._memory.process_observations(is_synced=True, since=since)
        # What this wrote, and others meanwhile, is looked at next.
        self._seen = seq if report.classified < MAX_PER_RUN else 0
        self._tell(report)
        return report.pending

    def _maintain(self) -> Iterator[None]:
        """Maintain the memory in steps, if the last time was on another day.

        What a step raises is tried again at the next check.
        """
        self._attempt(self._memory.count_recalls)  # after a failure they stay in the log
        ctx = self._memory.ctx
        day = ctx.today()[:10]
        done = ctx.archive.setting(LAST_MAINTENANCE)
        if done == day:
            return
        if done is not None and _days_between(done, day) <= LONGEST_GAP:
            try:
                self._tell((yield from self._memory.maintenance()))
            except GuardError as error:  # the user has to confirm the run that it names
                self._record_error(error)
        ctx.set_setting(LAST_MAINTENANCE, day)

    def _sync_modules(self) -> None:
        """Sync the known folders of modules, if there are any."""
        if uses_modules(self._memory.settings.state_dir):
            self._memory.modules.sync_known()

    def _look_after_repositories(self) -> None:
        """Promote merged facts, combine old summaries, and ask about deleted branches."""
        if not self._memory.settings.repos_dir.is_dir():
            return
        for root in self._memory.repos.known_roots():
            with suppress(RepositoryError):  # it is being changed, or no longer a repository
                self._memory.repos.maintain(root)

    def _attempt(self, work: Callable[[], R]) -> R | None:
        """The result of `work`; None if it failed, with the error recorded."""
        try:
            return work()
        except (VaultsyncError, OSError) as error:
            self._record_error(error)
            return None

    def _tell(self, report: Report) -> None:
        if not report.quiet:
            self._publish("pass", to_builtins(report))


def _days_between(day: str, later: str) -> int:
    return (date.fromisoformat(later) - date.fromisoformat(day)).days
