"""The daemon decides what to do now: wait, settle, pass, look everywhere, back off.

It does one thing at a time and tells how long nothing is due; who runs it does the
waiting, so that a test can let hours go by at once. Events and the store's feed only say
where to look; what is to be done is decided by the same pass as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from vaultsync.daemon.debounce import SettleTable
from vaultsync.daemon.schedule import BackOff, Rhythm
from vaultsync.daemon.state import DaemonState, Wanted
from vaultsync.daemon.watcher_supervisor import Make, WatchKeeper
from vaultsync.errors import DaemonStoppedError, VaultsyncError
from vaultsync.model.paths import VaultPath, parent
from vaultsync.model.schema import Value
from vaultsync.notes.conflict_note import is_conflict_note
from vaultsync.sync.context import Mirror
from vaultsync.sync.pass_types import Request
from vaultsync.sync.report import Progress, Report

MANY_FOLDERS = 100
"""From so many on, a look at all folders is as cheap."""
HASHED_AT_ONCE = 8
"""Folders whose notes are read between two looks at what else is due."""

Tell = Callable[[str, Mapping[str, Value]], None]
"""Told of what happens: its kind, and what is to be said of it."""


class _NewsError(Exception):
    """Something is to be mirrored, which comes before what is derived."""


class Work(Protocol):
    """What the daemon has done for it, under the engine's lock."""

    @property
    def mirror(self) -> Mirror:
        """The two sides; the store may be another object after it was away."""
        ...

    def reopen(self) -> None:
        """Try to open a store that is away."""
        ...

    def mirror_some(self, request: Request, progress: Progress) -> Report:
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

    def asked(self) -> bool:
        """Whether somebody waits for this engine to do something."""
        ...


class Daemon:
    """Keeps both sides equal, a step at a time. Everything happens in one thread."""

    def __init__(
        self,
        work: Work,
        make: Make,
        rhythm: Rhythm,
        *,
        tell: Tell,
        jitter: Callable[[], float],
    ) -> None:
        self._work = work
        self._rhythm = rhythm
        self._tell = tell
        self._keeper = WatchKeeper(make, rhythm, jitter=jitter)
        self._notes = SettleTable(quiet=rhythm.settle, longest=rhythm.settle_longest)
        self._others = SettleTable(quiet=rhythm.settle, longest=rhythm.settle_longest)
        self._failures = BackOff(
            first=rhythm.failure, longest=rhythm.longest_failure, jitter=jitter
        )
        self._absences = BackOff(
            first=max(rhythm.poll, 0.25), longest=30, jitter=jitter
        )
        self._clock = work.mirror.clock
        now = self._clock.monotonic()
        self._at = (now, self._wall())
        self._wanted = Wanted(now, rhythm)
        self.state = DaemonState(since=work.mirror.now())
        self.error: Exception | None = None
        """What the last pass failed with."""

    # ------------------------------------------------------------------ one step

    def step(self) -> float:
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
        wait = self._wanted.wait(now, self._notes.next_at(), self._others.next_at())
        self._at = (now + wait, self._wall() + wait)
        self.state.lag = self._lag(now)
        return wait

    def close(self) -> None:
        """Stop listening."""
        self._keeper.close()

    def nudge(self) -> None:
        """Somebody else had this engine do something: what failed may work now."""
        now = self._clock.monotonic()
        self._at = (now, self._wall())
        self._wanted.not_before = now
        self._failures.reset()
        self._after_pass(whole=False)

    def trouble(self, error: Exception) -> None:
        """Something beside the passes failed: it is told as what failed last."""
        self._tell("error", self.state.note(error, self._work.mirror.now()))
        self._tell_state()

    @property
    def settled(self) -> bool:
        """Whether nothing is left to do now, and nothing is waited for."""
        pending = self._notes.pending() or self._others.pending()
        return not (pending or self._wanted.anything)

    # ------------------------------------------------------------ what is to be done

    def _notice_gap(self, now: float) -> None:
        """After a sleep of the machine, or when it was stopped, events may be missing."""
        expected, wall = self._at
        gap = max(now - expected, abs(self._wall() - wall))
        if gap > self._rhythm.gap:
            self._keeper.slept()
            self._want_all(f"nothing was heard for {gap:.0f} s")

    def _listen(self, now: float) -> None:
        name, trouble = self._keeper.name, self._keeper.trouble
        why = self._keeper.attend(now)
        if why:
            self._want_all(why)
        heard = self._keeper.drain()
        self._notes.mark(heard.notes, now)
        self._others.mark(heard.others, now)
        if heard.lost:
            self._want_all(heard.lost)
        if (name, trouble) != (self._keeper.name, self._keeper.trouble):
            self.state.watcher = self._keeper.name
            self.state.trouble = self._keeper.trouble
            said = {"watcher": self.state.watcher, "trouble": self.state.trouble}
            self._tell_state()  # first: who hears that it listens asks for its status
            self._tell("watcher", said)

    def _ask_store(self, now: float) -> None:
        if now < self._wanted.ask_at:
            return
        if self.state.away:
            self._work.reopen()
        try:
            found = self._work.mirror.store.state()
        except VaultsyncError as error:
            self._wanted.ask_at = now + self._absences.next()
            if not self.state.away:
                self.state.away = error.message
                self._tell("store", {"away": error.message})
                self._want_all("the store is away")
                self._tell_state()
            return
        self._wanted.ask_at = now + self._rhythm.poll
        if self.state.away:
            self.state.away = ""
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
        notes = self._notes.take(now)
        if self._folders_changed(now) or any(map(is_conflict_note, notes)):
            self._want_all("a folder or a conflict note changed")
        folders = frozenset(map(parent, notes))
        if len(folders) > MANY_FOLDERS:
            self._want_all(f"{len(folders)} folders changed at once")
        if wanted.all or now >= wanted.look_at:
            self._pass(now, None)
        elif self.state.away:
            return  # the whole vault is looked at when it is back
        elif folders or wanted.behind_since is not None:
            self._pass(now, folders)
        elif wanted.hash_now(now, self._work.mirror.archive):
            some = [wanted.to_hash.pop() for _ in wanted.to_hash[:HASHED_AT_ONCE]]
            self._pass(now, frozenset(some), hashed=True)
        elif now >= wanted.derive_at:
            self._derive()

    def _folders_changed(self, now: float) -> bool:
        """Whether one of the other paths is a folder that is not as it is known."""
        others = self._others.take(now)
        if not others:
            return False
        mirror = self._work.mirror
        known = mirror.archive.folders()
        for path in others:
            folder = mirror.vault.folder(path)
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
        stopped = self._work.mirror.archive.setting("stopped_run")
        request = Request(
            kind="watch",
            folders=folders,
            unsettled=self._notes.pending(),
            hashed=hashed,
            run=stopped if whole else None,
        )
        try:
            report = self._work.mirror_some(request, self._check)
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
            wanted.derive_at = self._clock.monotonic() + self._rhythm.derive
        first = self.state.passes == 1
        if not report.quiet or (first and report.attention):
            self._tell("pass", report.as_json())
        if first or not report.quiet or self.state.failing:
            self.state.failing = False
            self._tell_state()

    def _after_pass(self, *, whole: bool) -> None:
        archive = self._work.mirror.archive
        self._wanted.passed(
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
        told = self.state.fail(error, self._work.mirror.now())
        self._tell("error", {**told, "again_in": round(wait, 1)})
        self._tell_state()

    def _derive(self) -> None:
        self._wanted.derive_at = self._wanted.NEVER
        try:
            if self._work.is_derived():
                return
            behind = self._work.derive(self._look_up)
        except _NewsError:
            self._wanted.derive_at = self._clock.monotonic() + self._rhythm.derive
        except DaemonStoppedError:
            raise
        except (VaultsyncError, OSError) as error:
            told = self.state.fail(error, self._work.mirror.now())
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
        if self._work.asked():
            raise _NewsError
        now = self._clock.monotonic()
        if now < self._wanted.ask_at:
            return
        self._listen(now)
        self._ask_store(now)
        due = self._notes.next_at()
        behind = self._wanted.behind_since is not None
        if behind or self._wanted.all or (due is not None and due <= now):
            raise _NewsError

    # ---------------------------------------------------------------- what is told

    def _tell_state(self) -> None:
        archive = self._work.mirror.archive
        self.state.lag = self._lag(self._clock.monotonic())
        self.state.waiting = len((archive.setting("waiting") or "").split())
        self.state.conflicts = len(archive.conflicts())
        self.state.attention = len(archive.attention())
        self._tell("state", self.state.as_json())

    def _lag(self, now: float) -> float:
        times = [self._notes.since(), self._others.since(), self._wanted.behind_since]
        return max((now - at for at in times if at is not None), default=0.0)

    def _wall(self) -> float:
        return self._clock.now().timestamp()
