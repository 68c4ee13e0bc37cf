"""The watcher of a vault, by its settings, the installed packages and its mount."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vaultsync.daemon.ports import Watcher
from vaultsync.errors import MissingExtraError
from vaultsync.settings import Settings

_NATIVE = ("watchfiles", "watchdog")
"""In this order: watchfiles loses nothing in bursts (the watcher rows of `make bench`)."""


def watcher_maker(settings: Settings, wake: Callable[[], None]) -> Callable[[bool], Watcher]:
    """A function that makes the watcher of a vault; given true, one that polls.

    Raises:
        MissingExtraError: no package that can watch is installed.
    """
    from vaultsync.backends.watchers.watch_checks import mount_without_events

    wanted = settings.watch.watcher
    native = _first_installed((wanted,) if wanted in _NATIVE else _NATIVE)
    silent = wanted == "auto" and bool(mount_without_events(settings.root))
    always = wanted == "polling" or silent

    def make(polls: bool) -> Watcher:  # noqa: FBT001 - the parameter of the port
        if polls or always:
            return _poller(settings, wake)
        return native(settings.root, settings.state_dir, wake=wake)

    return make


def _poller(settings: Settings, wake: Callable[[], None]) -> Watcher:
    try:
        from vaultsync.backends.watchers.watchdog import WatchdogWatcher
    except ImportError as error:  # the rescans go on without it
        raise OSError(str(error)) from error
    return WatchdogWatcher(
        settings.root,
        settings.state_dir,
        wake=wake,
        polls=True,
        interval=settings.watch.poll_seconds,
    )


def _first_installed(names: Sequence[str]) -> Callable[..., Watcher]:
    for name in names:
        try:
            if name == "watchfiles":
                from vaultsync.backends.watchers.watchfiles import WatchfilesWatcher

                return WatchfilesWatcher
            from vaultsync.backends.watchers.watchdog import WatchdogWatcher
        except ImportError:
            continue
        else:
            return WatchdogWatcher
    raise MissingExtraError("watching for changes", names[0], "live")
