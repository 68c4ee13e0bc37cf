"""What a pass and the other commands answer: values, and their JSON by the contract."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from vaultsync.model.schema import Value
from vaultsync.storage.archive import Notice

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


class ActionTaken(NamedTuple):
    """One line of a report."""

    action: str
    fact_id: str
    path: str | None
    fields: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """What a pass did, or (`dry_run`) would do."""

    run: str
    dry_run: bool
    seconds: float
    counts: Mapping[str, int]
    actions: Sequence[ActionTaken] = ()
    attention: Sequence[Notice] = ()

    @property
    def quiet(self) -> bool:
        """Whether there was nothing to do."""
        return not any(n for name, n in self.counts.items() if name != "unchanged")

    def as_json(self) -> dict[str, Value]:
        """The report as the contract has it; `report_of()` reads it again."""
        return {
            "run": self.run,
            "dry_run": self.dry_run,
            "seconds": round(self.seconds, 3),
            "counts": {name: self.counts.get(name, 0) for name in REPORT_COUNTS},
            "actions": [
                {
                    "action": each.action,
                    "fact_id": each.fact_id,
                    "path": each.path,
                    "fields": list(each.fields),
                    "reason": each.reason,
                }
                for each in self.actions
            ],
            "attention": [notice_json(each) for each in self.attention],
        }


def report_from_json(said: Mapping[str, Any]) -> Report:
    """The report that `as_json()` made this of."""
    return Report(
        said["run"],
        said["dry_run"],
        said["seconds"],
        said["counts"],
        [ActionTaken(**{**each, "fields": tuple(each["fields"])}) for each in said["actions"]],
        [Notice(**each) for each in said["attention"]],
    )


def notice_json(notice: Notice) -> dict[str, Value]:
    """One thing that waits for a person."""
    return {
        "kind": notice.kind,
        "path": notice.path,
        "line": notice.line,
        "message": notice.message,
        "hint": notice.hint,
    }


@dataclass(frozen=True, slots=True)
class Status:
    """What waits and what is wrong."""

    facts: int
    notes: int
    pending: int
    """Changes that the next pass would take up."""
    conflicts: int
    attention: Sequence[Notice]
    outbox: int
    last_run: Mapping[str, Value] | None
    engine: str
    """`idle`, or who has the vault now."""
    foreign: int = 0
    """Notes that vaultsync leaves alone until they are adopted."""
    daemon: Mapping[str, Value] | None = None
    """What the daemon tells of itself, while one runs."""

    def as_json(self) -> dict[str, Value]:
        """The status as the contract has it."""
        return {
            "facts": self.facts,
            "notes": self.notes,
            "pending": self.pending,
            "conflicts": self.conflicts,
            "attention": [notice_json(each) for each in self.attention],
            "outbox": self.outbox,
            "last_run": dict(self.last_run) if self.last_run else None,
            "engine": self.engine,
            "foreign": self.foreign,
            "daemon": dict(self.daemon) if self.daemon else None,
        }


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not equal."""

    fact_id: str
    path: str | None
    field: str
    vault: Value
    store: Value
    base: Value
    why: str
    held: bool = False
    """The field does not take what the note says."""

    def as_json(self) -> dict[str, Value]:
        """The difference as JSON."""
        return {
            "fact_id": self.fact_id,
            "path": self.path,
            "field": self.field,
            "vault": self.vault,
            "store": self.store,
            "base": self.base,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class Verification:
    """The proof that vault = store = base, or where it fails."""

    checked: int
    differences: Sequence[Difference] = field(default_factory=tuple)
    held: Sequence[Difference] = field(default_factory=tuple)
    """What notes say that their fields do not take: the facts keep their values."""

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return not self.differences

    def as_json(self) -> dict[str, Value]:
        """The proof as the contract has it; `verification_of()` reads it again."""
        return {
            "equal": self.equal,
            "checked": self.checked,
            "differences": [each.as_json() for each in self.differences],
            "held": [each.as_json() for each in self.held],
        }


def verification_from_json(said: Mapping[str, Any]) -> Verification:
    """The proof that `as_json()` made this of."""
    return Verification(
        said["checked"],
        tuple(Difference(**each) for each in said["differences"]),
        tuple(Difference(**each, held=True) for each in said["held"]),
    )


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """One check of `doctor`."""

    name: str
    ok: bool
    message: str
    hint: str = ""

    def as_json(self) -> dict[str, Value]:
        """The check as JSON."""
        return {
            "name": self.name,
            "ok": self.ok,
            "message": self.message,
            "hint": self.hint,
        }
