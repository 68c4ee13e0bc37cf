"""Reports about memory files, and their JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from vaultsync.model.schema import Value
from vaultsync.storage.archive import Notice
from vaultsync.sync.report import notice_json

SECTION_COUNTS = ("created", "updated", "forgotten", "let_go", "unchanged")


@dataclass(frozen=True, slots=True)
class SectionResult:
    """What was done about one section, or about a fact whose section is gone."""

    action: str
    """`create`, `update`, `forget` or `let_go`."""
    fact_id: str
    title: str
    line: int | None = None
    """Where the section begins."""
    fields: tuple[str, ...] = ()
    reason: str = ""

    def as_json(self) -> dict[str, Value]:
        """The action as all surfaces show it."""
        return {
            "action": self.action,
            "fact_id": self.fact_id,
            "title": self.title,
            "line": self.line,
            "fields": list(self.fields),
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class FileResult:
    """What was done for one file."""

    name: str
    sections: int = 0
    """Number of sections, without those that are too short."""
    unchanged: int = 0
    actions: Sequence[SectionResult] = ()
    attention: Sequence[Notice] = ()
    pending: Sequence[str] = ()
    """Facts that are not embedded yet."""
    left_out: int = 0
    """Number of sections that are too short."""
    written: int = 0
    """Number of queued texts of agents that were written into the file."""

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of sections by what was done about them."""
        done = [each.action for each in self.actions]
        return {
            "created": done.count("create"),
            "updated": done.count("update"),
            "forgotten": done.count("forget"),
            "let_go": done.count("let_go"),
            "unchanged": self.unchanged,
        }

    def as_json(self) -> dict[str, Value]:
        """The result as all surfaces show it."""
        return {
            "file": self.name,
            "sections": self.sections,
            "counts": self.counts,
            "actions": [each.as_json() for each in self.actions],
            "pending": list(self.pending),
            "left_out": self.left_out,
            "written": self.written,
        }


@dataclass(frozen=True, slots=True)
class MemoryFileReport:
    """What a `memory-file sync` did."""

    files: Sequence[FileResult]
    dry_run: bool = False
    seconds: float = 0.0
    notices: Sequence[Notice] = ()
    """Those that are about no single file."""

    @property
    def counts(self) -> dict[str, int]:
        """The sums over all files."""
        each = [file.counts for file in self.files]
        return {name: sum(counts[name] for counts in each) for name in SECTION_COUNTS}

    @property
    def attention(self) -> list[Notice]:
        """All notices."""
        return [*self.notices, *(each for file in self.files for each in file.attention)]

    @property
    def quiet(self) -> bool:
        """Whether there was nothing to do."""
        return not any(file.actions or file.written for file in self.files)

    @property
    def fact_ids(self) -> list[str]:
        """The facts that were written."""
        return [each.fact_id for file in self.files for each in file.actions]

    @property
    def pending(self) -> list[str]:
        """The facts that are not embedded yet."""
        return [each for file in self.files for each in file.pending]

    def as_json(self) -> dict[str, Value]:
        """The report as all surfaces show it."""
        return {
            "dry_run": self.dry_run,
            "seconds": self.seconds,
            "counts": self.counts,
            "files": [each.as_json() for each in self.files],
            "pending": len(self.pending),
            "attention": [notice_json(each) for each in self.attention],
        }


@dataclass(frozen=True, slots=True)
class AddResult:
    """What happened to a text that an agent adds to a memory file."""

    name: str
    section: str
    status: str
    """`written`, `unchanged` (the file has it already) or `queued`."""
    reason: str = ""
    """Why it is queued."""
    synced: MemoryFileReport | None = field(default=None, compare=False)
    """The sync of the file afterwards."""

    def as_json(self) -> dict[str, Value]:
        """The result as all surfaces show it."""
        return {
            "file": self.name,
            "section": self.section,
            "status": self.status,
            "reason": self.reason,
            "sync": self.synced.as_json() if self.synced else None,
        }
