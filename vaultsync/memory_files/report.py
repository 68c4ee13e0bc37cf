"""Reports about memory files; each struct is its JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from vaultsync.sync.report import BlockState, ManagedFact, Report, ReportedNotice

_COUNTED = {
    "created": "create",
    "updated": "update",
    "forgotten": "forget",
    "let_go": "let_go",
    "rewritten": "rewrite",
    "removed": "remove",
    "returned": "return",
}
"""What is counted, by the action that it counts; `unchanged` comes after them."""
_OF_THE_FILE = {"rewrite", "remove", "return"}
"""Actions that change a section of the file, and no fact."""


class SectionResult(Struct, frozen=True):
    """What was done about one section, or about a fact whose section is gone."""

    action: str
    """`create`, `update`, `forget` or `let_go` of a fact; `rewrite`, `remove` or `return` of a
    section that follows its fact; `propose` of an edit in the managed block, and `leave_out` of
    what was removed from it."""
    fact_id: str
    title: str
    line: int | None = None
    """Where the section begins."""
    fields: tuple[str, ...] = ()
    reason: str = ""

    @property
    def changes_fact(self) -> bool:
        """Whether the fact was written, and not only its section."""
        return self.action not in _OF_THE_FILE


class FileResult(Struct, frozen=True, rename={"name": "file"}):
    """What came of one file."""

    name: str
    sections: int
    """How many it has, those that are too short not counted."""
    counts: Mapping[str, int]
    """How many sections met which end."""
    actions: Sequence[SectionResult] = ()
    pending: Sequence[str] = ()
    """Facts that are not embedded yet."""
    left_out: int = 0
    """Number of sections that are too short."""
    written: int = 0
    """Number of queued texts of agents that were written into the file."""
    short: Sequence[str] = ()
    """The titles of the sections that are too short."""
    managed: int = 0
    """How many sections follow their facts, or would if these were restored."""


class FactSection(Struct, frozen=True, rename="camel"):
    """Where a fact stands in its memory file, as it was last read."""

    file: str
    section_header: str
    """Its heading; of a part of a long section, with its number."""
    chunk_index: int
    """Its place among the sections, from 0 on."""
    content_hash: str
    """SHA-256 of heading and content, without what does not count as a change."""
    managed: bool
    """Whether it follows the fact."""


def counts_of(actions: Sequence[SectionResult], unchanged: int = 0) -> dict[str, int]:
    """How many sections met which end."""
    done = [each.action for each in actions]
    counts = {name: done.count(action) for name, action in _COUNTED.items()}
    return {**counts, "unchanged": unchanged}


class ManagedFile(Struct, frozen=True, rename={"name": "file"}):
    """What came of a `memory-file manage`."""

    name: str
    status: str
    """`written`, `unchanged`, or `edited`: a person edited the block, and it was left alone."""
    dry_run: bool
    host: str
    form: str
    tokens: int
    """Of the block."""
    budget: int
    counter: str
    """The tokenizer that counted, or `estimate`."""
    bytes: int
    """Of the whole file, as its lines."""
    max_bytes: int | None
    lines: int
    max_lines: int | None
    included: Sequence[ManagedFact] = ()
    """In the order of the block."""
    left_out: Sequence[ManagedFact] = ()
    """The most important first."""
    attention: Sequence[ReportedNotice] = ()
    edits: Sequence[SectionResult] = ()
    """What a person wrote into the block, and what became of it."""


class MemoryFileReport(Struct, frozen=True):
    """What came of a `memory-file sync`."""

    dry_run: bool
    seconds: float
    counts: Mapping[str, int]
    """Of all files."""
    files: Sequence[FileResult]
    pending: int
    """How many facts have a text that waits to be embedded."""
    attention: Sequence[ReportedNotice] = ()
    run: str | None = None
    """The run that brought the notes up to date, for `undo`; None if another process does."""
    blocks: Sequence[ManagedFile] = ()
    """The managed blocks that were looked after, by `sync` and the daemon."""

    @property
    def quiet(self) -> bool:
        """Whether there was nothing to do."""
        changed = any(each.status == "written" for each in self.blocks)
        return not (changed or any(file.actions or file.written for file in self.files))

    @property
    def fact_ids(self) -> list[str]:
        """The facts that were written."""
        return [each.fact_id for x in self.files for each in x.actions if each.changes_fact]


def report_of_files(
    files: Sequence[FileResult],
    attention: Sequence[ReportedNotice] = (),
    *,
    dry_run: bool = False,
    seconds: float = 0.0,
) -> MemoryFileReport:
    """The report of what came of some files."""
    return MemoryFileReport(
        dry_run,
        seconds,
        {name: sum(file.counts[name] for file in files) for name in (*_COUNTED, "unchanged")},
        files,
        sum(len(file.pending) for file in files),
        attention,
    )


def join_file_reports(
    reports: Sequence[MemoryFileReport],
    blocks: Sequence[ManagedFile] = (),
    attention: Sequence[ReportedNotice] = (),
) -> MemoryFileReport | None:
    """One report of several syncs, and of the blocks that were filled; None if there are none."""
    if not (reports or blocks or attention):
        return None
    found = [*attention]
    found += [notice for each in reports for notice in each.attention]
    found += [notice for each in blocks for notice in each.attention]
    whole = report_of_files(
        [file for each in reports for file in each.files],
        found,
        dry_run=any([*(x.dry_run for x in reports), *(x.dry_run for x in blocks)]),
        seconds=sum(each.seconds for each in reports),
    )
    runs = [each.run for each in reports if each.run]
    return structs.replace(whole, blocks=blocks, run=runs[-1] if runs else None)


def block_state(done: ManagedFile, agent: str | None) -> BlockState:
    """What a block holds, without the texts of facts."""
    left_out = [ManagedFact(each.id, "", reason=each.reason) for each in done.left_out]
    included = len(done.included)
    return BlockState(done.name, done.status, included, done.tokens, done.budget, left_out, agent)


class AddResult(Struct, frozen=True, rename={"name": "file", "synced": "sync"}):
    """What came of a text that an agent writes into a memory file."""

    name: str
    section: str
    status: str
    """`written`, `unchanged` (the file has it already) or `queued`."""
    reason: str = ""
    """Why it waits."""
    synced: MemoryFileReport | None = None
    """What became of the file's facts afterwards."""


class VaultReport(Report, frozen=True):
    """What a run did, and what became of the memory files that the vault keeps in step."""

    memory_files: MemoryFileReport | None = None
