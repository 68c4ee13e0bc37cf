"""The daemon of a vault: its loop in one thread, and calls from other threads."""

from __future__ import annotations

import logging
import queue
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack
from copy import copy
from functools import partial
from typing import Any, TypeVar

from msgspec import convert, to_builtins

from vaultsync.api.memory import Memory
from vaultsync.backends.filesystem.tree import IgnoreRules
from vaultsync.backends.obsidian.vault_through_app import ObsidianApp
from vaultsync.backends.state.process_files import DaemonFile
from vaultsync.backends.state.telemetry_file import TelemetryFile
from vaultsync.backends.system.system_clock import SystemClock
from vaultsync.backends.watchers.choose_watcher import watcher_maker
from vaultsync.daemon.loop import DaemonLoop, EventSink
from vaultsync.daemon.schedule import Intervals
from vaultsync.errors import ArchiveReplacedError, DaemonStoppedError, VaultsyncError
from vaultsync.model.schema import Value
from vaultsync.service.bridge_service import (
    BridgeServices,
    RunningServer,
    bridge_status,
    daemon_bridge,
)
from vaultsync.service.daemon_work import LOCK_TRY_SECONDS, DaemonWork
from vaultsync.service.events import EventBus
from vaultsync.service.idle_work import IdleWork
from vaultsync.service.memory_file_watch import MemoryFileWatch
from vaultsync.service.obsidian_writes import ObsidianWrites
from vaultsync.settings import LEAST_SCAN_SECONDS, Settings
from vaultsync.sync.report import Report, Status
from vaultsync.sync.status import daemon_status
from vaultsync.sync.telemetry import TelemetryRecorder

T = TypeVar("T")
LOCK_TRIES = 100
"""Number of attempts at the engine's lock, within two seconds, without `wait`."""
LOCK_WAIT_SECONDS = 0.25
"""Seconds between later attempts; the first ones are `LOCK_TRY_SECONDS` apart."""
TELEMETRY_SECONDS = 2.0
"""Seconds between two writes of new measurements."""
MIN_TICK_SECONDS = 0.005
"""Minimum seconds between two steps, to limit the load of many events."""
_log = logging.getLogger(__name__)


class WakeEvent:
    """An event that one thread waits for, and any thread or signal handler may set.

    A signal is handled in the waiting thread, between any two of its steps. There, an event of
    `threading` could find its own lock held by the interrupted code, and deadlock; a simple
    queue has no such lock.
    """

    def __init__(self) -> None:
        self._set: queue.SimpleQueue[None] = queue.SimpleQueue()

    def set(self) -> None:
        """Wake the waiting thread, or the next one that waits."""
        if self._set.empty():
            self._set.put(None)

    def wait(self, seconds: float) -> bool:
        """Wait until it is set; False after the timeout."""
        try:
            self._set.get(timeout=seconds)
        except queue.Empty:
            return False
        return True

    def clear(self) -> None:
        """Undo every call of `set()` so far."""
        while self.wait(0):
            pass


class DaemonRunner:
    """Keeps a vault equal with its store until it is stopped.

    `run` does the work in the calling thread; other methods may be called from any thread.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        on_event: EventSink = lambda _kind, _data: None,
        once: bool = False,
        wait: bool = False,
        app: ObsidianApp | None = None,
    ) -> None:
        """Prepare a daemon.

        Args:
            settings: the settings of the vault.
            on_event: called in the working thread; it must not block. The kinds are
                `ready`, `pass`, `state`, `watcher`, `store`, `rescan`, `error`, `derived`,
                `memory-file` and `stopped`.
            once: end as soon as nothing is left to do.
            wait: wait while another engine has the vault.
            app: Obsidian, which writes notes while it is open.
        """
        self.settings = settings
        self._on_event = on_event
        self._once = once
        self._wait = wait
        self._intervals = intervals_for(settings)
        self._wake = WakeEvent()
        self._stopping = False
        self._calls: queue.SimpleQueue[tuple[Future[Any], Callable[[Memory], Any]]]
        self._calls = queue.SimpleQueue()
        self._file = DaemonFile(settings.state_dir)
        self._telemetry_file = TelemetryFile(settings.state_dir)
        self._telemetry_at = 0.0
        self._app = app
        self._daemon: DaemonLoop | None = None
        self._worker: int | None = None
        self._memory: DaemonWork | None = None
        self._state_at = 0.0
        self._attempts = 0
        self._lags = False
        self.ready = threading.Event()
        """Set once the lock is held and calls are served."""

    def run(self) -> Mapping[str, Value]:
        """Watch until `stop()`, or (`once`) until nothing is left to do.

        Returns:
            The state of the daemon, as in `status`.

        Raises:
            EngineBusyError: another engine has the vault.
            ArchiveReplacedError: a backup was restored, or a newer version began to use the
                archive, so it has to start again.
            VaultsyncError, OSError: with `once`, the error of a run that failed.
        """
        try:
            work = DaemonWork(
                self.settings,
                stopped=lambda: self._stopping,
                has_waiting_calls=lambda: not self._calls.empty(),
                app=self._app,
            )
            with work as memory, memory.locked(self._retry_lock):
                self._worker, self._memory = threading.get_ident(), memory
                self.ready.set()
                try:
                    return self._watch(memory)
                finally:
                    self._stopping = True
                    if not self._once:
                        memory.stop_embedding()
                    self._file.remove()
        finally:  # also if another engine has the vault
            self._stopping = True
            self._worker = self._daemon = None
            self._answer_calls(None)

    def stop(self) -> None:
        """Make `run` return soon, even during a run; safe in a signal handler."""
        self._stopping = True
        self._wake.set()

    def state(self) -> Mapping[str, Value] | None:
        """The state of the daemon; None if it is not running."""
        daemon = self._daemon
        return None if daemon is None else to_builtins(daemon.current_state())

    def status(self) -> Status:
        """The data of `status` that is known without reading the vault.

        Raises:
            DaemonStoppedError: it is not running.
            StoreUnavailableError.
        """
        return self.call(lambda _: self._known())

    def call(self, work: Callable[[Memory], T], timeout: float | None = None) -> T:
        """Call a function with the engine's memory, between two runs.

        It is not waited for longer than `timeout` seconds.

        Returns:
            The result of `work`.

        Raises:
            DaemonStoppedError: the daemon ended before it was done.
            TimeoutError: it was not done in time, and may still be done.
            Exception: the error of `work`.
        """
        if self._worker == threading.get_ident() and self._memory is not None:
            return work(self._memory)
        future: Future[T] = Future()
        self._calls.put((future, work))
        self._wake.set()
        if self._stopping and self._worker is None:
            self._answer_calls(None)
        try:
            return future.result(timeout)
        except TimeoutError:
            future.cancel()
            raise

    def _watch(self, memory: DaemonWork) -> Mapping[str, Value]:
        ignores = IgnoreRules(self.settings.ignore).folder
        make = watcher_maker(self.settings, self._wake.set, ignores)
        saved = self._telemetry_file.read(now=memory.ctx.now())
        telemetry = TelemetryRecorder(saved, threading.Lock())
        if not self._once:
            telemetry.start()
            self._telemetry_file.write(telemetry.saved())
        daemon = DaemonLoop(
            memory, make, self._intervals, emit=self._publish, jitter=_jitter, telemetry=telemetry
        )
        self._daemon = daemon
        files = MemoryFileWatch(memory, self._publish, memory.version, jitter=_jitter)
        idle = IdleWork(memory, self._publish, daemon.record_error, jitter=_jitter)
        self._publish("ready", {"vault": str(self.settings.root)})
        try:
            self._loop(daemon, files, idle, memory)
        except DaemonStoppedError:
            pass  # interrupted a run; the next one continues it
        except ArchiveReplacedError as error:
            daemon.record_error(error)
            raise
        finally:
            daemon.close()
            if not self._once:
                telemetry.end()
                self._telemetry_file.write(telemetry.saved())
        state: dict[str, Value] = to_builtins(daemon.current_state())
        self._publish("stopped", state)
        return state

    def _loop(
        self, daemon: DaemonLoop, files: MemoryFileWatch, idle: IdleWork, memory: DaemonWork
    ) -> None:
        while not self._stopping:
            wait = daemon.tick()
            memory.check_archive()
            if isinstance(daemon.error, ArchiveReplacedError):
                raise daemon.error
            wait = min(wait, files.tick(time.monotonic()))
            is_busy = daemon.is_idle and idle.tick(time.monotonic())
            self._publish_lag(daemon)
            self._keep_telemetry(daemon)
            error = daemon.error or files.error
            if self._once and error is not None:
                raise error
            if self._once and daemon.is_idle and files.settled and not is_busy:
                return
            if wait > 0 and not is_busy and self._wake.wait(wait):
                time.sleep(MIN_TICK_SECONDS)
            self._wake.clear()
            if memory.lend_lock():
                daemon.retry_soon()
            if not self._calls.empty():
                self._answer_calls(memory)
                daemon.retry_soon()

    def _answer_calls(self, memory: Memory | None) -> None:
        """Carry out the waiting calls; without a memory, the daemon has ended, and they fail."""
        while not self._calls.empty():
            future, work = self._calls.get()
            if not future.set_running_or_notify_cancel():
                continue
            if memory is None:
                future.set_exception(DaemonStoppedError())
                continue
            try:
                future.set_result(work(memory))
            except BaseException as error:  # noqa: BLE001 - it is raised in the thread that waits
                future.set_exception(error)

    def _known(self) -> Status:
        if self._memory is None:
            raise DaemonStoppedError
        state = copy(self._daemon.current_state()) if self._daemon else None
        known = daemon_status(self._memory.ctx, daemon=state, agent=self._memory.agent)
        return self._memory.with_queued(known)

    def _publish(self, kind: str, data: Mapping[str, Value]) -> None:
        if kind == "pass" and self._memory is not None and self._memory.agent is not None:
            data = to_builtins(self._memory.as_seen(convert(data, Report)))
        if kind == "state":
            self._file.write(data)
            self._state_at = time.monotonic()
            self._lags = bool(data["lag_seconds"])
        self._on_event(kind, data)

    def _publish_lag(self, daemon: DaemonLoop) -> None:
        """Update the published lag, without writing at each step."""
        lags = daemon.state.lag_seconds > 0
        if lags != self._lags and time.monotonic() > self._state_at + 1:
            self._publish("state", to_builtins(daemon.state))

    def record_answer(self, source: str, seconds: float) -> None:
        """Record the response time of the bridge."""
        daemon = self._daemon
        if daemon is not None:
            daemon.telemetry.record_answer(source, seconds)

    def _keep_telemetry(self, daemon: DaemonLoop) -> None:
        """Write the telemetry for `status`, at most every few seconds."""
        now = time.monotonic()
        if self._once or not daemon.telemetry.is_changed:
            return
        if now >= self._telemetry_at + TELEMETRY_SECONDS:
            self._telemetry_at = now
            self._telemetry_file.write(daemon.telemetry.saved())
            self._file.write(to_builtins(daemon.current_state()))

    def _retry_lock(self) -> bool:
        """Wait before the next attempt at the lock; returns whether to try again.

        Another engine may be a short command, or agents that take the lock for each of their
        writes, hence many attempts.
        """
        self._attempts += 1
        is_early = self._attempts < LOCK_TRIES
        if self._wait or is_early:
            time.sleep(LOCK_TRY_SECONDS if is_early else LOCK_WAIT_SECONDS)
            return not self._stopping
        return False


ServeBridge = Callable[[BridgeServices], AbstractContextManager[RunningServer]]
"""Serves a bridge for as long as the context is open."""


class WatchService:
    """A daemon, and the bridge that opens once the daemon has the vault.

    Clients of the bridge receive the daemon's events, and the daemon those of runs that clients
    request.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        log: EventSink,
        serve: ServeBridge | None = None,
        once: bool = False,
        wait: bool = False,
    ) -> None:
        """Prepare a daemon, with a bridge if `serve` is given; `log` receives every event."""
        self._log = log
        self._serve = serve
        self._closing = ExitStack()
        self._events = EventBus()
        self._writes = ObsidianWrites(self._events, SystemClock())
        self._daemon = DaemonRunner(
            settings,
            on_event=self._publish,
            once=once,
            wait=wait,
            app=self._writes if serve else None,
        )
        self.stop = self._daemon.stop

    def run(self) -> Mapping[str, Value]:
        """Watch until `stop()`; returns and raises as `DaemonRunner.run()`."""
        with self._closing:
            return self._daemon.run()

    def _publish(self, kind: str, data: Mapping[str, Value]) -> None:
        self._log(kind, data)
        if self._serve is None:
            return
        if kind == "ready":  # not earlier, because another daemon's bridge may be announced
            self._open_bridge(self._serve)
        elif kind == "pass":
            self._events.publish_run(data)
        elif kind == "state":
            try:
                status = self._daemon.status()
            except VaultsyncError as error:  # no bridge without its store
                _log.debug("the state could not be read: %s", error)
                return
            state = bridge_status(self._daemon.settings, self._writes, status)
            self._events.publish("state", to_builtins(state))

    def _open_bridge(self, serve: ServeBridge) -> None:
        services = self._closing.enter_context(
            daemon_bridge(
                self._daemon.settings,
                self._daemon.call,
                events=self._events,
                writes=self._writes,
                on_run=partial(self._publish, "pass"),
                on_answer=self._daemon.record_answer,
            )
        )
        self._log("bridge", {"address": self._closing.enter_context(serve(services)).address})


def intervals_for(settings: Settings) -> Intervals:
    """The intervals of a daemon, from the settings of its vault."""
    return Intervals(
        settle=settings.watch.settle_seconds,
        settle_longest=settings.watch.settle_longest,
        rescan=max(settings.watch.rescan_seconds, LEAST_SCAN_SECONDS),
        hashes=max(settings.watch.hash_seconds, LEAST_SCAN_SECONDS),
    )


def _jitter() -> float:
    return secrets.randbelow(1000) / 1000
