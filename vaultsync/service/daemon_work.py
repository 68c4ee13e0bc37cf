"""The work of a daemon, under the engine's lock, which it holds for as long as it runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from vaultsync.api.maintenance import maintain_in_steps
from vaultsync.api.memory import Memory
from vaultsync.backends.obsidian.vault_through_app import ObsidianApp
from vaultsync.backends.sqlite.replaced_archive import ArchiveFile
from vaultsync.backends.system.address_space import limit_heaps
from vaultsync.errors import DaemonStoppedError
from vaultsync.model.steps import Steps
from vaultsync.settings import Settings
from vaultsync.storage.feed_cursor import version_of
from vaultsync.sync.context import SyncContext
from vaultsync.sync.report import MaintenanceReport, Progress, Report
from vaultsync.sync.sync_request import SyncRequest

IDLE_SECONDS = 30.0
"""Seconds that an embedding worker waits for more changes, because loading a model takes one."""
LOCK_TRY_SECONDS = 0.02
"""Seconds between two attempts at the lock, while it is lent."""


class DaemonWork(Memory):
    """The daemon's memory, with the tasks for its loop.

    Implements `DaemonTasks`.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        stopped: Callable[[], bool],
        has_waiting_calls: Callable[[], bool],
        app: ObsidianApp | None = None,
    ) -> None:
        limit_heaps()
        super().__init__(settings, app=app)
        self._engine.embedding.idle = IDLE_SECONDS
        self.stopped = stopped
        self.has_waiting_calls = has_waiting_calls

    @property
    def ctx(self) -> SyncContext:
        """The two sides."""
        return self._engine.ctx

    @contextmanager
    def locked(self, retry: Callable[[], bool]) -> Iterator[None]:
        """Hold the engine's lock for as long as the daemon lives.

        `retry` is called after each failed attempt, and returns whether to try again.

        Raises:
            EngineBusyError: another engine has the vault.
        """
        lock = self._engine.lock
        # Of the archive that is open, before waiting: a backup may come meanwhile.
        self._archive_file = ArchiveFile(self.settings.state_dir / "archive.sqlite3")
        with lock.next.held():
            while not lock.try_lock():
                if not retry():
                    raise lock.busy().watched(
                        "nothing is left to do; with `--wait` this one takes over"
                    )
        try:
            with lock:  # this also records which process has the lock
                yield
        finally:
            lock.unlock()

    def lend_lock(self) -> bool:
        """Lend the vault to a command that asks for it, until it is done; returns whether one did.

        Raises:
            DaemonStoppedError: the daemon was asked to stop.
        """
        lock = self._engine.lock
        if not lock.asked.is_of_another():
            return False
        times = lock.lend()
        while lock.asked.is_of_another() or not lock.take_back(times):
            if self.stopped():
                raise DaemonStoppedError
            time.sleep(LOCK_TRY_SECONDS)
        return True

    def check_archive(self) -> None:
        """Raise an ArchiveReplacedError if another file took the place of the archive.

        What this process locked and read is then no longer what others use.
        """
        self._archive_file.check()

    def sync_folders(self, request: SyncRequest, progress: Progress) -> Report:
        """Do a run, without derived data."""
        return self._engine.sync(request, derive=False, progress=progress)

    def maintenance(self) -> Steps[MaintenanceReport]:
        """Maintain the memory in steps, without derived data; raises as `maintain()`."""
        return maintain_in_steps(self._services, self._engine, actor=self._actor)

    def version(self) -> tuple[str, str | None]:
        """The versions of the store and of the index, which memory files follow."""
        state = self.ctx.store.state()
        return version_of(state.store_id, state, ""), self._services.note_index.version()

    def is_derived(self) -> bool:
        """Whether derived data is up to date, except the vectors, which a worker computes."""
        if not self._engine.is_derived_current():
            return False
        self._engine.embedding.start()
        return True

    def derive(self, progress: Progress) -> tuple[str, ...]:
        """Update derived data; returns the parts that could not be updated, and why."""
        with self._engine.exclusive():
            behind = self._engine.update_derived(progress=progress).degraded
        self._engine.embedding.start()
        return behind
