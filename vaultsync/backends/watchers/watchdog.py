"""A watcher by watchdog: the events are read in Python, thread by thread.

It hears a change within a millisecond, and loses events when more come than Python can
read meanwhile. It only logs that: here the log is listened to.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver
from watchdog.observers.polling import PollingObserver

from vaultsync.backends.watchers.collector import EventCollector
from vaultsync.daemon.ports import WatchEvents

_LOGGER = "watchdog.observers"
_JOIN = 5.0
_WANTED: list[type[FileSystemEvent]] = [
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
]
"""All but those of who only looks: they would drown the others."""


class WatchdogWatcher:
    """A `Watcher` that hears of what changes from the system, or looks by itself."""

    def __init__(
        self,
        root: Path,
        state_dir: Path,
        *,
        wake: Callable[[], None],
        polls: bool = False,
        interval: float = 1.0,
    ) -> None:
        self.polls = polls
        self.name = "watchdog, polling" if polls else "watchdog"
        self._gathered = EventCollector(root, state_dir, wake)
        self._interval = interval
        self._observer: BaseObserver | None = None
        self._log = _Listener(self._gathered)
        self._stopped = False

    def start(self) -> None:
        """Begin to listen.

        Raises:
            OSError: the root is not there, or the system has no more watches.
        """
        self._gathered.begin()
        observer: BaseObserver = (
            PollingObserver(timeout=self._interval) if self.polls else Observer()
        )
        handler = _Handler(self._hear)
        observer.schedule(
            handler, self._gathered.root, recursive=True, event_filter=_WANTED
        )
        if not self.polls:
            place = str(self._gathered.canary)
            observer.schedule(handler, place, event_filter=_WANTED)
        logging.getLogger(_LOGGER).addHandler(self._log)
        try:
            observer.start()
        except BaseException:
            logging.getLogger(_LOGGER).removeHandler(self._log)
            raise
        self._observer = observer

    def drain(self) -> WatchEvents:
        """What was heard since the last call."""
        return self._gathered.drain()

    def trouble(self) -> str:
        """Why it cannot be trusted any more."""
        observer = self._observer
        if observer is not None and not self._stopped:
            threads = [observer, *observer.emitters]
            if not all(thread.is_alive() for thread in threads):
                self._gathered.fail("a thread that watches has ended")
        return self._gathered.trouble()

    def probe(self) -> None:
        """Touch a file beside the archive."""
        self._gathered.probe()

    def stop(self) -> None:
        """Stop listening."""
        observer = self._observer
        if self._stopped or observer is None:
            return
        self._stopped = True
        logging.getLogger(_LOGGER).removeHandler(self._log)
        observer.stop()
        observer.join(_JOIN)

    def _hear(self, event: FileSystemEvent) -> None:
        """Run in a thread of watchdog's: what is raised here would end it."""
        try:
            paths = [event.src_path, event.dest_path]
            self._gathered.add([str(path) for path in paths if path])
        except Exception as error:  # noqa: BLE001 - the thread lives on, and it is told
            self._gathered.fail(f"{type(error).__name__}: {error}")


class _Listener(logging.Handler):
    """Hears in watchdog's log that the queue of the system was full."""

    def __init__(self, gathered: EventCollector) -> None:
        super().__init__(logging.WARNING)
        self._gathered = gathered

    def emit(self, record: logging.LogRecord) -> None:
        """A warning or worse: whatever it is about, something may have been missed."""
        self._gathered.lose(record.getMessage())


class _Handler(FileSystemEventHandler):
    """What watchdog calls for each event."""

    def __init__(self, hear: Callable[[FileSystemEvent], None]) -> None:
        self._hear = hear

    def dispatch(self, event: FileSystemEvent) -> None:
        """One event, whatever its kind."""
        self._hear(event)
