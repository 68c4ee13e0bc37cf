"""The services of a bridge: workers, events and authorisation.

A standalone bridge has one `Memory` for reading and one for writing, each in its own thread.
In `watch`, the daemon's worker does what needs the engine, and a separate `Memory` writes facts,
which the daemon sees in the store's feed.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

from msgspec import structs, to_builtins

from vaultsync import __version__
from vaultsync.api.memory import Memory
from vaultsync.backends.http.loopback_guard import REQUIRED_HEADER, Asgi, LoopbackGuard
from vaultsync.backends.http.loopback_server import LoopbackServer
from vaultsync.backends.obsidian.vault_through_app import WriteReply
from vaultsync.backends.state.bridge_token import TokenFile
from vaultsync.backends.state.process_files import BridgeAddressFile
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
RunningServer: TypeAlias = LoopbackServer
"""What `serve_on_loopback()` returns."""
_log = logging.getLogger(__name__)


class BridgeStatus(Status, frozen=True, kw_only=True):
    """The status of a vault, with its id."""

    vault_id: str
    version: str
    app_connected: bool
    """Whether Obsidian is connected and writes notes itself."""


@dataclass(frozen=True, slots=True)
class BridgeServices:
    """The parts of a bridge."""

    settings: Settings
    reading: MemoryRunner
    """Answers questions; never takes the engine's lock."""
    writing: MemoryRunner
    """Writes facts for agents."""
    engine: MemoryRunner
    """Runs work that needs the engine's lock."""
    events: EventBus
    writes: ObsidianWrites
    token: Callable[[], str]
    """The current token."""
    on_run: Callable[[Mapping[str, Value]], None]
    """Called with the report of a run that a client requested."""
    in_daemon: bool = False
    """Whether it is announced in place of another bridge, because it has the engine."""

    def state(self, memory: Memory) -> BridgeStatus:
        """The data of a `state` event."""
        return bridge_status(self.settings, self.writes, memory.status())

    def asks(self, agent: str | None) -> str | None:
        """The agent of a request, given the one that it names.

        Raises:
            ScopeDeniedError: the bridge is another agent's.
        """
        own = self.settings.agent
        if own is not None and agent not in (None, own):
            raise ScopeDeniedError(agent or "", f"private-{own}")
        return agent or own

    def answer(self, write: str, *, applied: bool, found: str | None, reason: str) -> None:
        """Accept Obsidian's answer to a `write` event.

        Raises:
            WriteNotFoundError: nothing waits for that answer, or no longer.
        """
        self.writes.on_reply(write, WriteReply(applied, found, reason))

    def announce(self, port: int) -> None:
        """Record the address of the bridge, beside its token, unless another one is announced.

        Raises:
            OSError.
            ConfigError: the token cannot be used.
        """
        self.token()
        file = BridgeAddressFile(self.settings.state_dir)
        if self.in_daemon or file.is_own() or file.find() is None:
            file.write(port, self.settings.agent)

    def announce_after_others(self, port: int) -> None:
        """Record the address of the bridge if none is announced: another one has ended."""
        file = BridgeAddressFile(self.settings.state_dir)
        if file.find() is None:
            with suppress(OSError):  # the next call tries again
                file.write(port, self.settings.agent)

    def withdraw_address(self) -> None:
        """Remove the recorded address."""
        BridgeAddressFile(self.settings.state_dir).remove_own()


def bridge_status(settings: Settings, writes: ObsidianWrites, status: Status) -> BridgeStatus:
    """A status with the id of the vault, and whether Obsidian is connected."""
    return BridgeStatus(
        **structs.asdict(status),
        vault_id=settings.vault_id,
        version=__version__,
        app_connected=writes.is_connected,
    )


@contextmanager
def standalone_bridge(settings: Settings) -> Iterator[BridgeServices]:
    """A bridge without a daemon.

    Raises:
        VaultsyncError: the vault cannot be opened.
    """
    events = EventBus()
    writes = ObsidianWrites(events, SystemClock())
    is_pending = threading.Event()
    with (
        MemoryWorker(lambda: Memory(settings), name="bridge-read") as reading,
        MemoryWorker(lambda: Memory(settings, app=writes), name="bridge-write") as writing,
    ):

        def engine(work: Callable[[Memory], T], /) -> T:
            result = writing(work)
            # The other memory, and other processes, read the paths of new notes.
            with suppress(VaultsyncError, OSError):  # the next run records them
                writing(lambda memory: memory.finish_pending(derive=False))
            if not is_pending.is_set():  # one for all calls since the last time
                is_pending.set()
                reading.soon(publish)
            return result

        def publish(memory: Memory) -> None:
            is_pending.clear()
            try:
                events.publish("state", to_builtins(services.state(memory)))
            except (VaultsyncError, OSError) as error:
                _log.debug("the state could not be read: %s", error)

        token = TokenFile(settings.state_dir).token
        services = BridgeServices(
            settings, reading, engine, engine, events, writes, token, events.publish_run
        )
        yield services


@contextmanager
def daemon_bridge(
    settings: Settings,
    engine: MemoryRunner,
    *,
    events: EventBus,
    writes: ObsidianWrites,
    on_run: Callable[[Mapping[str, Value]], None],
    on_answer: Callable[[str, float], None] | None = None,
) -> Iterator[BridgeServices]:
    """A bridge in a daemon, which has the engine, reports requested runs, and times answers.

    Raises:
        VaultsyncError: the vault cannot be opened.
    """
    with MemoryWorker(lambda: Memory(settings, on_answer=on_answer), name="bridge") as reading:
        token = TokenFile(settings.state_dir).token
        yield BridgeServices(
            settings, reading, reading, engine, events, writes, token, on_run, in_daemon=True
        )


def vault_token(settings: Settings, *, rotate: bool = False) -> str:
    """The token of a vault; `rotate` replaces it by a new one.

    Raises:
        ConfigError: its file cannot be used.
    """
    make_state_dir(settings.state_dir)
    file = TokenFile(settings.state_dir)
    return file.rotate() if rotate else file.token()


def serve_on_loopback(
    app: Asgi,
    settings: Settings,
    ports: Sequence[int],
    *,
    name: str,
    lifespan: Literal["on", "off"] = "off",
    header: str | None = REQUIRED_HEADER,
) -> RunningServer:
    """Serve an ASGI application on this machine, to clients that know the token of a vault.

    All servers are started here, so that every request passes the guard. The `ports` are tried in
    order; 0 is any free one. With `lifespan`, the application receives the start and the end of the
    server. `header` is one that every request must have that may change something.

    Raises:
        OSError: none of the ports is free.
        ConfigError: the token cannot be used.
    """
    token = TokenFile(settings.state_dir).token
    monotonic = SystemClock().monotonic

    def behind_guard(port: int) -> Asgi:
        return LoopbackGuard(app, token, port, monotonic=monotonic, header=header)

    return LoopbackServer(behind_guard, ports, name=name, lifespan=lifespan)
