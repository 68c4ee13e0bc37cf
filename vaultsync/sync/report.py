"""The results of runs and other commands. Each struct is its JSON, which is a public contract."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec import UNSET, Struct, UnsetType, field, structs, to_builtins

from vaultsync.errors import VaultsyncError, system_error_texts
from vaultsync.model.schema import Value
from vaultsync.notes.conflict_note import ConflictRecord, ShownConflict, shown_conflict
from vaultsync.notes.proposal_note import ShownProposal
from vaultsync.privacy.error_json import Trouble, error_values
from vaultsync.storage.archive import HistoryEntry, Notice
from vaultsync.sync.telemetry import Telemetry, TimePercentiles

Progress = Callable[[str, int, int], None]
"""Called during long work with the stage, the number of items done and their total."""

REPORT_COUNTS = (
    *("created_in_vault", "updated_in_vault", "deleted_in_vault"),
    *("created_in_store", "updated_in_store", "deleted_in_store"),
    *("moved", "merged", "conflicts", "unchanged"),
)


def counted(counts: Mapping[str, int]) -> dict[str, int]:
    """The counts of a report: each name in `REPORT_COUNTS`, in that order, 0 if missing."""
    return {name: counts.get(name, 0) for name in REPORT_COUNTS}


class ActionTaken(Struct, frozen=True):
    """One action of a run."""

    action: str
    fact_id: str
    path: str | None
    fields: tuple[str, ...]
    reason: str
    counted: tuple[str, ...] = ()
    """The keys in the report's `counts` in which it is counted."""


def counts_of(actions: Iterable[ActionTaken]) -> Counter[str]:
    """Count the actions for each key of a report's `counts`."""
    return Counter(name for each in actions for name in each.counted)


def changed_facts(actions: Iterable[ActionTaken], *, dry_run: bool) -> set[str]:
    """The facts that the actions of a run change, without those that have no note now.

    After a run, these are the deleted ones; after a dry run, the created ones.
    """
    without = "created" if dry_run else "deleted"
    return {x.fact_id for x in actions if x.counted and not x.counted[0].startswith(without)}


class ReportedNotice(Struct, frozen=True):
    """A notice: something that needs the user's attention."""

    kind: str
    path: str
    """Path relative to the vault; empty if the notice is not about a single note."""
    line: int | None
    """Line in the file, from 1."""
    message: str
    hint: str

    @classmethod
    def of(cls, error: VaultsyncError, message: str = "") -> ReportedNotice:
        """A notice of an error, with the error's own message unless another is given."""
        return cls(type(error).__name__, "", None, message or error.message, error.hint)


def notices_of(notices: Iterable[Notice]) -> list[ReportedNotice]:
    """The notices in the archive, as they are reported."""
    return [ReportedNotice(n.kind, n.path, n.line, n.message, n.hint) for n in notices]


class Report(Struct, frozen=True):
    """What a run did, or with `dry_run` would do."""

    run: str
    dry_run: bool
    seconds: float
    """The duration, to the millisecond."""
    counts: Mapping[str, int]
    """The number of actions, by each name in `REPORT_COUNTS`."""
    actions: Sequence[ActionTaken] = ()
    attention: Sequence[ReportedNotice] = ()

    @property
    def changed(self) -> bool:
        """Whether a fact or a note changed, so that `undo` has something to revert."""
        return any(n for name, n in self.counts.items() if name != "unchanged")

    @property
    def quiet(self) -> bool:
        """Whether there was nothing to do."""
        return not self.changed


AnyReport = TypeVar("AnyReport", bound=Report)


class MaintenanceReport(Report, frozen=True):
    """What maintenance did, or with `dry_run` would do."""

    pruned: Mapping[str, int] = {}
    """Number of old rows of history, runs, blobs and others that were removed, by kind."""
    proposed: Mapping[str, int] = {}
    """Number of proposals that were made, by kind."""
    accepted: Mapping[str, int] = {}
    """Number of these that were accepted immediately, as the settings allow, by kind."""
    silent: Sequence[str] = ()
    """Kinds that are no longer proposed, because most proposals were rejected."""

    @property
    def quiet(self) -> bool:
        """Whether there was nothing to do."""
        return super().quiet and not any((*self.pruned.values(), *self.proposed.values()))


class RunSummary(Struct, frozen=True):
    """A run that changed something."""

    run: str
    at: str
    kind: str
    counts: Mapping[str, int]


class EmbeddingState(Struct, frozen=True):
    """The progress of embedding the texts of the facts, as reported by the worker."""

    facts: int = 0
    """Number of facts that have vectors."""
    share: float = 0.0
    """Share of the texts that have vectors, 0 to 1, estimated from lengths, to two digits."""
    texts_left: int = 0
    """Number of texts without a vector, by the same estimate."""
    texts_per_second: float = 0.0
    """Texts per second over the last minute or less; 0 while no worker is running."""
    seconds_left: float | None = None
    """Seconds until all texts have vectors, at that speed; None if unknown."""
    pid: int | None = None
    """The id of the process that embeds; None if there is none."""
    complete: bool = False
    """Whether all texts had vectors and nothing was written since."""
    degraded: str = ""
    """Why the worker stopped early; empty if it did not."""

    def estimated_for(self, facts: int) -> EmbeddingState:
        """The same for an agent that sees some of the facts: the numbers are of these alone."""
        done = round(self.share * facts)
        return structs.replace(self, facts=done, texts_left=facts - done, seconds_left=None)


class ManagedFact(Struct, frozen=True):
    """A fact that is in the managed block of a memory file, or did not fit."""

    id: str
    title: str
    path: str | None = None
    reason: str = ""
    """Why it did not fit."""


class BlockState(Struct, frozen=True):
    """The state of the managed block of a memory file."""

    file: str
    status: str
    """`edited` if the user edited it, so that it is not updated."""
    included: int
    """Number of facts."""
    tokens: int
    budget: int
    left_out: Sequence[ManagedFact] = ()
    """The facts that did not fit, the most important first."""
    agent: str | None = None
    """The agent that reads the file; None for the user."""


class ObservationCounts(Struct, frozen=True):
    """Numbers of observations, by state."""

    pending: int = 0
    """Not classified yet."""
    critical: int = 0
    notable: int = 0
    background: int = 0
    compressed: int = 0
    """Background observations that are archived: shortened, or already short enough."""
    oldest_pending: str | None = None
    """When the oldest pending observation was created."""


class Status(Struct, frozen=True):
    """What is pending and what is wrong."""

    facts: int
    notes: int
    pending: int
    """Changes that the next run would sync."""
    conflicts: int
    attention: Sequence[ReportedNotice]
    outbox: int
    """Changes that are queued for the store."""
    last_run: RunSummary | None
    """The last run that changed something; None for an agent."""
    engine: str
    """`idle`, or the process that holds the engine lock."""
    foreign: int = 0
    """Notes that are not synced until they are adopted."""
    daemon: DaemonState | None = None
    """The state of the daemon; None if none is running."""
    embedding: EmbeddingState | None = None
    """The progress of embedding; None without a model."""
    proposals: int = 0
    """Number of open proposals."""
    silent_proposals: Sequence[str] = ()
    """Kinds that are no longer proposed, because most proposals were rejected."""
    observations: ObservationCounts = ObservationCounts()
    answers: Mapping[str, TimePercentiles] = field(default_factory=dict)
    """Times of the newest answers without a daemon, by caller and source: `command.index`,
    `command.context`, `mcp.fused`; empty for an agent."""
    blocks: Sequence[BlockState] = ()
    """Managed blocks of memory files, and the facts that did not fit."""


class NoteStatus(Struct, frozen=True):
    """Whether one note is synced, and if not, why and what to do."""

    path: str
    state: str
    """`synced`; `pending`: the next run syncs it; `conflict`; `attention`: a notice of the status
    is about it; `not_adopted`: it can become a fact; `excluded`: it cannot."""
    fact_id: str | None
    """The fact that the note belongs to; None if there is none."""
    message: str
    hint: str
    """What to do; empty if there is nothing to do."""


class Difference(Struct, frozen=True):
    """One value that differs between vault, store and base."""

    fact_id: str
    path: str | None
    field: str
    vault: Value
    store: Value
    base: Value
    why: str


class Verification(Struct, frozen=True):
    """The result of `verify`: whether vault, store and base are equal, or where they differ."""

    equal: bool
    """Whether there are no differences."""
    checked: int
    """The number of facts."""
    differences: tuple[Difference, ...] = ()
    held: tuple[Difference, ...] = ()
    """Invalid values in notes; the facts keep their own."""


def proof_of(
    checked: int, differences: Sequence[Difference] = (), held: Sequence[Difference] = ()
) -> Verification:
    """The result for the differences that were found."""
    return Verification(not differences, checked, tuple(differences), tuple(held))


class DoctorCheck(Struct, frozen=True):
    """One check of `doctor`."""

    name: str
    ok: bool
    message: str
    hint: str = ""


class FieldChange(Struct, frozen=True):
    """One change of one field of a fact."""

    run: str
    at: str
    side: str
    """The side that made the change: `vault` or `store`."""
    actor: str
    field: str
    before: Value
    after: Value


class History(Struct, frozen=True):
    """The changes of one fact, oldest first."""

    history: Sequence[FieldChange]


def history_of(entries: Iterable[HistoryEntry]) -> History:
    """The history of one fact, as it is reported."""
    return History(
        [FieldChange(n.run, n.at, n.side, n.actor, n.field, n.before, n.after) for n in entries]
    )


class Conflicts(Struct, frozen=True):
    """The open conflicts."""

    conflicts: Sequence[ShownConflict]


class ShownCopy(Struct, frozen=True):
    """A second version of a note, which a sync tool saved next to it."""

    path: str
    note: str
    """The path of the note that it is a copy of."""
    fact_id: str
    """The fact of that note."""


class ConflictsAndCopies(Conflicts, frozen=True):
    """The open conflicts, and the conflict copies of sync tools that are not settled."""

    copies: Sequence[ShownCopy]


class ResolveResult(Conflicts, frozen=True):
    """The resolved conflict, and those that are still open."""

    resolved: ShownConflict


class Proposals(Struct, frozen=True):
    """Proposals, oldest first."""

    proposals: Sequence[ShownProposal]


class ProposedWrite(Struct, frozen=True):
    """The answer to a write that the agent may only propose: it waits for the user."""

    proposal: ShownProposal


def conflicts_and_copies(
    conflicts: Iterable[ConflictRecord], copies: Sequence[ShownCopy]
) -> ConflictsAndCopies:
    """Open conflicts and conflict copies, as they are reported."""
    return ConflictsAndCopies([shown_conflict(each) for each in conflicts], copies)


def resolved_conflict(resolved: ConflictRecord, others: Iterable[ConflictRecord]) -> ResolveResult:
    """A resolved conflict and those that are still open, as they are reported."""
    return ResolveResult([shown_conflict(each) for each in others], shown_conflict(resolved))


def error_summary(error: Exception) -> Trouble:
    """Kind, message and hint of an error."""
    if isinstance(error, OSError):
        return error_values(type(error).__name__, *system_error_texts(error))
    hint = error.hint if isinstance(error, VaultsyncError) else ""
    return error_values(type(error).__name__, str(error), hint)


class LastError(Struct, frozen=True):
    """The last error."""

    at: str
    kind: str = ""
    message: str = ""
    hint: str = ""


class DaemonState(Struct):
    """The state of the daemon, as it reports it."""

    since: str
    watcher: str = ""
    """The name of the active watcher; empty when there is none."""
    watcher_trouble: str = ""
    """Why the last watcher failed; empty when it did not."""
    store_away: str = ""
    """Why the store does not answer; empty when it does."""
    lag_seconds: float = 0.0
    """Seconds since the oldest change that is not synced yet; to the millisecond."""
    passes: int = 0
    waiting: int = 0
    """Facts that the next run checks again."""
    conflicts: int = 0
    proposals: int = 0
    attention: int = 0
    """The number of notices, without conflicts."""
    failing: bool = False
    """Whether the last run failed."""
    last_error: LastError | None = None
    telemetry: Telemetry | None = None
    """Its own measurements."""
    pid: int | UnsetType = UNSET
    """The id of its process, when another process reports it."""

    def fail(self, error: Exception, at: str) -> dict[str, Value]:
        """Record the error that a run failed with. Returns it as JSON."""
        self.failing = True
        return self.note(error, at)

    def recover(self, error: LastError | None) -> None:
        """Record that a run succeeded after this error, whose hint no longer applies."""
        self.failing = False
        if error is not None and self.last_error is error:
            self.last_error = structs.replace(error, hint="")

    def note(self, error: Exception, at: str) -> dict[str, Value]:
        """Record an error. Returns it as JSON."""
        summary = error_summary(error)
        self.last_error = LastError(at, summary["kind"], summary["message"], summary["hint"])
        values: dict[str, Value] = to_builtins(self.last_error)
        return values


class EmbedReport(Struct, frozen=True):
    """What was done to bring the vectors up to date."""

    facts: int = 0
    """Facts in the index."""
    put: int = 0
    """Facts whose vectors were written, reused ones among them."""
    embedded: int = 0
    """Texts that were embedded."""
    reused: int = 0
    """Texts whose vectors were in the index before."""
    removed: int = 0
    """Deleted facts whose vectors were removed."""
    left: int = 0
    """Changed facts that were not processed."""
    waiting: Mapping[str, str] = {}
    """Id of each fact with a text that could not be embedded -> why; retried next time."""
    seconds: float = 0.0
    degraded: str = ""
    """Why the vectors may be behind the facts; empty when they are not."""
