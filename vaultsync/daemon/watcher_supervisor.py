"""Restart a watcher that fails, and fall back to polling."""

from __future__ import annotations

import logging
from collections.abc import Callable

from vaultsync.daemon.ports import Watcher, WatchEvents
from vaultsync.daemon.schedule import Intervals
from vaultsync.model.backoff import BackOff

_log = logging.getLogger(__name__)

MAX_FAILURES = 3
"""Number of failures after which a polling watcher is used."""
FAILURE_WINDOW = 600.0
"""Seconds after which a failure no longer counts, and a polling watcher is replaced."""

MakeWatcher = Callable[[bool], Watcher]
"""Creates a watcher; a polling one if the argument is true."""


class WatcherSupervisor:
    """A watcher that is restarted when it fails."""

    def __init__(
        self, make: MakeWatcher, intervals: Intervals, *, jitter: Callable[[], float]
    ) -> None:
        self._make = make
        self._intervals = intervals
        self._wait = BackOff(first=intervals.check, longest=30.0, jitter=jitter)
        self._watcher: Watcher | None = None
        self._failures: list[float] = []
        self._native_at = float("inf")
        """When to replace a polling watcher that was started after failures."""
        self._check_at = 0.0
        self._probed_at: float | None = None
        self._probe_at = 0.0
        self.failure = ""
        """Why there is no watcher now, or why the last one failed."""

    @property
    def name(self) -> str:
        """The name of the running watcher; empty if none runs."""
        return self._watcher.name if self._watcher else ""

    def drain(self) -> WatchEvents:
        """The events since the last call.

        After a loss, the next health check starts a new watcher: this one may not have learned
        of new folders, and not watch them.
        """
        if self._watcher is None:
            return WatchEvents()
        events = self._watcher.drain()
        if events.probes:
            self._probed_at = None
        if events.lost and not self._watcher.polls:
            self.close()
            self._check_at = float("-inf")
        return events

    def check_health(self, now: float) -> str:
        """Check and restart the watcher; returns why a rescan is needed, or an empty string.

        Changes while no watcher was running were not seen.
        """
        if now < self._check_at:
            return ""
        if self._probed_at is not None and now - self._check_at > self._intervals.check:
            self._probed_at = now  # nothing was drained meanwhile, so an answer may be pending
        self._check_at = now + self._intervals.check
        if self._watcher is not None:
            why = self._watcher.failure() or self._missed_probe(now)
            if not why and now < self._native_at:
                self._probe(now)
                return ""
            self.close()
            if why:
                self._fail(why, now)
        return self._start_watcher(now)

    def close(self) -> None:
        """Stop the watcher."""
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.stop()

    def after_sleep(self) -> None:
        """Discard a probe from before the machine slept."""
        self._probed_at = None

    def _start_watcher(self, now: float) -> str:
        recent = [at for at in self._failures if now - at < FAILURE_WINDOW]
        polls = len(recent) >= MAX_FAILURES
        self._native_at = now + FAILURE_WINDOW if polls else float("inf")
        try:
            watcher = self._make(polls)
            watcher.start()
        except OSError as error:
            # No other kind of watcher could watch a vault that is missing.
            self._fail(str(error), None if isinstance(error, FileNotFoundError) else now)
            self._check_at = now + self._wait.next()
            return ""
        self._wait.reset()
        self._watcher = watcher
        self._probed_at = None
        self._probe_at = now + self._intervals.probe
        return f"{watcher.name} was started"

    def _fail(self, why: str, now: float | None) -> None:
        """Record a failure; without a time, it does not count against the watcher."""
        self.failure = why
        if now is not None:
            self._failures = [*self._failures[-MAX_FAILURES:], now]

    def _missed_probe(self, now: float) -> str:
        if self._probed_at is None or now - self._probed_at < self._intervals.answer:
            return ""
        return "it reports no events"

    def _probe(self, now: float) -> None:
        watcher = self._watcher
        if watcher is None or watcher.polls or now < self._probe_at:
            return
        self._probe_at = now + self._intervals.probe
        try:
            watcher.probe()
        except OSError:
            _log.debug("The watcher could not be probed", exc_info=True)
            return  # a full disk is not a failure of the watcher
        if self._probed_at is None:
            self._probed_at = now
