"""What a bridge serves: who does the work, who listens, who may ask.

Alone, it has one `Memory` that answers and one that writes, each in a thread of its own. In
`watch`, the daemon's worker does what needs the engine, and facts are written by a `Memory`
beside it: their notes come by the daemon's feed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from msgspec import structs, to_builtins

from vaultsync import __version__
from vaultsync.api.memory import Memory
from vaultsync.backends.obsidian.vault_through_app import WriteReply
from vaultsync.backends.state.bridge_address import BridgeAddressFile
from vaultsync.backends.state.token_file import TokenFile
from vaultsync.backends.state.vault_marker import make_state_dir
from vaultsync.backends.system.system_clock import SystemClock
from vaultsync.errors import ScopeDeniedError, VaultsyncError
from vaultsync.model.schema import Value
from vaultsync.service.events import EventBus
from vaultsync.service.memory_worker import MemoryRunner, MemoryWorker
from vaultsync.service.obsidian_writes import ObsidianWrites
from vaultsync.settings import Settings
from vaultsync.sync.report import Status

T = TypeVar("T")


class BridgeStatus(Status, frozen=True, kw_only=True):
    """What waits and what is wrong, of which vault."""

    vault_id: str
    version: str
    app_connected: bool
    """Whether Obsidian listens and writes notes itself."""


@dataclass(frozen=True, slots=True)
class BridgeServices:
    """All that a bridge needs."""

    settings: Settings
    reading: MemoryRunner
    """Answers; never the engine's lock."""
    writing: MemoryRunner
    """What agents do with facts."""
    engine: MemoryRunner
    """What needs the engine's lock."""
    events: EventBus
    writes: ObsidianWrites
    token: Callable[[], str]
    """The token as it is now."""
    on_run: Callable[[Mapping[str, Value]], None]
    """Told of a pass that somebody asked for."""

    def state(self, memory: Memory) -> BridgeStatus:
        """How things stand, for who listens."""
        return bridge_status(self.settings, self.writes, memory.status())

    def asks(self, agent: str | None) -> str | None:
        """For whom something is asked, by who says so.

        Raises:
            ScopeDeniedError: the bridge is another agent's.
        """
        own = self.settings.agent
        if own is not None and agent not in (None, own):
            raise ScopeDeniedError(agent or "", f"private-{own}")
        return agent or own

    def answer(self, write: str, *, applied: bool, found: str | None, reason: str) -> None:
        """What Obsidian says to a `write` event.

        Raises:
            WriteNotFoundError: nobody waits for it (any more).
        """
        self.writes.answered(write, WriteReply(applied, found, reason))

    def announce(self, port: int) -> None:
        """Say where the bridge listens; who reads it finds the token beside it.

        Raises:
            OSError.
            ConfigError: the token cannot be used.
        """
        self.token()
        BridgeAddressFile(self.settings.state_dir).write(port, self.settings.agent)

    def withdraw_address(self) -> None:
        """Say no more where it listened."""
        BridgeAddressFile(self.settings.state_dir).remove_own()


def bridge_status(settings: Settings, writes: ObsidianWrites, status: Status) -> BridgeStatus:
    """A status as a bridge tells it: of which vault, and whether an app listens."""
    return BridgeStatus(
        **structs.asdict(status),
        vault_id=settings.vault_id,
        version=__version__,
        app_connected=writes.is_connected,
    )


class StateBroadcaster:
    """Tells all who listen how things stand after something happened.

    May be called from any thread, and waits for nothing: the state is looked up by the
    worker when its turn comes, once for all that happened until then.
    """

    def __init__(self, serving: BridgeServices, worker: MemoryWorker[Memory]) -> None:
        self._serving = serving
        self._worker = worker
        self._lock = threading.Lock()
        self._asked = False

    def __call__(self, kind: str, said: Mapping[str, Value]) -> None:
        """A pass is told as it is, and every event may have changed the state."""
        if kind == "pass":
            self._serving.events.publish("pass", said)
        with self._lock:
            asked, self._asked = self._asked, True
        if not asked:
            self._worker.soon(self._look)

    def _look(self, memory: Memory) -> None:
        with self._lock:
            self._asked = False
        with suppress(VaultsyncError, OSError):
            state = to_builtins(self._serving.state(memory))
            self._serving.events.publish("state", state)


@contextmanager
def standalone_bridge(settings: Settings) -> Iterator[BridgeServices]:
    """A bridge without a daemon.

    Raises:
        VaultsyncError: the vault cannot be opened.
    """
    events = EventBus()
    writes = app_writes(events)
    with (
        MemoryWorker(lambda: Memory(settings), name="bridge-read") as reading,
        MemoryWorker(lambda: Memory(settings, app=writes), name="bridge-write") as writing,
    ):

        def engine(work: Callable[[Memory], T], /) -> T:
            done = writing(work)
            telling("done", {})
            return done

        token = TokenFile(settings.state_dir).token
        passed = partial(events.publish, "pass")
        serving = BridgeServices(settings, reading, engine, engine, events, writes, token, passed)
        telling = StateBroadcaster(serving, reading)
        yield serving


def app_writes(events: EventBus) -> ObsidianWrites:
    """The app that listens to some events, for a daemon that writes through it."""
    return ObsidianWrites(events, SystemClock())


@contextmanager
def daemon_bridge(
    settings: Settings,
    engine: MemoryRunner,
    *,
    events: EventBus,
    writes: ObsidianWrites,
    passed: Callable[[Mapping[str, Value]], None],
) -> Iterator[BridgeServices]:
    """A bridge in a daemon, which has the engine and is told of the passes asked for.

    Raises:
        VaultsyncError: the vault cannot be opened.
    """
    with MemoryWorker(lambda: Memory(settings), name="bridge") as reading:
        token = TokenFile(settings.state_dir).token
        yield BridgeServices(settings, reading, reading, engine, events, writes, token, passed)


def vault_token(settings: Settings, *, rotate: bool = False) -> str:
    """The token of a vault, made when there is none; a new one when it is to be renewed.

    Raises:
        ConfigError: its file cannot be used.
    """
    make_state_dir(settings.state_dir)
    file = TokenFile(settings.state_dir)
    return file.rotate() if rotate else file.token()
