"""The daemon's loop: debounce events, run, rescan, back off.

Each tick does one thing and returns how long nothing is due; the caller sleeps, so that a
test can skip hours. Events and the store's feed only show where to look; what to do is
decided by the same run as in `vaultsync sync`.
"""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import to_builtins

from vaultsync.daemon.schedule import Debouncer, DueTimes, Intervals
from vaultsync.daemon.watcher_supervisor import MakeWatcher, WatcherSupervisor
from vaultsync.errors import DaemonStoppedError, VaultsyncError
from vaultsync.index_files.service import TABLES_STAGE
from vaultsync.model.backoff import BackOff
from vaultsync.model.paths import VaultPath, parent_folder
from vaultsync.model.schema import Value
from vaultsync.notes.review_note import is_review_note
from vaultsync.sync.context import SyncContext
from vaultsync.sync.report import DaemonState, LastError, Progress, Report
from vaultsync.sync.review_notes import count_open_proposals, has_new_proposals
from vaultsync.sync.sync_request import SyncRequest
from vaultsync.sync.telemetry import SavedTelemetry, TelemetryRecorder

FULL_SCAN_FROM = 100
"""Number of changed folders from which scanning the whole vault is as cheap."""
FOLDERS_HASHED_PER_TICK = 8
"""Number of folders whose notes are read in one tick."""

_log = logging.getLogger(__name__)

EventSink = Callable[[str, Mapping[str, Value]], None]
"""Receives the daemon's events: kind and values."""


class _ChangesPendingError(Exception):
    """There are changes to sync, which take precedence over derived data."""


class DaemonTasks(Protocol):
    """The work that the loop schedules, done under the engine's lock."""

    @property
    def ctx(self) -> SyncContext:
        """The two sides."""
        ...

    def sync_folders(self, request: SyncRequest, progress: Progress) -> Report:
        """Do a run, and update the links to moved notes."""
        ...

    def is_derived(self) -> bool:
        """Whether all derived data is up to date."""
        ...

    def derive(self, progress: Progress) -> tuple[str, ...]:
        """Update derived data; returns a sentence for each part that could not be updated."""
        ...

    def stopped(self) -> bool:
        """Whether the daemon was asked to stop."""
        ...

    def has_waiting_calls(self) -> bool:
        """Whether a caller is waiting for the engine."""
        ...


class DaemonLoop:
    """Keeps both sides equal, one step at a time, in a single thread."""

    def __init__(
        self,
        work: DaemonTasks,
        make: MakeWatcher,
        intervals: Intervals,
        *,
        emit: EventSink,
        jitter: Callable[[], float],
        telemetry: TelemetryRecorder | None = None,
    ) -> None:
        self._work = work
        self.telemetry = telemetry or TelemetryRecorder(SavedTelemetry(work.ctx.now()))
        """Its own measurements."""
        self._heard_at: float | None = None
        """The time of the oldest event that no run has handled."""
        self._intervals = intervals
        self._emit = emit
        self._supervisor = WatcherSupervisor(make, intervals, jitter=jitter)
        self._notes = Debouncer(quiet=intervals.settle, longest=intervals.settle_longest)
        self._others = Debouncer(quiet=intervals.settle, longest=intervals.settle_longest)
        self._failures = BackOff(
            first=intervals.failure, longest=intervals.longest_failure, jitter=jitter
        )
        upkeep, longest = intervals.upkeep, intervals.longest_upkeep
        self._derive_failures = BackOff(first=upkeep, longest=longest, jitter=jitter)
        self._hash_failures = BackOff(first=upkeep, longest=longest, jitter=jitter)
        self._absences = BackOff(first=max(intervals.poll, 0.25), longest=30, jitter=jitter)
        self._clock = work.ctx.clock
        now = self._clock.monotonic()
        self._at = (now, self._wall_time())
        self._due = DueTimes(now, intervals)
        self.state = DaemonState(since=work.ctx.now())
        self._failed: LastError | None = None
        """The error of the last run that failed."""
        self.error: Exception | None = None
        """The error of the last run."""

    # ------------------------------------------------------------------ one step

    def tick(self) -> float:
        """Do what is due; returns the seconds until something else is.

        Raises:
            DaemonStoppedError: it was asked to stop.
        """
        now = self._clock.monotonic()
        self._notice_gap(now)
        self._listen(now)
        self._ask_store(now)
        self.telemetry.record_lag(self._lag(now))
        if now >= self._due.not_before:
            self._run_next_task(now)
        now = self._clock.monotonic()
        wait = self._due.wait(now, self._notes.next_due(), self._others.next_due())
        self._at = (now + wait, self._wall_time() + wait)
        self.state.lag_seconds = self._lag(now)
        return wait

    def close(self) -> None:
        """Stop the watcher."""
        self._supervisor.close()

    def retry_soon(self) -> None:
        """Retry failed work soon, because another caller has used the engine successfully."""
        now = self._clock.monotonic()
        self._at = (now, self._wall_time())
        self._due.not_before = now
        self._failures.reset()
        self._after_pass(whole=False)

    def record_error(self, error: Exception) -> None:
        """Record an error outside of a run as the last one."""
        self._emit("error", self.state.note(error, self._work.ctx.now()))
        self._emit_state()

    def current_state(self) -> DaemonState:
        """The state, with the measurements so far."""
        self.state.telemetry = self.telemetry.report()
        return self.state

    @property
    def is_idle(self) -> bool:
        """Whether no work is due, and only rescans are scheduled."""
        pending = self._notes.pending() or self._others.pending()
        return not (pending or self._due.has_pending)

    # ------------------------------------------------------------ what is to be done

    def _notice_gap(self, now: float) -> None:
        """Rescan after the machine slept or the process was suspended: events may be missing."""
        expected, wall = self._at
        gap = max(now - expected, abs(self._wall_time() - wall))
        if gap > self._intervals.gap:
            self._supervisor.after_sleep()
            self._request_full_scan(f"the process was paused for {gap:.0f} s")

    def _listen(self, now: float) -> None:
        name, failure = self._supervisor.name, self._supervisor.failure
        events = self._supervisor.drain()
        self._notes.add(events.notes, now)
        self._others.add(events.others, now)
        if events.store:
            self._due.ask_at = min(self._due.ask_at, now)
        if events.lost:
            self._request_full_scan(events.lost)
        why = self._supervisor.check_health(now)  # after a loss, it starts a new watcher
        if why:
            self._request_full_scan(why)
        if (name, failure) != (self._supervisor.name, self._supervisor.failure):
            self.state.watcher = self._supervisor.name
            self.state.watcher_trouble = self._supervisor.failure
            event = {"watcher": self.state.watcher, "trouble": self.state.watcher_trouble}
            self._emit_state()  # first, because receivers of the next event read the state
            self._emit("watcher", event)

    def _ask_store(self, now: float) -> None:
        if now < self._due.ask_at:
            return
        try:
            state = self._work.ctx.store.state()
        except VaultsyncError as error:
            self._due.ask_at = now + self._absences.next()
            if not self.state.store_away:
                self.state.store_away = error.message
                self._emit("store", {"away": error.message})
                self._request_full_scan("the store is unavailable")
                self._emit_state()
            return
        self._due.ask_at = now + self._intervals.poll
        if self.state.store_away:
            self.state.store_away = ""
            self._absences.reset()
            self._request_full_scan("the store is available again")
            self._emit("store", {"away": ""})
        ctx = self._work.ctx
        # A process that did not reach the store queues a change. What is left of the last sync
        # waits for something else.
        outbox = ctx.archive.outbox()
        queued = outbox[-1].op if outbox else ""
        is_queued = queued not in ("", self._due.queued)
        self._due.queued = queued
        # An agent's proposal is only in the archive, and has no note yet.
        is_behind = state.seq != self._due.cursor or is_queued or has_new_proposals(ctx)
        if is_behind and self._due.behind_since is None:
            self._due.behind_since = now

    def _request_full_scan(self, why: str) -> None:
        if not self._due.all:
            self._emit("rescan", {"why": why})
        self._due.all = self._due.all or why

    def _run_next_task(self, now: float) -> None:
        due = self._due
        heard_at = self._notes.oldest()
        notes = self._notes.pop_due(now)
        if notes and self._heard_at is None:
            self._heard_at = heard_at
        if self._folders_changed(now) or any(map(is_review_note, notes)):
            self._request_full_scan("a folder, a conflict note or a proposal changed")
        folders = frozenset(map(parent_folder, notes))
        if len(folders) > FULL_SCAN_FROM:
            self._request_full_scan(f"{len(folders)} folders changed at once")
        if due.all or now >= due.next_full_scan:
            self._pass(now, None)
        elif self.state.store_away:
            return  # the whole vault is scanned once it is available
        elif folders or due.behind_since is not None:
            self._pass(now, folders)
        elif due.take_folders_to_hash(now, self._work.ctx.archive):
            self._compare_contents(now)
        elif now >= min(due.derive_at, due.derive_retry_at):
            self._derive()

    def _folders_changed(self, now: float) -> bool:
        """Whether one of the other paths is a folder that changed."""
        changed = self._others.pop_due(now)
        if not changed:
            return False
        ctx = self._work.ctx
        recorded = ctx.archive.folders()
        paths = sorted(recorded)
        for path in changed:
            try:
                folder = ctx.vault.folder(path)
            except VaultsyncError:  # the root is missing: the run reports that, and is retried
                return True
            at = bisect_left(paths, path + "/")
            below = at < len(paths) and paths[at].startswith(path + "/")
            if folder is None:
                if below or path in recorded:
                    return True
            elif below or not path or recorded.get(path) != folder.fingerprint:
                return True
        return False

    # ------------------------------------------------------------------- the passes

    def _pass(
        self, now: float, folders: frozenset[VaultPath] | None, *, hashed: bool = False
    ) -> None:
        whole, due_times = folders is None, self._due
        # A run that the guard stopped is retried with the same id, the one that the
        # user was asked to confirm.
        stopped = self._work.ctx.archive.setting("stopped_run")
        request = SyncRequest(
            kind="watch",
            folders=folders,
            being_saved=self._notes.pending(),
            read_all=hashed,
            run=stopped if whole else None,
        )
        behind_since = due_times.behind_since
        try:
            report = self._work.sync_folders(request, self._check)
        except DaemonStoppedError:
            raise
        except (VaultsyncError, OSError) as error:
            self._handle_sync_error(error, now)
            return
        self._failures.reset()
        self.error = None
        if self.state.passes:  # the first run includes changes from before the start
            self._measure(report, behind_since)
        if not self.state.store_away:  # otherwise the whole vault is synced later
            self._heard_at = None
        self.state.passes += 1
        if whole:
            due_times.all = ""
        self._after_pass(whole=whole)
        is_retried = due_times.derive_retry_at != due_times.NEVER
        # Another program may have changed what was derived.
        if not report.quiet or (whole and not is_retried):
            due_times.derive_at = self._clock.monotonic() + self._intervals.derive
        first = self.state.passes == 1
        if not report.quiet or (first and report.attention):
            self._emit("pass", to_builtins(report))
        if first or not report.quiet or self.state.failing:
            self.state.recover(self._failed)
            self._emit_state()

    def _compare_contents(self, now: float) -> None:
        """Compare the contents of some folders; after a failure, again later."""
        due = self._due
        folders = [due.to_hash.pop() for _ in due.to_hash[:FOLDERS_HASHED_PER_TICK]]
        self._pass(now, frozenset(folders), hashed=True)
        if self.error is None:
            self._hash_failures.reset()
        else:
            due.to_hash.extend(folders)
            due.hash_retry_at = now + self._hash_failures.next()

    def _measure(self, report: Report, behind_since: float | None) -> None:
        now = self._clock.monotonic()
        self.telemetry.record_run(
            report.counts,
            to_vault=None if behind_since is None else now - behind_since,
            to_store=None if self._heard_at is None else now - self._heard_at,
        )

    def _after_pass(self, *, whole: bool) -> None:
        archive = self._work.ctx.archive
        now, cursor = self._clock.monotonic(), int(archive.setting("cursor") or 0)
        if cursor != self._due.cursor:  # also after a sync of maintenance, or of another caller
            self._due.derive_at = now + self._intervals.derive
        self._due.run_done(
            now,
            cursor=cursor,
            waiting=archive.setting("waiting") or "",
            whole=whole,
            watched=archive.count_bases() if whole and self._supervisor.name else 0,
        )
        # Not counted in reports: a run that only noticed something has done nothing, and
        # another caller may have resolved a conflict.
        if (self.state.conflicts, self.state.proposals, self.state.attention) != self._counts():
            self._emit_state()

    def _handle_sync_error(self, error: Exception, now: float) -> None:
        self.error = error
        _log.info("a sync failed: %s", type(error).__name__)
        wait = self._failures.next()
        self._due.not_before = now + wait
        self._request_full_scan("the last sync failed")
        event = self.state.fail(error, self._work.ctx.now())
        self._failed = self.state.last_error
        self._emit("error", {**event, "again_in": round(wait, 1)})
        self._emit_state()

    def _derive(self) -> None:
        due = self._due
        due.derive_at = due.derive_retry_at = due.NEVER
        try:
            if self._work.is_derived():
                self._derive_failures.reset()
                return
            behind = self._work.derive(self._check_for_changes)
        except _ChangesPendingError:
            due.derive_at = self._clock.monotonic() + self._intervals.derive
        except DaemonStoppedError:
            raise
        except (VaultsyncError, OSError) as error:
            due.derive_retry_at = self._clock.monotonic() + self._derive_failures.next()
            self._emit("error", self.state.fail(error, self._work.ctx.now()))
            self._failed = self.state.last_error
        else:
            if behind:
                due.derive_retry_at = self._clock.monotonic() + self._derive_failures.next()
            else:
                self._derive_failures.reset()
            self._emit("derived", {"behind": list(behind)})

    # ------------------------------------------------------- in the middle of things

    def _check(self, *_: object) -> None:
        """Called between the parts of a run, where it may stop; the next run completes it."""
        if self._work.stopped():
            raise DaemonStoppedError

    def _check_for_changes(self, stage: str, *_: object) -> None:
        """Called between updates of derived data, because a run takes precedence.

        The tables of `.index/` start again when they are interrupted, so only a stop does it.
        """
        self._check()
        if stage == TABLES_STAGE:
            return
        if self._work.has_waiting_calls():
            raise _ChangesPendingError
        now = self._clock.monotonic()
        if now < self._due.ask_at:
            return
        self._listen(now)
        self._ask_store(now)
        due = self._notes.next_due()
        behind = self._due.behind_since is not None
        if behind or self._due.all or (due is not None and due <= now):
            raise _ChangesPendingError

    # ------------------------------------------------------------------------ events

    def _emit_state(self) -> None:
        archive = self._work.ctx.archive
        self.state.lag_seconds = self._lag(self._clock.monotonic())
        self.state.waiting = len((archive.setting("waiting") or "").split())
        self.state.conflicts, self.state.proposals, self.state.attention = self._counts()
        self._emit("state", to_builtins(self.current_state()))

    def _counts(self) -> tuple[int, int, int]:
        """The numbers of conflicts, proposals and notices."""
        ctx = self._work.ctx
        return len(ctx.archive.conflicts()), count_open_proposals(ctx), len(ctx.archive.notices())

    def _lag(self, now: float) -> float:
        notes, others = self._notes.oldest(), self._others.oldest()
        times = [self._heard_at, notes, others, self._due.behind_since]
        return round(max((now - at for at in times if at is not None), default=0.0), 3)

    def _wall_time(self) -> float:
        return self._clock.now().timestamp()
