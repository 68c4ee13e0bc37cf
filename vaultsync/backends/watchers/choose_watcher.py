"""The watcher of a vault, by its settings, the installed packages and its mount."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from vaultsync.backends.watchers import watch_checks
from vaultsync.daemon.ports import Watcher
from vaultsync.errors import MissingExtraError
from vaultsync.settings import LEAST_SCAN_SECONDS, Settings

_NATIVE = ("watchfiles", "watchdog")
"""In order of preference: watchfiles loses nothing in bursts (watcher rows of `make bench`)."""
_AUTO = ("inotify",) if sys.platform == "linux" else _NATIVE


def watcher_maker(
    settings: Settings, wake: Callable[[], None], ignores: Callable[[str], bool]
) -> Callable[[bool], Watcher]:
    """A function that creates the watcher of a vault; a polling one if its argument is true.

    On Linux, folders that it `ignores` are not watched.

    `MissingExtraError`: no package that can watch is installed.
    """
    wanted = settings.watch.watcher
    native = _first_installed((wanted,) if wanted in _NATIVE else _AUTO, ignores)
    silent = wanted == "auto" and bool(watch_checks.mount_without_events(settings.root))
    always = wanted == "polling" or silent

    def make(polls: bool) -> Watcher:  # noqa: FBT001 - the parameter of the port
        if not (polls or always):
            return native(settings.root, settings.state_dir, wake=wake)
        try:
            poller = _load("watchdog", ignores)
        except ImportError as error:
            if not always:  # what failed may work again
                return native(settings.root, settings.state_dir, wake=wake)
            raise OSError(str(error)) from error  # rescans continue without it
        interval = max(settings.watch.poll_seconds, LEAST_SCAN_SECONDS)
        return poller(settings.root, settings.state_dir, wake=wake, polls=True, interval=interval)

    return make


def asked_watcher_maker(
    settings: Settings, ignores: Callable[[str], bool]
) -> Callable[[], Watcher]:
    """A function that creates a watcher for a process that checks only on demand.

    Folders that it `ignores` are not watched. It raises OSError if the system has no queue that
    can be read without waiting.
    """

    def make() -> Watcher:
        kind = watch_checks.mount_without_events(settings.root)
        if kind or settings.watch.watcher == "polling":
            raise OSError(f"file events are not used on {kind or 'this vault'}")
        return _load("inotify", ignores)(settings.root, settings.state_dir)

    return make


def _load(name: str, ignores: Callable[[str], bool]) -> Callable[..., Watcher]:
    if name == "inotify":
        from vaultsync.backends.watchers.inotify import InotifyWatcher

        return partial(InotifyWatcher, ignores=ignores)
    if name == "watchfiles":
        from vaultsync.backends.watchers.watchfiles import WatchfilesWatcher

        return WatchfilesWatcher
    from vaultsync.backends.watchers.watchdog import WatchdogWatcher

    return WatchdogWatcher


def _first_installed(
    names: Sequence[str], ignores: Callable[[str], bool]
) -> Callable[..., Watcher]:
    for name in names:
        with suppress(ImportError):
            return _load(name, ignores)
    raise MissingExtraError("watching for changes", names[0], "live")
