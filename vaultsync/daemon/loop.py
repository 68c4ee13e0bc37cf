"""The daemon decides what to do now: wait, settle, pass, look everywhere, back off.

It does one thing at a time and tells how long nothing is due; who runs it does the
waiting, so that a test can let hours go by at once. Events and the store's feed only say
where to look; what is to be done is decided by the same pass as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import to_builtins

from vaultsync.daemon.debounce import Debouncer
from vaultsync.daemon.schedule import Intervals
from vaultsync.daemon.state import DueTimes
from vaultsync.daemon.watcher_supervisor import MakeWatcher, WatcherSupervisor
from vaultsync.errors import DaemonStoppedError, VaultsyncError
from vaultsync.model.backoff import BackOff
from vaultsync.model.paths import VaultPath, parent_folder
from vaultsync.model.schema import Value
from vaultsync.notes.conflict_note import is_conflict_note
from vaultsync.sync.context import SyncContext
from vaultsync.sync.report import DaemonState, Progress, Report
from vaultsync.sync.request import SyncRequest

FULL_SCAN_FROM = 100
"""From so many on, a look at all folders is as cheap."""
FOLDERS_HASHED_PER_TICK = 8
"""Folders whose notes are read between two looks at what else is due."""

EventSink = Callable[[str, Mapping[str, Value]], None]
"""Told of what happens: its kind, and what is to be said of it."""


class _ChangesPendingError(Exception):
    """Something is to be mirrored, which comes before what is derived."""


class DaemonTasks(Protocol):
    """What the daemon has done for it, under the engine's lock."""

    @property
    def ctx(self) -> SyncContext:
        """The two sides; the store may be another object after it was away."""
        ...

    def reopen(self) -> None:
        """Try to open a store that is away."""
        ...

    def sync_folders(self, request: SyncRequest, progress: Progress) -> Report:
        """One pass, and the links that follow moved notes."""
        ...

    def is_derived(self) -> bool:
        """Whether all that is derived follows the facts."""
        ...

    def derive(self, progress: Progress) -> tuple[str, ...]:
        """Bring what is derived up to date; returns what is behind, and why."""
        ...

    def stopped(self) -> bool:
        """Whether somebody said that it is to end."""
        ...

    def has_waiting_calls(self) -> bool:
        """Whether somebody waits for this engine to do something."""
        ...


class DaemonLoop:
    """Keeps both sides equal, a step at a time. Everything happens in one thread."""

    def __init__(
        self,
        work: DaemonTasks,
        make: MakeWatcher,
        intervals: Intervals,
        *,
        tell: EventSink,
        jitter: Callable[[], float],
    ) -> None:
        self._work = work
        self._intervals = intervals
        self._tell = tell
        self._keeper = WatcherSupervisor(make, intervals, jitter=jitter)
        self._notes = Debouncer(quiet=intervals.settle, longest=intervals.settle_longest)
        self._others = Debouncer(quiet=intervals.settle, longest=intervals.settle_longest)
        self._failures = BackOff(
            first=intervals.failure, longest=intervals.longest_failure, jitter=jitter
        )
        self._absences = BackOff(first=max(intervals.poll, 0.25), longest=30, jitter=jitter)
        self._clock = work.ctx.clock
        now = self._clock.monotonic()
        self._at = (now, self._wall())
        self._wanted = DueTimes(now, intervals)
        self.state = DaemonState(since=work.ctx.now())
        self.error: Exception | None = None
        """What the last pass failed with."""

    # ------------------------------------------------------------------ one step

    def tick(self) -> float:
        """Do what is due; returns for how many seconds nothing is, unless it is woken.

        Raises:
            DaemonStoppedError: it was told to stop meanwhile.
        """
        now = self._clock.monotonic()
        self._notice_gap(now)
        self._listen(now)
        self._ask_store(now)
        if now >= self._wanted.not_before:
            self._do_one(now)
        now = self._clock.monotonic()
        wait = self._wanted.wait(now, self._notes.next_due(), self._others.next_due())
        self._at = (now + wait, self._wall() + wait)
        self.state.lag_seconds = self._lag(now)
        return wait

    def close(self) -> None:
        """Stop listening."""
        self._keeper.close()

    def retry_soon(self) -> None:
        """Somebody else had this engine do something: what failed may work now."""
        now = self._clock.monotonic()
        self._at = (now, self._wall())
        self._wanted.not_before = now
        self._failures.reset()
        self._after_pass(whole=False)

    def record_error(self, error: Exception) -> None:
        """Something beside the passes failed: it is told as what failed last."""
        self._tell("error", self.state.note(error, self._work.ctx.now()))
        self._tell_state()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left to do now, and nothing is waited for."""
        pending = self._notes.pending() or self._others.pending()
        return not (pending or self._wanted.has_pending)

    # ------------------------------------------------------------ what is to be done

    def _notice_gap(self, now: float) -> None:
        """After a sleep of the machine, or when it was stopped, events may be missing."""
        expected, wall = self._at
        gap = max(now - expected, abs(self._wall() - wall))
        if gap > self._intervals.gap:
            self._keeper.after_sleep()
            self._want_all(f"nothing was heard for {gap:.0f} s")

    def _listen(self, now: float) -> None:
        name, trouble = self._keeper.name, self._keeper.trouble
        why = self._keeper.check_health(now)
        if why:
            self._want_all(why)
        heard = self._keeper.drain()
        self._notes.add(heard.notes, now)
        self._others.add(heard.others, now)
        if heard.lost:
            self._want_all(heard.lost)
        if (name, trouble) != (self._keeper.name, self._keeper.trouble):
            self.state.watcher = self._keeper.name
            self.state.watcher_trouble = self._keeper.trouble
            said = {
                "watcher": self.state.watcher,
                "trouble": self.state.watcher_trouble,
            }
            self._tell_state()  # first: who hears that it listens asks for its status
            self._tell("watcher", said)

    def _ask_store(self, now: float) -> None:
        if now < self._wanted.ask_at:
            return
        if self.state.store_away:
            self._work.reopen()
        try:
            found = self._work.ctx.store.state()
        except VaultsyncError as error:
            self._wanted.ask_at = now + self._absences.next()
            if not self.state.store_away:
                self.state.store_away = error.message
                self._tell("store", {"away": error.message})
                self._want_all("the store is away")
                self._tell_state()
            return
        self._wanted.ask_at = now + self._intervals.poll
        if self.state.store_away:
            self.state.store_away = ""
            self._absences.reset()
            self._want_all("the store is back")
            self._tell("store", {"away": ""})
        if found.seq != self._wanted.cursor and self._wanted.behind_since is None:
            self._wanted.behind_since = now

    def _want_all(self, why: str) -> None:
        if not self._wanted.all:
            self._tell("rescan", {"why": why})
        self._wanted.all = self._wanted.all or why

    def _do_one(self, now: float) -> None:
        wanted = self._wanted
        notes = self._notes.pop_due(now)
        if self._folders_changed(now) or any(map(is_conflict_note, notes)):
            self._want_all("a folder or a conflict note changed")
        folders = frozenset(map(parent_folder, notes))
        if len(folders) > FULL_SCAN_FROM:
            self._want_all(f"{len(folders)} folders changed at once")
        if wanted.all or now >= wanted.next_full_scan:
            self._pass(now, None)
        elif self.state.store_away:
            return  # the whole vault is looked at when it is back
        elif folders or wanted.behind_since is not None:
            self._pass(now, folders)
        elif wanted.take_folders_to_hash(now, self._work.ctx.archive):
            some = [wanted.to_hash.pop() for _ in wanted.to_hash[:FOLDERS_HASHED_PER_TICK]]
            self._pass(now, frozenset(some), hashed=True)
        elif now >= wanted.derive_at:
            self._derive()

    def _folders_changed(self, now: float) -> bool:
        """Whether one of the other paths is a folder that is not as it is known."""
        others = self._others.pop_due(now)
        if not others:
            return False
        ctx = self._work.ctx
        known = ctx.archive.folders()
        for path in others:
            folder = ctx.vault.folder(path)
            below = any(each.startswith(path + "/") for each in known)
            if folder is None:
                if below or path in known:
                    return True
            elif below or not path or known.get(path) != folder.fingerprint:
                return True
        return False

    # ------------------------------------------------------------------- the passes

    def _pass(
        self, now: float, folders: frozenset[VaultPath] | None, *, hashed: bool = False
    ) -> None:
        whole, wanted = folders is None, self._wanted
        # What the guard stopped, whoever asked for it, is tried under that same run: the
        # one that a person was told to confirm.
        stopped = self._work.ctx.archive.setting("stopped_run")
        request = SyncRequest(
            kind="watch",
            folders=folders,
            being_saved=self._notes.pending(),
            read_all=hashed,
            run=stopped if whole else None,
        )
        try:
            report = self._work.sync_folders(request, self._check)
        except DaemonStoppedError:
            raise
        except (VaultsyncError, OSError) as error:
            self._failed(error, now)
            return
        self._failures.reset()
        self.error = None
        self.state.passes += 1
        if whole:
            wanted.all = ""
        self._after_pass(whole=whole)
        if not report.quiet:
            wanted.derive_at = self._clock.monotonic() + self._intervals.derive
        first = self.state.passes == 1
        if not report.quiet or (first and report.attention):
            self._tell("pass", to_builtins(report))
        if first or not report.quiet or self.state.failing:
            self.state.failing = False
            self._tell_state()

    def _after_pass(self, *, whole: bool) -> None:
        archive = self._work.ctx.archive
        self._wanted.run_done(
            self._clock.monotonic(),
            cursor=int(archive.setting("cursor") or 0),
            waiting=archive.setting("waiting") or "",
            whole=whole,
        )

    def _failed(self, error: Exception, now: float) -> None:
        self.error = error
        wait = self._failures.next()
        self._wanted.not_before = now + wait
        self._want_all("the last pass failed")
        told = self.state.fail(error, self._work.ctx.now())
        self._tell("error", {**told, "again_in": round(wait, 1)})
        self._tell_state()

    def _derive(self) -> None:
        self._wanted.derive_at = self._wanted.NEVER
        try:
            if self._work.is_derived():
                return
            behind = self._work.derive(self._look_up)
        except _ChangesPendingError:
            self._wanted.derive_at = self._clock.monotonic() + self._intervals.derive
        except DaemonStoppedError:
            raise
        except (VaultsyncError, OSError) as error:
            told = self.state.fail(error, self._work.ctx.now())
            self._tell("error", told)
        else:
            self._tell("derived", {"behind": list(behind)})

    # ------------------------------------------------------- in the middle of things

    def _check(self, *_: object) -> None:
        """Called between the parts of a pass, where it may end: the next one takes it up."""
        if self._work.stopped():
            raise DaemonStoppedError

    def _look_up(self, *_: object) -> None:
        """Called between the parts of deriving: the mirror comes first."""
        self._check()
        if self._work.has_waiting_calls():
            raise _ChangesPendingError
        now = self._clock.monotonic()
        if now < self._wanted.ask_at:
            return
        self._listen(now)
        self._ask_store(now)
        due = self._notes.next_due()
        behind = self._wanted.behind_since is not None
        if behind or self._wanted.all or (due is not None and due <= now):
            raise _ChangesPendingError

    # ---------------------------------------------------------------- what is told

    def _tell_state(self) -> None:
        archive = self._work.ctx.archive
        self.state.lag_seconds = self._lag(self._clock.monotonic())
        self.state.waiting = len((archive.setting("waiting") or "").split())
        self.state.conflicts = len(archive.conflicts())
        self.state.attention = len(archive.notices())
        self._tell("state", to_builtins(self.state))

    def _lag(self, now: float) -> float:
        times = [self._notes.oldest(), self._others.oldest(), self._wanted.behind_since]
        longest = max((now - at for at in times if at is not None), default=0.0)
        return round(longest, 3)

    def _wall(self) -> float:
        return self._clock.now().timestamp()
