"""A daemon in a small world with a simulated clock, and a watcher that tests control."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.world import World
from vaultsync.daemon.loop import DaemonLoop
from vaultsync.daemon.ports import WatchEvents
from vaultsync.daemon.schedule import Intervals
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import Value
from vaultsync.sync.context import SyncContext, SyncPolicy
from vaultsync.sync.report import Progress, Report
from vaultsync.sync.run import sync_once
from vaultsync.sync.sync_request import SyncRequest


@dataclass
class FakeWatcher:
    """A watcher whose events and failures a test chooses."""

    polls: bool = False
    name: str = "fake"
    answers: bool = True
    """Whether it reports its probes."""
    ill: str = ""
    starts: Callable[[], None] = lambda: None
    heard: list[WatchEvents] = field(default_factory=list)
    probes: int = 0
    probed: int = 0
    stopped: bool = False

    def start(self) -> None:
        self.starts()

    def drain(self) -> WatchEvents:
        told = WatchEvents(probes=self.probes)
        for each in self.heard:
            told = WatchEvents(
                told.notes | each.notes,
                told.others | each.others,
                each.lost or told.lost,
                told.probes,
                told.store or each.store,
            )
        self.heard, self.probes = [], 0
        return told

    def failure(self) -> str:
        return self.ill

    def probe(self) -> None:
        self.probed += 1
        self.probes += self.answers

    def stop(self) -> None:
        self.stopped = True


class Daemonic:
    """A world with a daemon; the clock advances by the waits of the daemon."""

    def __init__(self, intervals: Intervals | None = None) -> None:
        self.world = World(SyncPolicy())
        self.watchers: list[FakeWatcher] = []
        self.told: list[tuple[str, Mapping[str, Value]]] = []
        self.requests: list[SyncRequest] = []
        self.derived = 0
        self.is_stopped = False
        self.is_asked = False
        self.in_pass: Callable[[str], None] = _nothing
        self.in_derive: Callable[[Progress], tuple[str, ...]] = lambda _: ()
        self.up_to_date = False
        self.starts: Callable[[], None] = lambda: None
        self.intervals = intervals or Intervals()
        self.daemon = DaemonLoop(
            self, self._make, self.intervals, emit=self._tell, jitter=lambda: 1.0
        )

    # --- the environment of the daemon ------------------------------------------------

    @property
    def ctx(self) -> SyncContext:
        return self.world.ctx

    def sync_folders(self, request: SyncRequest, progress: Progress) -> Report:
        self.requests.append(request)

        def told(stage: str, done: int, total: int) -> None:
            self.in_pass(stage)
            progress(stage, done, total)

        return sync_once(self.world.ctx, request, progress=told)

    def is_derived(self) -> bool:
        return self.up_to_date

    def derive(self, progress: Progress) -> tuple[str, ...]:
        self.derived += 1
        return self.in_derive(progress)

    def stopped(self) -> bool:
        return self.is_stopped

    def has_waiting_calls(self) -> bool:
        return self.is_asked

    # --- what a test does -------------------------------------------------------------

    @property
    def watcher(self) -> FakeWatcher:
        return self.watchers[-1]

    def hears(self, *notes: str, others: tuple[str, ...] = (), lost: str = "") -> None:
        self.watcher.heard.append(
            WatchEvents(frozenset(map(VaultPath, notes)), frozenset(map(VaultPath, others)), lost)
        )

    def hears_of_the_store(self) -> None:
        self.watcher.heard.append(WatchEvents(store=True))

    def person_edits(self, path: str, old: str, new: str) -> None:
        """Edit a note now, and report the event."""
        text = self.world.text(path)
        assert old in text
        self.world.vault.save_in_place(path, text.replace(old, new, 1).encode())
        self.hears(path)

    def runs(self, seconds: float) -> None:
        """Run the daemon for some time."""
        end = self.world.clock.monotonic() + seconds
        while (now := self.world.clock.monotonic()) < end:
            wait = self.daemon.tick()
            self.world.clock.advance(min(max(wait, 0.001), end - now + 0.001))

    def rests(self) -> None:
        """Run the daemon until it is idle, and clear its log."""
        self.runs(8)
        assert self.daemon.is_idle
        self.forget()

    def forget(self) -> None:
        self.requests.clear()
        self.told.clear()
        self.derived = 0

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.told]

    def whole_passes(self) -> int:
        return sum(each.folders is None for each in self.requests)

    def _make(self, polls: bool) -> FakeWatcher:
        self.watchers.append(FakeWatcher(polls=polls, starts=self._start))
        return self.watchers[-1]

    def _start(self) -> None:
        self.starts()

    def _tell(self, kind: str, said: Mapping[str, Value]) -> None:
        self.told.append((kind, dict(said)))


def _nothing(_: str) -> None:
    """The default action in the middle of a run."""
