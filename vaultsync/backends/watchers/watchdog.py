"""A watcher by watchdog, which also polls: events are read in Python.

It reports a change within a millisecond, and loses events when they come faster than Python
reads them. watchdog only logs that, so a handler listens to its log.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from watchdog import events
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver
from watchdog.observers.polling import PollingObserver

from vaultsync.backends.watchers.collector import EventCollector

_WATCHDOG_LOG = logging.getLogger("watchdog.observers")
_JOIN = 5.0
_WANTED: list[type[events.FileSystemEvent]] = [
    events.DirCreatedEvent,
    events.DirDeletedEvent,
    events.DirMovedEvent,
    events.FileClosedEvent,
    events.FileCreatedEvent,
    events.FileDeletedEvent,
    events.FileModifiedEvent,
    events.FileMovedEvent,
]
"""All events except those of programs that only read, of which there would be too many."""


class WatchdogWatcher(EventCollector, events.FileSystemEventHandler):
    """A `Watcher` that gets the events of the system, or polls."""

    def __init__(
        self,
        root: Path,
        state_dir: Path,
        *,
        wake: Callable[[], None],
        polls: bool = False,
        interval: float = 1.0,
    ) -> None:
        super().__init__(root, state_dir, wake)
        self.polls = polls
        self.name = "watchdog, polling" if polls else "watchdog"
        self._observer: BaseObserver = PollingObserver(timeout=interval) if polls else Observer()
        self._log = _Listener(self)

    def start(self) -> None:
        self.begin()
        observer = self._observer
        observer.schedule(self, self.root, recursive=True, event_filter=_WANTED)
        if not self.polls:
            observer.schedule(self, str(self.canary), event_filter=_WANTED)
        _WATCHDOG_LOG.addHandler(self._log)
        try:
            observer.start()
        except BaseException:
            _WATCHDOG_LOG.removeHandler(self._log)
            raise
        self._threads = [observer, *observer.emitters]

    def stop(self) -> None:
        if self._threads:
            self._threads = ()
            _WATCHDOG_LOG.removeHandler(self._log)
            self._observer.stop()
            self._observer.join(_JOIN)

    def dispatch(self, event: events.FileSystemEvent) -> None:
        """Called in a thread of watchdog, which an exception would end."""
        try:
            paths = [event.src_path, event.dest_path]
            self.add([str(path) for path in paths if path])
        except Exception as error:  # noqa: BLE001 - it is reported, and the thread goes on
            self.fail(f"{type(error).__name__}: {error}")


class _Listener(logging.Handler):
    """Detects in watchdog's log that the system's queue was full."""

    def __init__(self, collector: EventCollector) -> None:
        super().__init__(logging.WARNING)
        self._collector = collector

    def emit(self, record: logging.LogRecord) -> None:
        """After any warning an event may have been missed."""
        self._collector.lose(record.getMessage())
