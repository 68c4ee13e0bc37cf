"""Decide what a process that syncs only on demand must scan: usually nothing.

An MCP server must answer from the current notes. If the watcher reports no change, and the
store's state is unchanged, nothing is scanned; otherwise the folders with changes are. As in
the daemon's loop, the whole vault is scanned when events were lost, when facts wait, and
periodically.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from vaultsync.daemon.loop import FULL_SCAN_FROM
from vaultsync.daemon.ports import Watcher
from vaultsync.daemon.schedule import DueTimes, Intervals
from vaultsync.errors import StoreUnavailableError
from vaultsync.model.paths import VaultPath, parent_folder
from vaultsync.notes.review_note import is_review_note
from vaultsync.storage.store import StoreState
from vaultsync.sync.context import SyncContext
from vaultsync.sync.report import Report
from vaultsync.sync.sync_request import SyncRequest

_log = logging.getLogger(__name__)


class OnDemandSync:
    """Syncs the changes since the last sync.

    Args:
        ctx: the two sides.
        make: creates a watcher that can be polled without waiting; OSError if there is none.
        intervals: the intervals of full scans and retries.
    """

    def __init__(self, ctx: SyncContext, make: Callable[[], Watcher], intervals: Intervals) -> None:
        self._ctx = ctx
        self._make = make
        self._intervals = intervals
        self._watcher: Watcher | None = None
        self._watch_at = 0.0
        self._due = DueTimes(ctx.clock.monotonic(), intervals)
        self._dirty: dict[VaultPath, float] = {}
        """Folders with changes, and the time of their last event."""
        self._synced: StoreState | None = None
        """The store's state when the last sync began."""
        self._store: StoreState | None = None

    def is_current(self) -> bool:
        """Whether neither side has changed since the last sync, and nothing else is due."""
        now = self._ctx.clock.monotonic()
        self._listen(now)
        try:
            self._store = self._ctx.store.state()
        except StoreUnavailableError as error:
            _log.debug("the store is unavailable: %s", error)
            self._store = None
        moved = self._store is None or self._store != self._synced
        return not (moved or self._dirty or self._needs_full_scan(now))

    def sync(self, run: Callable[[SyncRequest], Report]) -> Report:
        """Sync the changes that `is_current()` found; raises what `run` raises.

        Must be called under the engine's lock: only the process that syncs needs a watcher.
        """
        clock = self._ctx.clock
        began = clock.monotonic()
        if self._watcher is None and began >= self._watch_at:
            self._start(began)
        whole = self._watcher is None or self._needs_full_scan(began)
        folders = None if whole else frozenset(self._dirty)
        try:
            # Edits of notes are the user's, even if an agent asks.
            report = run(SyncRequest(actor="person", folders=folders))
        except BaseException:
            self._due.all = "the last sync failed"
            raise
        if whole:
            self._due.all = "" if self._watcher is not None else "nothing watches"
        archive = self._ctx.archive
        cursor, waiting = archive.setting("cursor"), archive.setting("waiting")
        self._due.run_done(began, cursor=int(cursor or 0), waiting=waiting or "", whole=whole)
        # A note that is still being written is read after it has settled.
        settled = began - self._ctx.policy.settle_seconds
        self._dirty = {path: at for path, at in self._dirty.items() if at > settled}
        self._synced = self._store
        return report

    def close(self) -> None:
        """Stop the watcher."""
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.stop()

    def _needs_full_scan(self, now: float) -> bool:
        return bool(self._due.all) or now >= self._due.next_full_scan

    def _start(self, now: float) -> None:
        """Start watching; the following scan finds earlier changes."""
        try:
            watcher = self._make()
            watcher.start()
        except OSError as error:
            _log.debug("every sync scans the whole vault: %s", error)
            self._watch_at = now + self._intervals.rescan
            return
        self._watcher = watcher
        self._due.all = f"{watcher.name} was started"

    def _listen(self, now: float) -> None:
        if self._watcher is None:
            return
        events = self._watcher.drain()
        reason = events.lost or self._watcher.failure()
        if reason:
            self.close()
            self._due.all = reason
        self._dirty.update(dict.fromkeys(map(parent_folder, events.notes), now))
        if events.others or any(map(is_review_note, events.notes)):
            self._due.all = "a folder or a conflict note changed"
        if len(self._dirty) > FULL_SCAN_FROM:
            self._due.all = f"{len(self._dirty)} folders changed"
