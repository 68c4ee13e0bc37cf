"""Keeps a watcher alive: notices that it died, starts another, looks by itself at last."""

from __future__ import annotations

from collections.abc import Callable

from vaultsync.daemon.ports import Watcher, WatchEvents
from vaultsync.daemon.schedule import Intervals
from vaultsync.model.backoff import BackOff

MAX_FAILURES = 3
"""After so many failures a watcher that looks by itself takes over."""
FAILURE_WINDOW = 600.0
"""Seconds; failures that are longer ago do not count."""

MakeWatcher = Callable[[bool], Watcher]
"""Makes a watcher; one that looks by itself when it is told so."""


class WatcherSupervisor:
    """A watcher that is started again whenever it failed."""

    def __init__(
        self, make: MakeWatcher, intervals: Intervals, *, jitter: Callable[[], float]
    ) -> None:
        self._make = make
        self._intervals = intervals
        self._wait = BackOff(first=intervals.check, longest=30.0, jitter=jitter)
        self._watcher: Watcher | None = None
        self._failures: list[float] = []
        self._check_at = 0.0
        self._probed_at: float | None = None
        self._probe_at = 0.0
        self.trouble = ""
        """Why there is no watcher now, or why the last one failed."""

    @property
    def name(self) -> str:
        """Which watcher listens; empty while none does."""
        return self._watcher.name if self._watcher else ""

    def drain(self) -> WatchEvents:
        """What was heard since the last call."""
        if self._watcher is None:
            return WatchEvents()
        heard = self._watcher.drain()
        if heard.probes:
            self._probed_at = None
        return heard

    def check_health(self, now: float) -> str:
        """See to the watcher; returns why the vault has to be looked at, or nothing.

        What changed while nobody listened was not heard.
        """
        if now < self._check_at:
            return ""
        self._check_at = now + self._intervals.check
        if self._watcher is not None:
            why = self._watcher.trouble() or self._unheard(now)
            if not why:
                self._probe(now)
                return ""
            self.close()
            self._fail(why, now)
        return self._begin(now)

    def close(self) -> None:
        """Stop listening."""
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.stop()

    def after_sleep(self) -> None:
        """The machine slept: a probe of before says nothing."""
        self._probed_at = None

    def _begin(self, now: float) -> str:
        recent = [at for at in self._failures if now - at < FAILURE_WINDOW]
        try:
            watcher = self._make(len(recent) >= MAX_FAILURES)
            watcher.start()
        except OSError as error:
            self._fail(str(error), now)
            self._check_at = now + self._wait.next()
            return ""
        self._wait.reset()
        self._watcher = watcher
        self._probed_at = None
        self._probe_at = now + self._intervals.probe
        return f"{watcher.name} began to listen"

    def _fail(self, why: str, now: float) -> None:
        self.trouble = why
        self._failures = [*self._failures[-MAX_FAILURES:], now]

    def _unheard(self, now: float) -> str:
        if self._probed_at is None or now - self._probed_at < self._intervals.answer:
            return ""
        return "it does not hear what happens"

    def _probe(self, now: float) -> None:
        watcher = self._watcher
        if watcher is None or watcher.polls or now < self._probe_at:
            return
        self._probe_at = now + self._intervals.probe
        try:
            watcher.probe()
        except OSError:
            return  # a full disk is no fault of the watcher
        if self._probed_at is None:
            self._probed_at = now
