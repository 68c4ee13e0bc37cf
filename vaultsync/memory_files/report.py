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
    """The result for one section, or for a fact whose section is gone."""

    action: str
    """`create`, `update`, `forget` or `let_go` of a fact; `rewrite`, `remove` or `return` of a
    section that follows its fact; `propose` of an edit in the managed block, and `leave_out` of
    what was removed from it."""
    fact_id: str
    title: str
    line: int | None = None
    """The line at which the section begins."""
    fields: tuple[str, ...] = ()
    reason: str = ""

    @property
    def changes_fact(self) -> bool:
        """Whether the fact was written, and not only its section."""
        return self.action not in _OF_THE_FILE


class FileResult(Struct, frozen=True, rename={"name": "file"}):
    """The result for one file."""

    name: str
    sections: int
    """Number of sections, without those that are too short."""
    counts: Mapping[str, int]
    """Number of sections by result."""
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
    """Number of managed sections, including those of deleted facts."""
    agent: str | None = None
    """Whose file it was before, if no agent was named: the facts are this agent's."""


class FactSection(Struct, frozen=True, rename="camel"):
    """The position of a fact in its memory file when it was last read."""

    file: str
    section_header: str
    """The heading; with a number for a part of a long section."""
    chunk_index: int
    """The position among the sections, from 0."""
    content_hash: str
    """SHA-256 of heading and content, without what does not count as a change."""
    managed: bool
    """Whether the section is managed."""


def counts_of(actions: Sequence[SectionResult], unchanged: int = 0) -> dict[str, int]:
    """Number of sections by result."""
    done = [each.action for each in actions]
    counts = {name: done.count(action) for name, action in _COUNTED.items()}
    return {**counts, "unchanged": unchanged}


class ManagedFile(Struct, frozen=True, rename={"name": "file"}):
    """The result of `memory-file manage`."""

    name: str
    status: str
    """`written`, `unchanged`, or `edited`: a person edited the block, or another vault wrote it
    again, and it was left alone."""
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
    """The user's edits in the block, and their results."""


class MemoryFileReport(Struct, frozen=True):
    """The result of `memory-file sync`."""

    dry_run: bool
    seconds: float
    counts: Mapping[str, int]
    """The counts of all files."""
    files: Sequence[FileResult]
    pending: int
    """Number of facts with a text that is not embedded yet."""
    attention: Sequence[ReportedNotice] = ()
    run: str | None = None
    """The run that brought the notes up to date, for `undo`; None if another process does."""
    blocks: Sequence[ManagedFile] = ()
    """The managed blocks that `sync` and the daemon updated or checked."""

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
    """Combine the results for some files in one report."""
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
    """The contents of a block, without the texts of facts."""
    left_out = [ManagedFact(each.id, "", reason=each.reason) for each in done.left_out]
    included = len(done.included)
    return BlockState(done.name, done.status, included, done.tokens, done.budget, left_out, agent)


class AddResult(Struct, frozen=True, rename={"name": "file", "synced": "sync"}):
    """The result of adding an agent's text to a memory file."""

    name: str
    section: str
    status: str
    """`written`, `unchanged` (the file has it already) or `queued`."""
    reason: str = ""
    """Why the text is queued."""
    synced: MemoryFileReport | None = None
    """The result of the following sync of the file's facts."""


class VaultReport(Report, frozen=True):
    """What a run did, and what became of the memory files that the vault keeps in step."""

    memory_files: MemoryFileReport | None = None
