"""What runs until a signal. Loaded by a command when it runs."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import TypeAlias

from msgspec import to_builtins

from vaultsync.api.opening import find_settings
from vaultsync.cli.options import Options
from vaultsync.errors import VaultsyncError
from vaultsync.http_bridge.bridge_server import BridgeServer, running_bridge
from vaultsync.model.schema import Value
from vaultsync.service import bridge_service as serving
from vaultsync.service.daemon_runner import DaemonRunner
from vaultsync.service.events import EventBus
from vaultsync.service.waking import WakeEvent

EventSink: TypeAlias = Callable[[str, Mapping[str, Value]], None]
_LOOK = 1.0
"""Seconds after which somebody who waits looks whether there is anything to wait for."""


@contextmanager
def open_bridge(options: Options, *, port: int | None, agent: str | None) -> Iterator[BridgeServer]:
    """A bridge of the vault that the options name."""
    settings = find_settings(options.vault, agent=agent, state_dir=options.state_dir)
    with serving.standalone_bridge(settings) as served, running_bridge(served, port=port) as found:
        yield found


class BridgeInDaemon:
    """What a bridge and the daemon that it runs in have in common."""

    def __init__(self) -> None:
        self.events = EventBus()
        self.writes = serving.app_writes(self.events)

    @contextmanager
    def bridge(
        self, watching: DaemonRunner, *, port: int | None, tell: EventSink
    ) -> Iterator[BridgeServer]:
        """A bridge that asks the daemon for what needs the engine.

        What was done for those who asked is told as what the daemon does by itself.
        """
        with (
            serving.daemon_bridge(
                watching.settings,
                watching.call,
                events=self.events,
                writes=self.writes,
                passed=partial(tell, "pass"),
            ) as served,
            running_bridge(served, port=port) as found,
        ):
            yield found

    def tell(self, watching: DaemonRunner, kind: str, said: Mapping[str, Value]) -> None:
        """Tell those who listen to the bridge what the daemon tells."""
        if kind == "pass":
            self.events.publish("pass", said)
        elif kind == "state":
            with suppress(VaultsyncError):  # without its store there is nothing to tell
                now = serving.bridge_status(watching.settings, self.writes, watching.status())
                self.events.publish("state", to_builtins(now))


def load_token(options: Options, *, rotate: bool) -> str:
    """The token of the vault that the options name."""
    settings = find_settings(options.vault, state_dir=options.state_dir)
    return serving.vault_token(settings, rotate=rotate)


def until_signal(is_alive: Callable[[], bool]) -> None:
    """Return at SIGTERM or SIGINT, or when there is nothing to wait for any more."""
    over = WakeEvent()
    before = {
        each: signal.signal(each, lambda *_: over.set()) for each in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        while is_alive() and not over.wait(_LOOK):
            pass
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
