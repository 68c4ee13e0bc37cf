"""Sync memory files with facts: each file is the source of truth for its facts.

A file is read whole, its sections are matched with the facts that came from it, and what changed
in the file is written to the store by compare-and-set. The notes follow as those of any fact do.
Of the file itself, only managed sections are written: with texts of agents that are queued, and
with what their facts say now.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from hashlib import sha256
from shlex import quote

from msgspec import structs

from vaultsync.errors import (
    MemoryFileBusyError,
    MemoryFileChangedError,
    MemoryFileError,
    MemoryFileGuardError,
    MemoryFileMissingError,
    NoteLimitError,
    RevisionMismatchError,
    ScopeDeniedError,
    TooManyFilesError,
    UnreadableMemoryFileError,
)
from vaultsync.facts.service import check_scope_access
from vaultsync.facts.write_limits import check_note_limits
from vaultsync.memory_files.plan import (
    KnownSection,
    SectionAction,
    SectionStep,
    plan_sections,
    short_with_facts,
    type_of,
)
from vaultsync.memory_files.ports import MemoryFile, WriteQueue
from vaultsync.memory_files.report import (
    FileResult,
    MemoryFileReport,
    SectionResult,
    counts_of,
    report_of_files,
)
from vaultsync.memory_files.sections import (
    FileMetadataValues,
    MemoryFileContent,
    MemorySection,
    hash_of,
    in_file_order,
    is_section_id,
    memory_file_error_notice,
    memory_file_notice,
    read_memory,
    section_content,
    section_id,
)
from vaultsync.memory_files.state import (
    MAX_REMOVED,
    SOURCE_PREFIX,
    FileState,
    FolderState,
    read_states,
    section_of_fact,
    write_states,
)
from vaultsync.memory_files.write_back import (
    FollowedSection,
    WrittenBack,
    differing_section,
    in_words_of,
    write_back,
)
from vaultsync.memory_files.write_queue import (
    LOCK_TIMEOUT,
    drain_write_queue,
    path_in_command,
    replace_keeping,
)
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.schema import Value
from vaultsync.model.scope import check_scope, private_scope
from vaultsync.storage.archive import Notice
from vaultsync.storage.feed_cursor import seq_of_version, version_of
from vaultsync.storage.store import RevisionMismatch, StoreState, StoreWrite
from vaultsync.sync.context import SyncContext
from vaultsync.sync.history import deleted_revision
from vaultsync.sync.preconditions import known_store_ids
from vaultsync.sync.report import notices_of

_log = logging.getLogger(__name__)

MAX_FILES_TAKEN = 50
"""Files of one sync; further ones are left out with a notice."""
MAX_FILES = 200
"""Number of files from which a sync is refused."""
MAX_TOTAL_BYTES = 5 << 20
"""Bytes of all files together."""
MAX_TOTAL_SECTIONS = 500
"""Sections of all files together; those with a fact count first."""
MAX_SYNC_TRIES = 10
"""How often a file is planned again when it, or one of its facts, changed meanwhile."""
MEMORY_FILE_ACTOR = "memory-file"
"""The actor of these writes, in the feed and in the history."""
DETACHED_SOURCE = "memory-file"
"""The `source` of a fact that came from a file and belongs to it no more."""
MEMORY_IMPORTANCE = 0.8
"""Of facts from memory files, which their user chose to keep."""
MEMORY_CONFIDENCE = 1.0
_TOKEN_LENGTH = 16
_BATCH = 100
"""Facts of one write."""
_MANY_GONE = 5
"""Number of missing sections from which the file is read a second time."""
_REASONS = {
    SectionAction.CREATE: "new in the file",
    SectionAction.UPDATE: "changed in the file",
    SectionAction.FORGET: "removed from the file",
    SectionAction.DETACH: "removed from the file, but edited since",
    SectionAction.REWRITE: "updated from its fact",
    SectionAction.REMOVE: "its fact was forgotten",
    SectionAction.RETURN: "its fact was restored",
}


@dataclass(frozen=True, slots=True)
class FileSyncRequest:
    """How to sync files."""

    agent: str | None = None
    scope: str | None = None
    user: str | None = None
    """Whom new facts are about."""
    again: bool = False
    """Whether the file also wins over edits of its facts since the last sync."""
    dry_run: bool = False
    embeds: bool = False
    """Whether written facts are pending until they are embedded."""
    confirm: str | None = None
    """What names the plan that the guard stopped and the user confirmed."""
    is_draft: bool = False
    """Whether the facts are only proposed: then the state of the file stays as it was."""
    after_add: bool = False
    """Whether an agent's text was written just now: what the guard stops then is a notice."""
    sync_notes: Callable[[Sequence[str]], None] = lambda _: None
    """Syncs the notes of facts, whose edits a file is to be compared with."""
    is_gone: Callable[[str], bool] = lambda _: False
    """Whether there is no file of a name any more."""
    refits: Mapping[str, Callable[[str], str]] = field(default_factory=dict)
    """Name of a file -> makes room for what is written into it, where it has a limit."""
    vault: str = "."
    """The path of the vault, for commands in hints."""
    raises: bool = True
    """Whether the error of a single file is raised; else it is a notice, as that of many."""


@dataclass(slots=True)
class SizeBudget:
    """What is left of the limits of one sync."""

    size: int = MAX_TOTAL_BYTES
    sections: int = MAX_TOTAL_SECTIONS


def sync_files(
    ctx: SyncContext, files: Sequence[MemoryFile], request: FileSyncRequest, *, queue: WriteQueue
) -> MemoryFileReport:
    """Bring the store up to date with the files.

    A problem of one file becomes a notice, and the other files are synced.

    Raises:
        TooManyFilesError, StoreUnavailableError, ScopeDeniedError.
        MemoryFileMissingError, MemoryFileBusyError, MemoryFileGuardError: of a single file.
    """
    began = ctx.clock.monotonic()
    if len(files) >= MAX_FILES:
        raise TooManyFilesError(len(files), MAX_FILES - 1)
    notices: list[Notice] = []
    taken = sorted(files, key=lambda file: file.name)[:MAX_FILES_TAKEN]
    if len(taken) < len(files):
        why = f"only the first {MAX_FILES_TAKEN} of {len(files)} files, by name, were read"
        hint = "list the files, or select fewer with --include and --exclude"
        notices.append(memory_file_notice("TooManyFiles", taken[-1].name, why, hint))
    budget = SizeBudget()
    results = []
    for file in taken:
        work = FileSync(ctx, file, request, queue, budget)
        try:
            results.append(work.run())
            notices += work.notices
        except MemoryFileError as error:
            is_notice = isinstance(error, UnreadableMemoryFileError) or (
                request.after_add and isinstance(error, MemoryFileGuardError)
            )
            if len(files) == 1 and request.raises and not is_notice:
                raise
            notices.append(memory_file_error_notice(file.name, error))
            results.append(FileResult(file.name, 0, counts_of(())))
    seconds = ctx.clock.monotonic() - began
    return report_of_files(results, notices_of(notices), dry_run=request.dry_run, seconds=seconds)


def refresh_pending(
    files: Iterable[MemoryFile],
    agent: str | None,
    stores: Sequence[str],
    missing: Callable[[Sequence[str]], Sequence[str]],
) -> dict[str, tuple[str, ...]]:
    """Update which facts of an agent are not embedded yet; returns them by file.

    `stores` are the `known_store_ids()`; `missing` returns those of some facts that have no vector.
    """
    pending: dict[str, tuple[str, ...]] = {}
    for file in files:
        key, state = read_states(file.state()).find(file.key, agent, stores)
        if state is None or not state.pending:
            continue
        left = tuple(missing(state.pending))
        pending[file.name] = left
        if left == state.pending:
            continue
        try:
            with file.lock(LOCK_TIMEOUT):
                states = read_states(file.state())
                now = states.files.get(key, state)
                still = tuple(each for each in now.pending if each in left)
                now = structs.replace(now, pending=still)
                file.put_state(write_states(states, key, now))
        except MemoryFileBusyError as error:
            _log.debug("The next sync updates what is pending: %s", error)
    return pending


@dataclass(frozen=True, slots=True)
class _FilePlan:
    sections: Sequence[MemorySection]
    short: Sequence[MemorySection]
    """Those that are too short for a fact."""
    metadata: FileMetadataValues
    last_read: Sequence[KnownSection]
    facts: Mapping[str, Fact]
    steps: Sequence[SectionStep]
    notices: Sequence[Notice]
    returned: Sequence[Fact]
    """Facts that were restored after they had taken their sections with them."""


@dataclass(slots=True)
class FileSync:
    """The sync of one file."""

    ctx: SyncContext
    file: MemoryFile
    request: FileSyncRequest
    queue: WriteQueue
    budget: SizeBudget
    notices: list[Notice] = field(default_factory=list)
    key: str = ""
    """Of its state."""
    source: str = ""
    """Of its facts."""
    former_source: str = ""
    """Of its facts before the file was moved; empty if it was not."""
    today: str = ""
    actions: list[SectionResult] = field(default_factory=list)
    """What was done, by all tries."""

    def __post_init__(self) -> None:
        """Name what belongs to the file."""
        self.source = SOURCE_PREFIX + self.file.name
        self.today = self.ctx.today()[:10]

    def run(self) -> FileResult:
        """Sync the file.

        Raises:
            MemoryFileError, StoreUnavailableError.
        """
        _, state = self._last_state()
        if state:
            self.request.sync_notes([each.id for each in state.sections])
        queued = self.queue.waiting(self.file.name) or self.file.has_leftovers()
        if not queued:
            data = self.file.read(self.budget.size)
            if data is None:
                self._check_known(state)  # before a lock file is left beside a mistyped name
            elif state and not self.request.again and self._is_current(state, data):
                return self._unchanged(state, len(data))
        if self.request.dry_run:  # it writes nothing, and so leaves no lock file either
            return self._sync()
        with self.file.lock(LOCK_TIMEOUT):
            refit = self.request.refits.get(self.file.name, str)
            written = drain_write_queue(self.file, self.queue, refit) if queued else 0
            result = self._sync()
        if result.actions and not self.request.is_draft:
            at = self.ctx.today()
            self.queue.log(*(_log_entry(self.file.name, each, at) for each in result.actions))
        return structs.replace(result, written=written)

    def _last_state(self) -> tuple[FolderState, FileState | None]:
        """The states beside the file, and that of this store."""
        states = read_states(self.file.state())
        stores = known_store_ids(self.ctx)
        self.key, state = states.find(self.file.key, self.request.agent, stores)
        return states, state

    def _check_known(self, state: FileState | None) -> None:
        """Raise `MemoryFileMissingError` if no fact came from the file, which does not exist."""
        if not self._plan(None, state).last_read:
            raise MemoryFileMissingError(self.file.name)

    def _is_current(self, state: FileState, data: bytes) -> bool:
        """Whether neither the file nor the store has changed since."""
        now = self.ctx.store.state()
        return (
            not (state.pending or state.notices)
            and state.digest == sha256(data).hexdigest()
            and state.scanned == self.today
            and state.store == version_of(now.store_id, now, "")
            and len(state.sections) <= self.budget.sections
        )

    def _unchanged(self, state: FileState, size: int) -> FileResult:
        count = len(state.sections)
        self.budget.size -= size
        self.budget.sections -= count
        return FileResult(self.file.name, count, counts_of((), count), managed=state.managed)

    def _sync(self) -> FileResult:
        """Plan and write; again when the file or the store changed meanwhile."""
        states, state = self._last_state()
        state = self._usable(state)
        for _ in range(MAX_SYNC_TRIES):
            before = self.ctx.store.state()
            data = self.file.read(self.budget.size)
            if data is None:
                self._check_known(state)
            elif state is None:
                state = self._usable(self._renamed(states, data))
            plan = self._plan(data, state)
            if self._is_half_saved(plan, data):
                continue
            if self.request.dry_run:
                ids = [each.fact_id for each in plan.steps]
                return self._with_back(self._result(plan, ids), self._write_back(plan, ids, data))
            self._guard(plan, data)
            written = self._write(plan)
            if written is None:
                continue
            result = self._result(plan, written)
            kept = self._state(plan, written, data, result, last=state, before=before)
            result = structs.replace(result, pending=kept.pending)
            self.actions += result.actions
            back = None if self.request.is_draft else self._write_back(plan, written, data)
            has_notices = any(each.kind != "LetGo" for each in self.notices)
            kept = structs.replace(kept, notices=has_notices)
            if back is not None and back.data != data:
                after = self._state_after(plan, kept, back)
                # What the facts took from the file is their base, whatever happens next.
                state = structs.replace(
                    kept, notices=True, withdrawn=after.withdrawn, next=tuple(after.sections)
                )
                self._put_state(states, state)
                try:
                    kept, back = self._replace(state, data, after, back)
                except MemoryFileChangedError:
                    continue
            if not self.request.is_draft:
                self._put_state(states, kept)
            self.budget.size -= len(data or b"")
            self.budget.sections -= len(kept.sections)
            result = structs.replace(result, actions=self.actions, managed=kept.managed)
            return self._with_back(result, back)
        raise RevisionMismatchError(self.file.name, "the one just read", "a newer one each time")

    def _renamed(self, states: FolderState, data: bytes) -> FileState | None:
        """The state of a file of this folder that has, or had, most sections of this one.

        It may have been renamed; `_find_former_source()` says whether it was.
        """
        now = {each.hash for each in self._content(data).outline.sections}
        stores = known_store_ids(self.ctx)
        for each in states.files.values():
            shared = sum(known.hash in now for known in each.sections)
            is_own = each.agent == self.request.agent and each.store_id in stores
            if is_own and shared * 2 > len(each.sections):
                return structs.replace(each, scanned="")
        return None

    def _usable(self, state: FileState | None) -> FileState | None:
        """What a state says of the facts of this store.

        The store may have been restored from a backup, or a copy of the vault may sync the file,
        too. Then a fact that differs from its managed section may be the older one, and is not
        written into the file.
        """
        if state is None:
            return None
        store, store_id = self.ctx.store, state.store_id
        is_former = store_id != store.state().store_id
        if is_former or seq_of_version(store, store_id, state.store, "") is not None:
            return state
        kept = [each for each in state.sections if each.text is None]
        return structs.replace(state, scanned="", sections=kept, next=(), withdrawn=())

    def _is_half_saved(self, plan: _FilePlan, data: bytes | None) -> bool:
        """Whether many sections are gone, and a moment later the file is another one."""
        gone = sum(each.section is None for each in plan.steps)
        if not gone or (gone < _MANY_GONE and gone * 2 < len(plan.last_read)):
            return False
        self.ctx.clock.sleep(self.ctx.policy.grace_seconds)
        return self.file.read(self.budget.size) != data

    def _replace(
        self, state: FileState, data: bytes | None, after: FileState, back: WrittenBack
    ) -> tuple[FileState, WrittenBack | None]:
        """Write the file; returns the state then, and what was done."""
        try:
            replace_keeping(self.file, self.queue, back.data, data)
        except UnreadableMemoryFileError as error:
            self.notices.append(memory_file_error_notice(self.file.name, error))
            return state, None
        return after, back

    def _put_state(self, states: FolderState, state: FileState) -> None:
        encoded = write_states(states, self.key, state)
        if encoded != self.file.state():
            self.file.put_state(encoded)

    def _write_back(
        self, plan: _FilePlan, ids: Sequence[str], data: bytes | None
    ) -> WrittenBack | None:
        """The file with its managed sections as their facts are; None if there is none to write."""
        if data is None or self.request.again:
            return None
        wanted = [
            FollowedSection(
                SectionAction.RETURN, fact.id, fact.title, section_content(fact.content)
            )
            for fact in map(self.ctx.view.redact, plan.returned)
        ]
        for number, step in enumerate(plan.steps):
            if step.section is None or not (section := plan.sections[step.section]).follows:
                continue
            fact = plan.facts.get(ids[number])
            if fact is not None:
                fact = fact.replace(self.originals(step.values, fact))
                found = differing_section(step.section, section, fact, self.ctx.view)
                wanted += [] if found is None else [found]
            elif step.do is SectionAction.SAME:
                removal = SectionAction.REMOVE, ids[number], section.title, "", step.section
                wanted.append(FollowedSection(*removal))
        if not wanted:
            return None
        of_sections = {
            step.section: ids[number]
            for number, step in enumerate(plan.steps)
            if step.section is not None
        }

        left_out = {each.hash for each in plan.short}

        def read(text: str) -> Sequence[MemorySection]:
            outline = self._content(text.encode()).outline
            short = (x for x in outline.left_out if x.content and x.hash not in left_out)
            return in_file_order(outline.sections, short)

        owned = [(each, of_sections.get(n, "")) for n, each in enumerate(plan.sections)]
        done = write_back(self.file.name, data, owned, wanted, read)
        if refit := self.request.refits.get(self.file.name):
            done = done._replace(text=refit(done.text))
        redact = self.ctx.view.redact_text
        self.notices += [each._replace(message=redact(each.message)) for each in done.notices]
        return done

    def _with_back(self, result: FileResult, back: WrittenBack | None) -> FileResult:
        """The report with what the sections of the file became."""
        if back is None:
            return result
        redact = self.ctx.view.redact_text
        actions = [
            SectionResult(x.do.value, x.fact_id, redact(x.title), reason=_REASONS[x.do])
            for x in back.done
        ]
        updated = {each.fact_id for each in result.actions}
        same = sum(x.number is not None and x.fact_id not in updated for x in back.done)
        unchanged = result.counts["unchanged"] - same
        actions = [*result.actions, *actions]
        return structs.replace(result, actions=actions, counts=counts_of(actions, unchanged))

    def _guard(self, plan: _FilePlan, data: bytes | None) -> None:
        """Stop when the file would take all its facts with it.

        A file that is gone, or that was replaced, may come back, from a backup or another branch.
        If some of its sections stay, the others were removed on purpose.
        """
        gone = [each.fact_id for each in plan.steps if each.do is SectionAction.FORGET]
        stays = any(x.section is not None and x.fact_id in plan.facts for x in plan.steps)
        if not gone or (data is not None and (stays or len(plan.facts) == 1)):
            return
        parts = [self.key, *sorted(gone), "" if data is None else sha256(data).hexdigest()]
        token = sha256("\n".join(parts).encode()).hexdigest()[:_TOKEN_LENGTH]
        if self.request.confirm == token:
            return
        what = "is gone" if data is None else "no longer has any of its sections"
        why = f"it {what}, and would forget {len(gone)} of {len(plan.facts)} facts"
        path = path_in_command(self.file.name, self.request.vault)
        confirmed = self.request.confirm
        raise MemoryFileGuardError(self.file.name, why, token, path=path, confirmed=confirmed)

    def _plan(self, data: bytes | None, state: FileState | None) -> _FilePlan:
        content = self._content(data or b"")
        outline = content.outline
        known, facts = self._known(state, [*outline.sections, *outline.left_out])
        before = state or FileMetadataValues()
        now = before if content.metadata is None else content.metadata
        removed_hashes = {key for key, _ in state.removed} if state else set[str]()
        kept = short_with_facts(outline, known, removed_hashes)
        sections, again = in_file_order(outline.sections, kept), self.request.again
        shown = dict(facts)
        for was in known:
            if was.text is not None and was.id in facts:
                shown[was.id] = in_words_of(was.text, facts[was.id], self.ctx.view)
        removed = self._removed(state, sections)
        steps = plan_sections(
            sections, known, shown, before=before, now=now, again=again, removed=removed.keys()
        )
        if state is not None:
            steps = [self._as_before(each, sections, state, facts, removed) for each in steps]
        notices = list(content.notices)
        new = [each.section for each in steps if each.do is SectionAction.CREATE]
        others = sum(each.section is not None for each in steps) - len(new)
        left_out = set(new[max(self.budget.sections - others, 0) :])
        if left_out:
            steps = [each for each in steps if each.section not in left_out]
            why = f"{len(left_out)} new sections were left out: the maximum is {MAX_TOTAL_SECTIONS}"
            hint = "merge sections, or move those that are not memories to another file"
            notices.append(memory_file_notice("TooManySections", self.file.name, why, hint))
        short = [each for each in outline.left_out if each not in kept]
        present = {each.fact_id for each in steps}
        returned = [
            fact
            for fact_id, fact in self.ctx.store.find_many(state.withdrawn if state else ()).items()
            if fact_id not in present and self.owns(fact)
        ]
        return _FilePlan(sections, short, now, known, facts, steps, notices, returned)

    def _content(self, data: bytes) -> MemoryFileContent:
        title = self.file.key.removesuffix(".md")
        return read_memory(data, name=self.file.name, title=title)

    def _as_before(
        self,
        step: SectionStep,
        sections: Sequence[MemorySection],
        state: FileState,
        facts: dict[str, Fact],
        removed: Mapping[str, str],
    ) -> SectionStep:
        """The step, where the state knows more of the fact than the texts that there are now.

        A section that comes back with its last text is the fact that it was. A fact that came
        back without its section stays, for the file said that it may go, and someone else that
        it may not.
        """
        is_read = step.fact_id in {each.id for each in state.sections}
        if step.do is SectionAction.FORGET and not (is_read or self.request.again):
            return replace(step, do=SectionAction.DETACH, edited=True)
        if step.section is None or step.fact_id:
            return step
        fact_id = removed.get(sections[step.section].hash, "")
        if not fact_id or fact_id in facts:
            return step
        fact = self.ctx.store.find_many([fact_id]).get(fact_id)
        if fact is None:
            return replace(step, fact_id=fact_id)
        facts[fact_id] = fact
        return replace(step, do=SectionAction.UPDATE, fact_id=fact_id)

    def _removed(
        self, state: FileState | None, sections: Sequence[MemorySection]
    ) -> dict[str, str]:
        """Hash -> fact of the sections that are back with the text that they had."""
        hashes, store = {each.hash for each in sections}, self.ctx.store
        back = {key: x for key, x in (state.removed if state else ()) if key in hashes}
        facts = store.find_many(back.values())
        return {key: x for key, x in back.items() if self.owns(facts.get(x) or store.tombstone(x))}

    def _known(
        self, state: FileState | None, sections: Sequence[MemorySection]
    ) -> tuple[list[KnownSection], dict[str, Fact]]:
        """The sections at the last sync, and those of their facts that are in the store."""
        store = self.ctx.store
        read = {each.id: each for each in state.last_read(sections)} if state else {}
        ids = list(read)
        found = store.find_many(ids)
        self.former_source = self._find_former_source(found.values())
        facts = {key: fact for key, fact in found.items() if self.owns(fact)}
        deleted = (each for each in {*ids} - facts.keys() if self.owns(store.tombstone(each)))
        ours = {*facts, *deleted}
        known = [each for each in read.values() if each.id in ours]
        if state is None or self.request.again or state.scanned != self.today:
            ours |= set() if state is None or self.request.again else {*state.withdrawn}
            for fact in store.iter_facts():
                if fact.id not in ours and self.owns(fact):
                    facts[fact.id] = fact
                    known.append(section_of_fact(fact))
        return known, facts

    def _find_former_source(self, facts: Collection[Fact]) -> str:
        """The source of the facts of a file that was moved here with its state, or renamed.

        The state beside it names them. It was moved if there is no file any more where they
        are from. Empty if it was not.
        """
        sources = {each.source or "" for each in facts} - {self.source}
        if len(sources) != 1:
            return ""
        (source,) = sources
        name = source.removeprefix(SOURCE_PREFIX)
        folder, _, key = name.rpartition("/")
        is_near = key == self.file.key or folder == self.file.name.rpartition("/")[0]
        return source if name != source and is_near and self.request.is_gone(name) else ""

    def owns(self, fact: Fact | None) -> bool:
        """Whether a fact came from this file for this agent, who may change it, or propose to.

        The state beside the file cannot say so: anyone who may write there may forge it. Nor can
        the source alone: a copy of the note has it, too.
        """
        agent, may = self.request.agent, self.ctx.policy.permissions
        return (
            fact is not None
            and is_section_id(fact.id)
            and fact.source in (self.source, self.former_source or self.source)
            and fact.agent_id == agent
            and (may.may_write(agent, fact.scope) or may.may_propose(agent, fact.scope))
        )

    def originals(self, values: Mapping[str, Value], fact: Fact) -> Mapping[str, Value]:
        """Values from a section that follows a fact, with the secrets that it shows redacted."""
        return self.ctx.view.restore_values(values, fact)[0]

    def _write(self, plan: _FilePlan) -> list[str] | None:
        """Write the facts of a plan; returns the ids of its steps, or None after a mismatch.

        What was written before a mismatch is not written again by the next plan.
        """
        agent = self.request.agent
        default = private_scope(agent) if agent else self.ctx.policy.default_scope
        scope = self.request.scope or default
        try:
            check_scope_access(self.ctx, check_scope(scope), agent=agent)
        except ScopeDeniedError as denied:
            if not denied.proposes:
                raise
            # Without a new fact there is nothing to propose there, and the state is recorded.
        writer = _FactWriter(self, plan, scope)
        ids = [writer.prepare(step) for step in plan.steps]
        written = (plan.facts.get(each.fact_id) or each.fact for each in writer.writes)
        check_scope_access(self.ctx, *(fact.scope for fact in written if fact), agent=agent)
        for start in range(0, len(writer.writes), _BATCH):
            done = self.ctx.store.write(writer.writes[start : start + _BATCH])
            if any(isinstance(each, RevisionMismatch) for each in done):
                return None
        return ids

    def _result(self, plan: _FilePlan, ids: Sequence[str]) -> FileResult:
        """The report of a plan."""
        redact = self.ctx.view.redact_text
        actions = []
        notices = [each._replace(message=redact(each.message)) for each in plan.notices]
        self.notices = notices
        inferred = {each.id for each in plan.last_read if not each.type}
        unchanged = 0
        for step, fact_id in zip(plan.steps, ids, strict=True):
            section = None if step.section is None else plan.sections[step.section]
            fact = plan.facts.get(fact_id)
            title = redact(section.title if section else fact.title if fact else "", fact)
            line = section.line if section else None
            if step.do is SectionAction.SAME:
                if fact is not None and fact.source != self.source:
                    moved = SectionAction.UPDATE.value, fact_id, title, line, ("source",)
                    actions.append(SectionResult(*moved, "its file was moved"))
                else:
                    unchanged += 1
                follows = section is not None and section.follows and not self.request.again
                if step.edited and not follows:
                    notices.append(self._edited_notice(title, line, fact_id, fact))
                continue
            if step.do is SectionAction.DETACH:
                why = f"{title!r} was removed from the file, but its fact was edited since"
                hint = f"the fact stays; `vaultsync forget {fact_id}` deletes it"
                notices.append(memory_file_notice("LetGo", self.file.name, why, hint))
            reason = _REASONS[step.do]
            fields: tuple[str, ...] = ()
            if step.do is SectionAction.UPDATE:
                fields = tuple(sorted(step.values))
                if "content" in fields and fact_id in inferred and not self.request.again:
                    why = f"{title!r} and its fact differed, and which is newer is not known"
                    why += ": the text of the file was taken"
                    hint = f"`vaultsync history {fact_id}` has that of the fact"
                    hint += "; a vault and its copy should not sync the same file"
                    notices.append(memory_file_notice("NoBase", self.file.name, why, hint, line))
                if step.edited and step.merged:
                    reason = "merged with an edit of the fact"
                elif step.edited:
                    reason = f"replaces an edit; see `vaultsync history {fact_id}`"
            actions.append(SectionResult(step.do.value, fact_id, title, line, fields, reason))
        return FileResult(
            self.file.name,
            sections=len(plan.sections),
            counts=counts_of(actions, unchanged),
            actions=actions,
            left_out=len(plan.short),
            short=[redact(each.title) for each in plan.short],
        )

    def _edited_notice(
        self, title: str, line: int | None, fact_id: str, fact: Fact | None
    ) -> Notice:
        path = path_in_command(self.file.name, self.request.vault)
        again = f"`vaultsync memory-file sync {quote(path)} --again`"
        if fact is None:
            why = f"the fact of {title!r} was deleted, but the file still has its section"
            hint = f"delete the section, or run `vaultsync restore {fact_id}`; {again} restores all"
            hint += " facts of the file"
        else:
            why = f"the fact of {title!r} was edited and differs from the file"
            hint = f"copy the edit into the file, or replace it with the file's text with {again}"
        return memory_file_notice("EditedElsewhere", self.file.name, why, hint, line)

    def _state(
        self,
        plan: _FilePlan,
        ids: Sequence[str],
        data: bytes | None,
        result: FileResult,
        *,
        last: FileState | None,
        before: StoreState,
    ) -> FileState:
        """The new state of the file."""
        metadata = plan.metadata
        read = [
            (plan.sections[step.section], fact_id)
            for step, fact_id in zip(plan.steps, ids, strict=True)
            if step.section is not None
        ]
        sections = [_known_section(each, fact_id, metadata) for each, fact_id in read]
        pending = {*(last.pending if last else ()), *(each.fact_id for each in result.actions)}
        pending &= {each.id for each in sections} if self.request.embeds else set()
        now = self.ctx.store.state()
        # What others wrote meanwhile is new to the next sync.
        end = now if now.seq == before.seq + len(result.actions) else before
        return FileState(
            store=version_of(now.store_id, end, ""),
            scanned=self.today,
            digest="" if data is None else sha256(data).hexdigest(),
            sections=sections,
            agent=self.request.agent,
            tags=metadata.tags,
            entities=metadata.entities,
            priority=metadata.priority,
            type=metadata.type,
            pending=tuple(sorted(pending)),
            removed=_removed(last, plan, {each.id for each in sections}),
            withdrawn=_absent(last.withdrawn if last else (), sections),
        )

    def _state_after(self, plan: _FilePlan, kept: FileState, back: WrittenBack) -> FileState:
        """The state once sections followed their facts."""
        pairs = zip(back.sections, back.ids, strict=True)
        sections = [_known_section(each, x, plan.metadata) for each, x in pairs if x]
        removed = [each.fact_id for each in back.done if each.do is SectionAction.REMOVE]
        gone = [(each.hash, each.id) for each in kept.sections if each.id in removed]
        return structs.replace(
            kept,
            digest=sha256(back.data).hexdigest(),
            sections=sections,
            removed=(*kept.removed, *gone)[-MAX_REMOVED:],
            withdrawn=_absent((*kept.withdrawn, *removed), sections)[-MAX_REMOVED:],
        )


def _known_section(
    section: MemorySection, fact_id: str, metadata: FileMetadataValues
) -> KnownSection:
    body, kind = hash_of(section.content), type_of(section, metadata)
    text = section.content if section.follows else None
    return KnownSection(fact_id, section.hash, body, section.title, kind, text)


def _absent(ids: Sequence[str], sections: Sequence[KnownSection]) -> tuple[str, ...]:
    present = {each.id for each in sections}
    return tuple(dict.fromkeys(each for each in ids if each not in present))


def _log_entry(name: str, each: SectionResult, at: str) -> Mapping[str, Value]:
    return {
        "what": "section",
        "path": name,
        "section": each.title,
        "fact_id": each.fact_id,
        "action": each.action,
        "at": at,
    }


def _removed(
    last: FileState | None, plan: _FilePlan, present: AbstractSet[str]
) -> tuple[tuple[str, str], ...]:
    """The hash of the last text and the fact of each removed section."""
    gone = {each.fact_id for each in plan.steps if each.do is SectionAction.FORGET}
    removed = dict(last.removed) if last else {}
    removed |= {each.hash: each.id for each in plan.last_read if each.id in gone}
    still = [(digest, fact_id) for digest, fact_id in removed.items() if fact_id not in present]
    return tuple(still[-MAX_REMOVED:])


class _FactWriter:
    """Turns the steps of a plan into writes to the store."""

    def __init__(self, work: FileSync, plan: _FilePlan, scope: str) -> None:
        self.writes: list[StoreWrite] = []
        self._work, self._plan, self._scope = work, plan, scope
        self._store, self._at = work.ctx.store, work.ctx.today()
        self._used = set(plan.facts)
        self._equal: Counter[str] = Counter()

    def prepare(self, step: SectionStep) -> str:
        """Add the writes of a step; returns the fact's id."""
        if step.do is SectionAction.CREATE and step.section is not None:
            if not step.fact_id:
                return self._create(self._plan.sections[step.section].hash, step.values)
            self._put(step.fact_id, step.values)
        elif step.do is SectionAction.SAME:
            if fact := self._plan.facts.get(step.fact_id):
                self._change(fact, {"source": self._work.source})
        else:
            fact = self._plan.facts[step.fact_id]
            if step.do is SectionAction.UPDATE:
                follows = step.section is not None and self._plan.sections[step.section].follows
                values = self._work.originals(step.values, fact) if follows else step.values
                self._change(fact, {**values, "source": self._work.source})
            elif step.do is SectionAction.DETACH:
                self._change(fact, {"source": DETACHED_SOURCE})
            else:
                self.writes.append(StoreWrite(fact.id, None, fact.revision, MEMORY_FILE_ACTOR))
        return step.fact_id

    def _create(self, digest: str, values: Mapping[str, Value]) -> str:
        """A new fact under the first unused id of its hash."""
        while True:
            number = self._equal[digest]
            self._equal[digest] += 1
            fact_id = section_id(self._work.request.agent, self._work.source, digest, number)
            if fact_id in self._used:
                continue
            existing = self._store.find_many([fact_id]).get(fact_id)
            if existing is None:
                self._put(fact_id, values)
            elif self._work.owns(existing):
                # A crash left the fact before the state of the file was written.
                self._change(existing, values)
            else:
                continue
            self._used.add(fact_id)
            return fact_id

    def _put(self, fact_id: str, values: Mapping[str, Value]) -> None:
        """Write a new fact, or restore a deleted one."""
        tombstone = self._store.tombstone(fact_id)
        if tombstone is not None:
            self._change(tombstone, {**values, "source": self._work.source}, deleted=True)
            return
        request = self._work.request
        fields: dict[str, Value] = {
            **values,
            "id": fact_id,
            "scope": self._scope,
            "source": self._work.source,
            "importance": MEMORY_IMPORTANCE,
            "confidence": MEMORY_CONFIDENCE,
            "createdAt": self._at,
            "updatedAt": self._at,
        }
        fields |= {"agentId": request.agent} if request.agent else {}
        fields |= {"userId": request.user} if request.user else {}
        self._write(make_fact(fields), deleted_revision(self._store, fact_id))

    def _change(self, fact: Fact, values: Mapping[str, Value], *, deleted: bool = False) -> None:
        changed = fact.replace(values)
        if deleted or changed != fact:
            self._write(changed.evolve(updated_at=self._at), fact.revision)

    def _write(self, fact: Fact, expect: str | None = None) -> None:
        try:
            check_note_limits(self._work.ctx, fact)
        except NoteLimitError as error:
            why = f"the section {fact.title!r} is too large: {error.message}"
            raise UnreadableMemoryFileError(self._work.file.name, why, hint=error.hint) from None
        self.writes.append(StoreWrite(fact.id, fact, expect, MEMORY_FILE_ACTOR))
