"""The watchers, constructed in the same way."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path

from vaultsync.daemon.ports import Watcher

ASKED = ("inotify-asked",) if sys.platform == "linux" else ()
"""The watchers that read the event queue of the system on demand."""
LINUX = ("inotify",) if sys.platform == "linux" else ()
TOLD = ("watchfiles", "watchdog", *LINUX, *ASKED)
KINDS = (*TOLD, "watchdog-polling")
INTERVAL = 0.2
"""Seconds between scans of the polling watchers."""


def make(kind: str, root: Path, state: Path, wake: Callable[[], None] = lambda: None) -> Watcher:
    if kind == "watchfiles":
        from vaultsync.backends.watchers.watchfiles import WatchfilesWatcher

        return WatchfilesWatcher(root, state, wake=wake)
    if kind in (*LINUX, *ASKED):
        from vaultsync.backends.watchers.inotify import InotifyWatcher

        return InotifyWatcher(root, state, wake=None if kind in ASKED else wake)
    from vaultsync.backends.watchers.watchdog import WatchdogWatcher

    polls = kind.endswith("polling")
    return WatchdogWatcher(root, state, wake=wake, polls=polls, interval=INTERVAL)


def open_queues() -> set[str]:
    """The event queues of Linux that this process has open.

    Nothing is said of other files: threads of other tests open and close some at any time.
    """
    found = set()
    for each in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            if str(each.readlink()) == "anon_inode:inotify":
                found.add(each.name)
    return found
