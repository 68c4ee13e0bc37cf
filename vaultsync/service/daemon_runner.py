"""A vault that is watched: the engine's lock, one thread that works, and who asks it."""

from __future__ import annotations

import queue
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from typing import Any, Generic, TypeVar

from msgspec import to_builtins

from vaultsync.api.memory import Memory
from vaultsync.backends.obsidian.vault_through_app import ObsidianApp
from vaultsync.backends.sqlite.unavailable import UnavailableStore
from vaultsync.backends.state.daemon_file import DaemonFile
from vaultsync.backends.watchers.choose_watcher import watcher_maker
from vaultsync.daemon.loop import DaemonLoop
from vaultsync.daemon.schedule import Intervals
from vaultsync.errors import DaemonStoppedError, EngineBusyError
from vaultsync.model.schema import Value
from vaultsync.service.daily_maintenance import DailyMaintenance
from vaultsync.service.memory_file_watch import MemoryFileWatch
from vaultsync.service.waking import WakeEvent
from vaultsync.settings import Settings
from vaultsync.sync.context import SyncContext
from vaultsync.sync.report import Progress, Report, Status
from vaultsync.sync.status import daemon_status
from vaultsync.sync.sync_request import SyncRequest

T = TypeVar("T")
EventSink = Callable[[str, Mapping[str, Value]], None]
LOCK_TRIES = 8
"""To get the engine's lock, a quarter of a second apart, when it is not to be waited for."""
MIN_TICK_SECONDS = 0.005
"""Seconds between two steps at least: in a storm of events each would be a step."""


class DaemonWork(Memory):
    """The memory that a daemon owns, and what it has it do."""

    def __init__(
        self,
        settings: Settings,
        *,
        stopped: Callable[[], bool],
        asked: Callable[[], bool],
        app: ObsidianApp | None = None,
    ) -> None:
        super().__init__(settings, app=app)
        self._stopped = stopped
        self._asked = asked

    @property
    def ctx(self) -> SyncContext:
        """The two sides."""
        return self._ctx

    @contextmanager
    def held(self, again: Callable[[], bool]) -> Iterator[None]:
        """The engine's lock for as long as the daemon lives; `again` says whether to wait.

        Raises:
            EngineBusyError: another engine has the vault.
        """
        while not self._lock.try_lock():
            if not again():
                busy = EngineBusyError(str(self.settings.root), self._lock.holder())
                raise busy.watched("nothing is left to do; with `--wait` this one follows")
        try:
            with self._lock:  # the second time it is also written down who has it
                yield
        finally:
            self._lock.unlock()

    def reopen(self) -> None:
        """See whether a store that could not be opened is there now."""
        if isinstance(self._ctx.store, UnavailableStore):
            self._ctx = replace(self._ctx, store=self._open_store())

    def sync_folders(self, request: SyncRequest, progress: Progress) -> Report:
        """One pass, and the links that follow moved notes; nothing that is derived."""
        from vaultsync.operations.relink import sync_and_relink

        with self._engine() as ctx:
            links = self._derived.links
            return sync_and_relink(ctx, links, request, files=self._files, progress=progress)

    def is_derived(self) -> bool:
        """Whether all that is derived follows the facts."""
        from vaultsync.api.derived_data import is_derived_current

        return is_derived_current(self._ctx)

    def derive(self, progress: Progress) -> tuple[str, ...]:
        """Bring what is derived up to date; returns what is behind, and why."""
        from vaultsync.api.derived_data import update_derived

        with self._engine() as ctx:
            return update_derived(ctx, self._parts(), progress=progress).degraded

    def stopped(self) -> bool:
        """Whether the daemon is to end."""
        return self._stopped()

    def has_waiting_calls(self) -> bool:
        """Whether somebody waits for this engine."""
        return self._asked()


class _EngineCall(Generic[T]):
    """Something that the engine is asked to do, and who waits for it."""

    def __init__(self, work: Callable[[Memory], T]) -> None:
        self._work = work
        self.future: Future[T] = Future()

    def do(self, memory: Memory) -> None:
        """Do it, unless nobody waits any more."""
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            self.future.set_result(self._work(memory))
        except BaseException as error:  # noqa: BLE001 - it is raised where it was asked
            self.future.set_exception(error)

    def refuse(self) -> None:
        """The daemon has ended."""
        if self.future.set_running_or_notify_cancel():
            self.future.set_exception(DaemonStoppedError())


class DaemonRunner:
    """Keeps a vault equal with its store until it is told to stop.

    `run` does the work, in the thread that calls it; all else may be called from any.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        tell: EventSink = lambda _kind, _said: None,
        once: bool = False,
        wait: bool = False,
        intervals: Intervals | None = None,
        app: ObsidianApp | None = None,
    ) -> None:
        """What is watched, and how.

        Args:
            settings: of the vault.
            tell: told of what happens, in the thread that works; it must not block. The
                kinds are `ready`, `pass`, `state`, `watcher`, `store`, `rescan`,
                `error`, `derived`, `memory-file` and `stopped`.
            once: whether to end at the first quiet moment.
            wait: whether to wait for another engine that has the vault.
            intervals: the intervals; those of the settings.
            app: Obsidian, which writes notes while it is open.
        """
        self.settings = settings
        self._tell = tell
        self._once = once
        self._wait = wait
        self._intervals = intervals or intervals_for(settings)
        self._wake = WakeEvent()
        self._stopping = False
        self._calls: queue.SimpleQueue[_EngineCall[Any]] = queue.SimpleQueue()
        self._file = DaemonFile(settings.state_dir)
        self._app = app
        self._daemon: DaemonLoop | None = None
        self._worker: int | None = None
        self._memory: DaemonWork | None = None
        self._told_at = 0.0
        self._tries = 0
        self._lags = False
        self.ready = threading.Event()
        """Set when the lock is held and calls are served."""

    def run(self) -> Mapping[str, Value]:
        """Watch until `stop()`, or (`once`) until nothing is left to do.

        Returns what `status` says of a daemon. Raises:
            EngineBusyError: another engine has the vault.
            VaultsyncError, OSError: with `once`, what a pass failed with.
        """
        owned = DaemonWork(
            self.settings,
            stopped=lambda: self._stopping,
            asked=lambda: not self._calls.empty(),
            app=self._app,
        )
        with owned as memory, memory.held(self._next_try):
            self._worker, self._memory = threading.get_ident(), memory
            self.ready.set()
            try:
                return self._watch(memory)
            finally:
                self._stopping = True
                self._worker = self._daemon = None
                self._refuse_calls()
                self._file.remove()

    def stop(self) -> None:
        """Have `run` return soon, in the middle of a pass too; a signal may call it."""
        self._stopping = True
        self._wake.set()

    def state(self) -> Mapping[str, Value] | None:
        """What the daemon tells of itself; None when it does not run."""
        daemon = self._daemon
        return None if daemon is None else to_builtins(daemon.state)

    def status(self) -> Status:
        """What `status` says, as far as it is known without looking.

        Raises:
            DaemonStoppedError: it does not run.
            StoreUnavailableError.
        """
        return self.call(lambda _: self._known())

    def call(self, work: Callable[[Memory], T], timeout: float | None = None) -> T:
        """Have the engine do something between two passes; returns what it returns.

        Raises: what it raises, and
            DaemonStoppedError: the daemon ended before it was done.
            TimeoutError: it was not done in time; it is done all the same.
        """
        if self._worker == threading.get_ident() and self._memory is not None:
            return work(self._memory)
        asked = _EngineCall(work)
        self._calls.put(asked)
        self._wake.set()
        if self._stopping and self._worker is None:
            self._refuse_calls()
        try:
            return asked.future.result(timeout)
        except TimeoutError:
            asked.future.cancel()
            raise

    def _watch(self, memory: DaemonWork) -> Mapping[str, Value]:
        make = watcher_maker(self.settings, self._wake.set)
        daemon = DaemonLoop(memory, make, self._intervals, emit=self._told, jitter=_jitter)
        self._daemon = daemon
        files = MemoryFileWatch(memory, self._told)
        daily = DailyMaintenance(memory, lambda: memory.ctx, self._told, daemon.record_error)
        self._told("ready", {"vault": str(self.settings.root)})
        try:
            self._go_on(daemon, files, daily, memory)
        except DaemonStoppedError:
            pass  # in the middle of a pass; the next one takes it up
        finally:
            daemon.close()
        said: dict[str, Value] = to_builtins(daemon.state)
        self._told("stopped", said)
        return said

    def _go_on(
        self, daemon: DaemonLoop, files: MemoryFileWatch, daily: DailyMaintenance, memory: Memory
    ) -> None:
        while not self._stopping:
            wait = daemon.tick()
            wait = min(wait, files.tick(time.monotonic()))
            if daemon.is_idle:
                daily.tick(time.monotonic())
            self._tell_lag(daemon)
            if self._once and self._is_over(daemon) and files.settled:
                return
            if wait > 0 and self._wake.wait(wait):
                time.sleep(MIN_TICK_SECONDS)
            self._wake.clear()
            self._answer_calls(daemon, memory)

    def _is_over(self, daemon: DaemonLoop) -> bool:
        if daemon.error is not None:
            raise daemon.error
        return daemon.is_idle

    def _answer_calls(self, daemon: DaemonLoop, memory: Memory) -> None:
        asked = False
        while not self._calls.empty():
            self._calls.get().do(memory)
            asked = True
        if asked:
            daemon.retry_soon()

    def _refuse_calls(self) -> None:
        while not self._calls.empty():
            self._calls.get().refuse()

    def _known(self) -> Status:
        if self._memory is None:
            raise DaemonStoppedError
        state = copy(self._daemon.state) if self._daemon else None
        known = daemon_status(self._memory.ctx, daemon=state)
        return self._memory.with_queued(known)

    def _told(self, kind: str, said: Mapping[str, Value]) -> None:
        if kind == "state":
            self._file.write(said)
            self._told_at = time.monotonic()
            self._lags = bool(said["lag_seconds"])
        self._tell(kind, said)

    def _tell_lag(self, daemon: DaemonLoop) -> None:
        """Keep what is told of the lag true, without writing all the time."""
        lags = daemon.state.lag_seconds > 0
        if lags != self._lags and time.monotonic() > self._told_at + 1:
            self._told("state", to_builtins(daemon.state))

    def _next_try(self) -> bool:
        """Whether to try again to get the lock, after a while.

        Another engine may be a command that has done in a moment, so some tries are free.
        """
        self._tries += 1
        if self._wait or self._tries < LOCK_TRIES:
            time.sleep(0.25)
            return not self._stopping
        return False


def intervals_for(settings: Settings) -> Intervals:
    """The intervals of a vault."""
    near = settings.store.partition(":")[0] == "sqlite"
    return Intervals(
        settle=settings.watch.settle_seconds,
        settle_longest=settings.watch.settle_longest,
        rescan=settings.watch.rescan_seconds,
        hashes=settings.watch.hash_seconds,
        # Asking a file costs microseconds, asking over a network milliseconds.
        poll=0.05 if near else 1.0,
    )


def _jitter() -> float:
    return secrets.randbelow(1000) / 1000
