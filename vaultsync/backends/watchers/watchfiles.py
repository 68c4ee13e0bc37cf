"""A watcher by watchfiles: events are read in Rust, without waiting for Python.

It loses none of a burst of 60,000 files, but does not report that the system's queue was
full, as after the process was suspended. So a long burst without a pause, as a full queue
makes it, counts as a loss.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from watchfiles import Change, watch

from vaultsync.backends.watchers.collector import EventCollector
from vaultsync.backends.watchers.watch_checks import system_limit

_TOGETHER_MS = 50
"""Changes within this time are reported together."""
_TIMEOUT_MS = 500
_PAUSE_SECONDS = 1.0
"""The quiet time that separates two bursts."""
_QUEUE = 16_384
"""The default length of the queue of inotify."""
_JOIN = 5.0
_Changes: TypeAlias = set[tuple[Change, str]]


class WatchfilesWatcher(EventCollector):
    """A `Watcher` that gets the events of the system.

    It does not poll, because watchfiles' poller misses changes of a file's time by less than a
    second.
    """

    name = "watchfiles"
    polls = False

    def __init__(self, root: Path, state_dir: Path, *, wake: Callable[[], None]) -> None:
        super().__init__(root, state_dir, wake)
        self._full = (system_limit("max_queued_events") or _QUEUE) // 4
        self._stop = threading.Event()

    def start(self) -> None:
        self.begin()
        changes = watch(
            self.root,
            self.canary,
            watch_filter=None,
            debounce=_TOGETHER_MS,
            stop_event=self._stop,
            rust_timeout=_TIMEOUT_MS,
            yield_on_timeout=True,
            force_polling=False,
            ignore_permission_denied=True,
        )
        try:
            first = next(changes)  # from here on it listens
        except RuntimeError as error:
            raise OSError(str(error)) from error
        thread = threading.Thread(
            target=self._listen, args=(chain([first], changes),), name="watcher", daemon=True
        )
        thread.start()
        self._threads = [thread]

    def stop(self) -> None:
        self._stop.set()
        threads, self._threads = self._threads, ()
        for thread in threads:
            thread.join(_JOIN)

    def _listen(self, changes: Iterable[_Changes]) -> None:
        """The main function of the thread; an error ends it, and `failure()` reports it."""
        burst, quiet = 0, 0.0
        try:
            for some in changes:
                quiet = 0.0 if some else quiet + _TIMEOUT_MS / 1000
                burst = burst + len(some) if quiet < _PAUSE_SECONDS else 0
                self.add([path for _, path in some])
                if burst >= self._full:
                    self.lose(f"{burst:,} changes at once fill the queue")
                    burst = 0
        except Exception as error:  # noqa: BLE001 - it ends the thread, and is reported
            self.fail(f"{type(error).__name__}: {error}")
