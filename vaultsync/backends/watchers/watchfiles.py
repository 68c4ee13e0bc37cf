"""A watcher by watchfiles: the events are read in Rust, without waiting for Python.

Of a burst of 60,000 files it loses none. It says nothing when the system's queue was full
all the same, as after the process was stopped for a while: as many changes without a
pause as only a full queue makes count as loss.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError

from vaultsync.backends.watchers.collector import EventCollector
from vaultsync.daemon.ports import WatchEvents

_TOGETHER_MS = 50
_STEP_MS = 25
"""Changes within a step are told together, but after `_TOGETHER_MS` at the latest."""
_TIMEOUT_MS = 1000
_QUEUE = 16_384
"""What the queue of inotify holds unless the machine was told otherwise."""
_JOIN = 5.0


class WatchfilesWatcher:
    """A `Watcher` that hears of what changes from the system.

    It does not look by itself: notify's poller takes files for the same whose times
    differ by less than a second.
    """

    def __init__(
        self,
        root: Path,
        state_dir: Path,
        *,
        wake: Callable[[], None],
    ) -> None:
        self.name = "watchfiles"
        self.polls = False
        self._gathered = EventCollector(root, state_dir, wake)
        self._full = _queue_length() // 4
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to listen.

        Raises:
            OSError: the root is not there, or the system has no more watches.
        """
        self._gathered.begin()
        paths = [self._gathered.root, str(self._gathered.canary)]
        try:
            # In order: no debugging, no polling (and its interval), folders in folders
            # too, and folders that may not be entered are passed over.
            notify = RustNotify(paths, False, False, 1000, True, True)  # noqa: FBT003
        except WatchfilesRustInternalError as error:
            raise OSError(str(error)) from error
        self._thread = threading.Thread(
            target=self._listen, args=(notify,), name="watcher", daemon=True
        )
        self._thread.start()

    def drain(self) -> WatchEvents:
        """What was heard since the last call."""
        return self._gathered.drain()

    def trouble(self) -> str:
        """Why it cannot be trusted any more."""
        thread = self._thread
        if thread is not None and not thread.is_alive() and not self._stop.is_set():
            self._gathered.fail("the thread that watches has ended")
        return self._gathered.trouble()

    def probe(self) -> None:
        """Touch a file beside the archive."""
        self._gathered.probe()

    def stop(self) -> None:
        """Stop listening."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(_JOIN)

    def _listen(self, notify: RustNotify) -> None:
        """Run in the thread: whatever goes wrong is told, not lost with the thread."""
        try:
            self._hear_all(notify)
        except Exception as error:  # noqa: BLE001 - it ends the thread, so it is told
            self._gathered.fail(f"{type(error).__name__}: {error}")

    def _hear_all(self, notify: RustNotify) -> None:
        burst = 0
        with notify:
            while not self._stop.is_set():
                said = notify.watch(_TOGETHER_MS, _STEP_MS, _TIMEOUT_MS, self._stop)
                if not isinstance(said, set):
                    burst = 0  # nothing for a while, or told to stop
                    continue
                self._gathered.add([path for _, path in said])
                burst += len(said)
                if burst >= self._full:
                    self._gathered.lose(f"{burst:,} changes at once fill the queue")
                    burst = 0


def _queue_length() -> int:
    try:
        said = Path("/proc/sys/fs/inotify/max_queued_events").read_text(
            encoding="ascii"
        )
        return int(said)
    except (OSError, ValueError):
        return _QUEUE
