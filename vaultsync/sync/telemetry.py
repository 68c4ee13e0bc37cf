"""Telemetry of a daemon: how long changes and answers took, and how many edits led to conflicts.

Only numbers, for one vault on one machine. They are kept in the state folder and never sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from math import ceil

from msgspec import Struct, field

KEPT = 512
"""Number of newest times of each kind from which percentiles are computed."""
_EDITS = ("created", "updated", "deleted")


class TimePercentiles(Struct, frozen=True):
    """Durations in seconds; the percentiles are of the newest 512."""

    count: int
    p50: float
    p95: float
    p99: float


class Telemetry(Struct, frozen=True):
    """The daemon's measurements since it was first started on this vault."""

    since: str
    write_through: TimePercentiles | None
    """From noticing a fact to writing its note; for the oldest change of a run."""
    note_to_store: TimePercentiles | None
    """From noticing an edit to the store, including the wait until it settles."""
    recall: Mapping[str, TimePercentiles]
    """Answers of its bridge, by their source: `index`, `vector`, `fused`, `set`, or `context` for
    context packs."""
    edits: int
    """Number of changes that were synced to the other side."""
    conflicts: int
    conflicts_per_1000_edits: float
    longest_lag_seconds: float
    """The longest time that a change waited for a run."""
    restarts: int
    crashes: int
    """Number of restarts after a process that did not end normally."""


class SavedTimes(Struct):
    """Times of one kind, newest last."""

    count: int = 0
    newest: list[float] = field(default_factory=list)

    def add(self, seconds: float) -> None:
        """Add a time, and drop the oldest."""
        self.count += 1
        self.newest = [*self.newest[1 - KEPT :], round(seconds, 4)]

    def percentiles(self) -> TimePercentiles | None:
        """The percentiles; None before the first measurement."""
        if not self.newest:
            return None
        ranked = sorted(self.newest)
        p50, p95, p99 = (ranked[ceil(len(ranked) * each) - 1] for each in (0.5, 0.95, 0.99))
        return TimePercentiles(self.count, p50, p95, p99)


class SavedTelemetry(Struct):
    """The measurements kept from one daemon to the next."""

    since: str
    starts: int = 0
    crashes: int = 0
    running: bool = False
    """Whether a daemon has started and not ended normally."""
    edits: int = 0
    conflicts: int = 0
    longest_lag: float = 0.0
    write_through: SavedTimes = field(default_factory=SavedTimes)
    note_to_store: SavedTimes = field(default_factory=SavedTimes)
    recall: dict[str, SavedTimes] = field(default_factory=dict)


class TelemetryRecorder:
    """Measures one daemon.

    Args:
        saved: the measurements of earlier daemons.
        lock: held while numbers change; answers come from other threads.
    """

    def __init__(
        self, saved: SavedTelemetry, lock: AbstractContextManager[object] | None = None
    ) -> None:
        self._saved = saved
        self._lock = lock or nullcontext()
        self.is_changed = False
        """Whether something was measured since `saved()`."""

    def start(self) -> None:
        """Record the start of the daemon."""
        saved = self._saved
        saved.starts += 1
        saved.crashes += saved.running
        saved.running = True
        self.is_changed = True

    def end(self) -> None:
        """Record the normal end of the daemon."""
        self._saved.running = False
        self.is_changed = True

    def record_run(
        self, counts: Mapping[str, int], *, to_vault: float | None, to_store: float | None
    ) -> None:
        """Record a completed run, with the counts of its report.

        `to_vault` and `to_store` are the seconds since the daemon noticed a change of the store,
        and one of the vault; None if none.
        """
        written = sum(counts[f"{each}_in_vault"] for each in _EDITS)
        stored = sum(counts[f"{each}_in_store"] for each in _EDITS)
        merged = counts["merged"]
        if not (written or stored or merged or counts["conflicts"]):
            return
        with self._lock:
            saved, self.is_changed = self._saved, True
            saved.edits += written + stored + merged
            saved.conflicts += counts["conflicts"]
            if to_vault is not None and (written or merged):
                saved.write_through.add(to_vault)
            if to_store is not None and (stored or merged):
                saved.note_to_store.add(to_store)

    def record_answer(self, source: str, seconds: float) -> None:
        """Record the answer to a question; called from any thread."""
        with self._lock:
            self._saved.recall.setdefault(source, SavedTimes()).add(seconds)
            self.is_changed = True

    def record_lag(self, seconds: float) -> None:
        """Record how long the oldest change has been waiting."""
        self._saved.longest_lag = max(self._saved.longest_lag, seconds)

    def report(self) -> Telemetry:
        """The measurements so far."""
        with self._lock:
            saved = self._saved
            sources = sorted(saved.recall.items())
            recall_times = {name: times for name, each in sources if (times := each.percentiles())}
            return Telemetry(
                since=saved.since,
                write_through=saved.write_through.percentiles(),
                note_to_store=saved.note_to_store.percentiles(),
                recall=recall_times,
                edits=saved.edits,
                conflicts=saved.conflicts,
                conflicts_per_1000_edits=round(1000 * saved.conflicts / max(saved.edits, 1), 2),
                longest_lag_seconds=round(saved.longest_lag, 3),
                restarts=max(saved.starts - 1, 0),
                crashes=saved.crashes,
            )

    def saved(self) -> SavedTelemetry:
        """A copy of the measurements, to be saved."""
        with self._lock:
            self.is_changed = False
            return deepcopy(self._saved)
