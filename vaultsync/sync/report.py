"""What a pass and the other commands answer; each struct is its JSON by the contract."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import UNSET, Struct, UnsetType, to_builtins

from vaultsync.errors import VaultsyncError
from vaultsync.model.schema import Value
from vaultsync.notes.conflict_note import Conflict, OpenConflict, shown_conflict
from vaultsync.privacy.error_json import Trouble, error_values
from vaultsync.storage.archive import HistoryEntry, Notice

Progress = Callable[[str, int, int], None]
"""Told of long work: the stage, how many are done, of how many."""

REPORT_COUNTS = (
    "created_in_vault",
    "updated_in_vault",
    "deleted_in_vault",
    "created_in_store",
    "updated_in_store",
    "deleted_in_store",
    "moved",
    "merged",
    "conflicts",
    "unchanged",
)


def counted(some: Mapping[str, int]) -> dict[str, int]:
    """All of `COUNTS`, by name and in that order; what is missing is 0."""
    return {name: some.get(name, 0) for name in REPORT_COUNTS}


class ActionTaken(Struct, frozen=True):
    """One line of a report."""

    action: str
    fact_id: str
    path: str | None
    fields: tuple[str, ...]
    reason: str


class ReportedNotice(Struct, frozen=True):
    """What waits for a person."""

    kind: str
    path: str
    """Vault-relative; empty when it is about no single note."""
    line: int | None
    """In the file, from 1."""
    message: str
    hint: str


def notices_of(found: Iterable[Notice]) -> list[ReportedNotice]:
    """What is shown of what the archive keeps."""
    return [ReportedNotice(n.kind, n.path, n.line, n.message, n.hint) for n in found]


class Report(Struct, frozen=True):
    """What a pass did, or (`dry_run`) would do."""

    run: str
    dry_run: bool
    seconds: float
    """To the millisecond."""
    counts: Mapping[str, int]
    """By each of `COUNTS`."""
    actions: Sequence[ActionTaken] = ()
    attention: Sequence[ReportedNotice] = ()

    @property
    def quiet(self) -> bool:
        """Whether there was nothing to do."""
        return not any(n for name, n in self.counts.items() if name != "unchanged")


class LastRun(Struct, frozen=True):
    """A run of the past."""

    run: str
    at: str
    kind: str
    counts: Mapping[str, int]


class Status(Struct, frozen=True):
    """What waits and what is wrong."""

    facts: int
    notes: int
    pending: int
    """Changes that the next pass would take up."""
    conflicts: int
    attention: Sequence[ReportedNotice]
    outbox: int
    """Changes that wait for the store."""
    last_run: LastRun | None
    """The last run that did something."""
    engine: str
    """`idle`, or who has the vault now."""
    foreign: int = 0
    """Notes that vaultsync leaves alone until they are adopted."""
    daemon: DaemonState | None = None
    """What the daemon reports of itself, while one runs."""


class Difference(Struct, frozen=True):
    """One thing that is not equal."""

    fact_id: str
    path: str | None
    field: str
    vault: Value
    store: Value
    base: Value
    why: str


class Verification(Struct, frozen=True):
    """The proof that vault = store = base, or where it fails."""

    equal: bool
    """Whether there are no differences."""
    checked: int
    """Facts."""
    differences: tuple[Difference, ...] = ()
    held: tuple[Difference, ...] = ()
    """What notes say that their fields do not take: the facts keep their values."""


def proof_of(
    checked: int,
    differences: Sequence[Difference] = (),
    held: Sequence[Difference] = (),
) -> Verification:
    """The proof of what was found."""
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
    """The side that the change came from: `vault` or `store`."""
    actor: str
    field: str
    before: Value
    after: Value


class History(Struct, frozen=True):
    """The changes of one fact, oldest first."""

    history: Sequence[FieldChange]


def history_of(entries: Iterable[HistoryEntry]) -> History:
    """What is shown of the history of one fact."""
    return History(
        [FieldChange(n.run, n.at, n.side, n.actor, n.field, n.before, n.after) for n in entries]
    )


class Conflicts(Struct, frozen=True):
    """The open conflicts."""

    conflicts: Sequence[OpenConflict]


class ResolveResult(Conflicts, frozen=True):
    """The conflicts that are left, and the one that was settled."""

    resolved: OpenConflict


def shown_conflicts(found: Iterable[Conflict]) -> Conflicts:
    """What surfaces show of the open conflicts."""
    return Conflicts([shown_conflict(each) for each in found])


def resolved_conflict(settled: Conflict, left: Iterable[Conflict]) -> ResolveResult:
    """What surfaces show after one of them was settled."""
    return ResolveResult([shown_conflict(each) for each in left], shown_conflict(settled))


def error_summary(error: Exception) -> Trouble:
    """An error as it is told: its kind, what happened, and what helps."""
    hint = error.hint if isinstance(error, VaultsyncError) else ""
    return error_values(type(error).__name__, str(error), hint)


class LastError(Struct, frozen=True):
    """What failed last, and when."""

    at: str
    kind: str = ""
    message: str = ""
    hint: str = ""


class DaemonState(Struct):
    """What the daemon reports of itself."""

    since: str
    watcher: str = ""
    """Which watcher listens; empty when none does."""
    watcher_trouble: str = ""
    """Why the last watcher failed."""
    store_away: str = ""
    """Why the store does not answer; empty when it does."""
    lag_seconds: float = 0.0
    """Since the oldest change that has not been taken up; to the millisecond."""
    passes: int = 0
    waiting: int = 0
    """Facts that the next pass looks at again."""
    conflicts: int = 0
    attention: int = 0
    """What waits for a person, but for conflicts."""
    failing: bool = False
    """Whether the last pass failed."""
    last_error: LastError | None = None
    pid: int | UnsetType = UNSET
    """Of its process, where another one reads it."""

    def fail(self, error: Exception, at: str) -> dict[str, Value]:
        """Remember what a pass failed with; returns it as it is told."""
        self.failing = True
        return self.note(error, at)

    def note(self, error: Exception, at: str) -> dict[str, Value]:
        """Remember an error; returns it as it is told."""
        words = error_summary(error)
        self.last_error = LastError(at, words["kind"], words["message"], words["hint"])
        said: dict[str, Value] = to_builtins(self.last_error)
        return said
