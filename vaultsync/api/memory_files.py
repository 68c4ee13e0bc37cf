"""The memory files of one vault: sync `MEMORY.md` with the store."""

from __future__ import annotations

import logging
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from vaultsync.api.configuration import find_repository
from vaultsync.api.engine import Engine
from vaultsync.api.wiring import Services
from vaultsync.backends.filesystem.find_files import find_memory_files
from vaultsync.backends.filesystem.memory_file import DiskMemoryFile
from vaultsync.backends.state.file_write_queue import FileWriteQueue
from vaultsync.backends.state.known_memory_files import KnownFile, KnownMemoryFiles
from vaultsync.backends.state.vault_marker import MEMORY_FILE_FOLDER
from vaultsync.errors import (
    MemoryFileError,
    MemoryFileOwnersError,
    StoreUnavailableError,
    UnknownPlaceholderError,
    UnreadableMemoryFileError,
    VaultsyncError,
)
from vaultsync.memory_files.block_edits import BlockBases, without_removed
from vaultsync.memory_files.report import (
    AddResult,
    FactSection,
    FileResult,
    ManagedFile,
    MemoryFileReport,
    SectionResult,
    block_state,
    join_file_reports,
    report_of_files,
)
from vaultsync.memory_files.sections import memory_file_error_notice, memory_file_notice
from vaultsync.memory_files.state import SOURCE_PREFIX, FileState, read_states
from vaultsync.memory_files.write_queue import LOCK_TIMEOUT, QUEUED, files_with_queue, queue_text
from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value
from vaultsync.notes.proposal_note import ProposedChange
from vaultsync.recall.recall_request import RecallRequest
from vaultsync.settings import user_path
from vaultsync.storage.archive import Notice
from vaultsync.sync.context import SyncContext
from vaultsync.sync.preconditions import known_store_ids
from vaultsync.sync.report import BlockState, ManagedFact, Progress, notices_of

if TYPE_CHECKING:
    from vaultsync.memory_files.manage import ManageRequest
    from vaultsync.memory_files.service import FileSyncRequest
    from vaultsync.memory_files.take_block_edits import TakenEdits

_log = logging.getLogger(__name__)


class MemoryFiles:
    """Markdown files of users and agents, whose sections are facts.

    Arguments and errors of the methods are documented at `Memory`.
    """

    def __init__(self, services: Services, engine: Engine) -> None:
        self._services = services
        self._engine = engine
        self._root = services.settings.root
        self._settings = services.settings.memory_file
        self.queue = FileWriteQueue(services.settings.state_dir / MEMORY_FILE_FOLDER)
        """Agents' texts that wait to be written."""
        self._known = KnownMemoryFiles(services.settings.state_dir)

    def sync(
        self,
        paths: Iterable[str | Path],
        request: FileSyncRequest,
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        notes_synced: bool = False,
        progress: Progress | None = None,
    ) -> MemoryFileReport:
        """Update the store from the files; `notes_synced` means that the vault was just synced."""
        folders = [user_path(each) for each in paths]
        by_path = {
            path: find_memory_files([path], include=include, exclude=exclude) for path in folders
        }
        led_out = {each for path, found in by_path.items() for each in self._led_out(path, found)}
        files = [self.file(path) for path in sorted({*chain(*by_path.values())} - led_out)]
        by_agent: dict[str | None, list[DiskMemoryFile]] = defaultdict(list)
        notices = [self._nothing_found(path) for path in by_path if not by_path[path]]
        for path in sorted(led_out):
            error = _led_out_error(self.file(path).name)
            if len(led_out) == 1 and not files and request.raises:
                raise error
            notices.append(memory_file_error_notice(error.name, error))
        for file in files:
            try:
                by_agent[self._owner(file, request.agent)].append(file)
            except MemoryFileOwnersError as error:
                if len(files) == 1 and request.raises:
                    raise
                notices.append(memory_file_error_notice(file.name, error))
        if not (notes_synced or request.dry_run):
            request = replace(request, sync_notes=self._sync_edited_notes)
        reports = [
            self._sync(
                group, replace(request, agent=agent), progress, agent_found=agent != request.agent
            )
            for agent, group in by_agent.items()
        ]
        return join_file_reports(reports, attention=notices_of(notices)) or report_of_files(())

    def _owner(self, file: DiskMemoryFile, agent: str | None) -> str | None:
        """Whose facts a file gets: without a name those of the agent whose facts it has.

        Raises MemoryFileOwnersError if it has facts of several agents, and none of the user.
        """
        owners = [] if agent is not None else self._agents(file)
        named = [each for each in owners if each is not None]
        if not named or len(named) < len(owners):
            return agent
        if len(named) > 1:
            raise MemoryFileOwnersError(file.name, sorted(named))
        return named[0]

    def _sync(
        self,
        files: Sequence[DiskMemoryFile],
        request: FileSyncRequest,
        progress: Progress | None,
        *,
        agent_found: bool,
    ) -> MemoryFileReport:
        """Sync the files of one agent; `agent_found` means that the caller did not name it."""
        from vaultsync.memory_files.service import refresh_pending, sync_files  # noqa: PLC0415 - `status` syncs nothing

        refits = self._refits(files)
        user = self._services.settings.user
        request = replace(
            request,
            user=user,
            embeds=self._services.can_embed,
            refits=refits,
            is_gone=partial(self._is_gone, {str(each.path): each.name for each in files}),
            vault=str(self._root),
        )
        self._engine.record_bases()

        def work(ctx: SyncContext) -> MemoryFileReport:
            file_request = replace(request, is_draft=ctx is not self._engine.ctx)
            return sync_files(ctx, files, file_request, queue=self.queue)

        report = self._engine.proposing(request.agent, work)
        if not request.dry_run:
            by_name = {each.name: each for each in report.files}
            self._remember([each for each in files if each.name in by_name], by_name, request)
        if agent_found:
            named = [structs.replace(each, agent=request.agent) for each in report.files]
            report = structs.replace(report, files=named)
        if request.dry_run or not (report.fact_ids or report.pending):
            return report
        report = structs.replace(
            report, run=self._engine.sync_notes(report.fact_ids, "memory-file", progress)
        )
        if not request.embeds:
            return report
        waits = refresh_pending(
            files, request.agent, known_store_ids(self._engine.ctx), self._without_vectors
        )
        results = [structs.replace(x, pending=tuple(waits.get(x.name, ()))) for x in report.files]
        pending = sum(len(each.pending) for each in results)
        return structs.replace(report, files=results, pending=pending)

    def _is_gone(self, files: Mapping[str, str], name: str) -> bool:
        """Whether there is no file of a name any more, or only a link to one of another name.

        `files` are path -> name.
        """
        path = self._path_of(name)
        return not os.path.lexists(path) or files.get(os.path.realpath(path), name) != name

    def _sync_edited_notes(self, fact_ids: Sequence[str]) -> None:
        """Sync the notes of those facts that may have edits."""
        if edited := self._engine.possibly_edited(fact_ids):
            self._engine.update_notes(*edited, kind="sync")

    def _remember(
        self,
        files: Iterable[DiskMemoryFile],
        results: Mapping[str, FileResult],
        request: FileSyncRequest,
    ) -> None:
        """Register the files with managed sections, to keep them in sync from now on.

        A file that could not be read still has those of its state.
        """
        for file in files:
            record = KnownFile(str(file.path), request.agent, request.scope)
            result = results[file.name]
            state = None if result.sections else self._state_of(file, request.agent)
            if result.managed or (state is not None and state.managed):
                self._known.put(record)
            elif file.path.exists():
                self._known.drop(record)

    def _state_of(self, file: DiskMemoryFile, agent: str | None) -> FileState | None:
        stores = known_store_ids(self._engine.ctx)
        return read_states(file.state()).find(file.key, agent, stores)[1]

    def _agents(self, file: DiskMemoryFile) -> list[str | None]:
        """The agents that have facts from a file in this vault."""
        return read_states(file.state()).agents(file.key, known_store_ids(self._engine.ctx))

    def check_within(self, path: str | Path, folder: str | Path, *, agent: str | None) -> Path:
        """The path of a file, if an agent without access to other files may write to it.

        Raises UnreadableMemoryFileError unless it is a watched file or `MEMORY.md` in the folder,
        and no other agent's.
        """
        real = _real_path(path, folder)
        allowed = [Path(os.path.realpath(folder)) / "MEMORY.md", *self.watched()]
        allowed += [Path(each.path) for each in self._known.all() if each.agent in (None, agent)]
        file = self.file(real)
        owners = read_states(file.state()).agents(file.key) if real in allowed else []
        if real not in allowed or any(each not in (None, agent) for each in owners):
            why = "it is not a memory file that this agent may write"
            hint = "the user must first sync it with `vaultsync memory-file sync`"
            raise UnreadableMemoryFileError(file.name, why, hint=hint)
        return real

    def add(
        self, path: str | Path, text: str, *, section: str, replace_all: bool, agent: str | None
    ) -> AddResult:
        """Write a text into a section for agents, and sync the file."""
        from vaultsync.memory_files.service import FileSyncRequest  # noqa: PLC0415 - `status` syncs nothing

        file = self.file(self._named(path))
        ctx = self._engine.ctx
        added = queue_text(
            ctx.clock,
            file,
            self.queue,
            # Secrets must not be in the file, the queue or the log.
            section=ctx.view.redact_text(section),
            text=ctx.view.redact_text(text),
            replace_all=replace_all,
            agent=agent,
            refit=self._refits([file]).get(file.name, str),
            has_facts=partial(self._has_facts, file),
        )
        if added.status == QUEUED:
            return added
        # A file remains the memory of its agents; a new one belongs to the writer.
        owners = self._agents(file) or [agent]
        reports = [
            self.sync([file.path], FileSyncRequest(agent=owner, after_add=True)) for owner in owners
        ]
        return structs.replace(added, synced=reports[0])

    def _has_facts(self, file: DiskMemoryFile) -> bool:
        source = SOURCE_PREFIX + file.name
        return any(each.source == source for each in self._engine.ctx.store.iter_facts())

    def section_of(self, fact: Fact) -> FactSection | None:
        """The position of a fact in its file; None without a file, or if it is unknown."""
        name = (fact.source or "").removeprefix(SOURCE_PREFIX)
        if name in ("", fact.source):
            return None
        file_state = self._state_of(DiskMemoryFile(self._path_of(name), name), fact.agent_id)
        for number, each in enumerate(file_state.sections if file_state else ()):
            if each.id == fact.id:
                return FactSection(name, each.title, number, each.hash, each.text is not None)
        return None

    def _path_of(self, name: str) -> Path:
        """The path of a file with a portable name."""
        home = Path.home() if name.startswith("~/") else self._root
        return home / name.removeprefix("~/")

    def sections_that_stay(self, facts: Iterable[Fact]) -> Iterator[str]:
        """Hints about the sections of purged facts, which remain in the user's files."""
        for fact in facts:
            if section := self.section_of(fact):
                yield (
                    f"the section “{section.section_header}” of {section.file}: delete it there,"
                    " or the next sync of the file creates the fact again"
                )

    def manage(
        self, path: str | Path, request: ManageRequest, *, scopes: Sequence[str], agent: str | None
    ) -> ManagedFile:
        """Fill the managed block of a file, and keep it in sync from now on."""
        block = asdict(replace(request, dry_run=False))
        record = KnownFile(str(self._named(path)), agent, block=block, scopes=tuple(scopes))
        managed = self._manage(record, request)
        if not request.dry_run:
            self._known.put(record)
        return managed

    def _manage(
        self, record: KnownFile, request: ManageRequest, *, renews: bool = False
    ) -> ManagedFile:
        from vaultsync.memory_files.manage import EDITED, edited_text, manage_file  # noqa: PLC0415 - for this alone

        file = self.file(Path(record.path))
        self._engine.record_bases()
        redact, tokens = self._engine.ctx.view.redact_text, self._services.token_counter
        edits: list[SectionResult] = []
        notices: list[Notice] = []
        for last in (False, False, True):  # includes saves in between
            text = edited_text(file)
            edited = None if text is None else self._take_edits(record, file, text, request)
            if edited is not None:
                edits += edited.actions
                notices += edited.notices
            managed = manage_file(
                file,
                self.queue,
                partial(self._session_facts, file, record.scopes, record.agent),
                request,
                tokens,
                redact=redact,
                bases=partial(self._bases, record, {} if edited is None else edited.removed),
                taken=None if edited is None or edited.refused else text,
                record=partial(self._known.put_bases, record),
                renews=renews,
            )
            if last or managed.status != EDITED or edited is None or edited.refused:
                break
        if not request.dry_run:
            self._known.put_block(record, block_state(managed, record.agent))
        attention = [*notices_of(dict.fromkeys(notices)), *managed.attention]
        return structs.replace(managed, edits=[*dict.fromkeys(edits)], attention=attention)

    def _bases(self, record: KnownFile, removed: Mapping[str, str]) -> BlockBases:
        """What is known of a block, of which items were now removed."""
        bases = self._known.bases(record)
        return structs.replace(bases, removed={**bases.removed, **removed})

    def _take_edits(
        self, record: KnownFile, file: DiskMemoryFile, text: str, request: ManageRequest
    ) -> TakenEdits | None:
        """Apply the user's edits in a block to the facts; None if they cannot be determined."""
        from vaultsync.memory_files.take_block_edits import TakenEdits  # noqa: PLC0415 - edits are rare

        scopes = record.scopes
        edited = TakenEdits(
            self._engine.ctx,
            file.name,
            record.agent,
            scopes[0] if len(scopes) == 1 else None,
            partial(self._propose_edit, record.agent, file.name),
            request.dry_run,
        )
        if not edited.take_all(text, self._known.bases(record).written):
            return None
        if edited.actions and not request.dry_run:
            self._engine.show_proposals()
            self._engine.sync_notes(edited.fact_ids, "memory-file")
        return edited

    def _propose_edit(
        self, agent: str | None, name: str, fact: Fact, values: Mapping[str, Value]
    ) -> None:
        """Propose the user's edit of a fact in the block of a file."""
        from vaultsync.proposals.service import ProposalDraft, propose  # noqa: PLC0415 - edits are rare

        ctx = self._engine.ctx
        original = ctx.store.get(fact.id)
        after, unknown = ctx.view.restore_values(values, original)
        if unknown:
            raise UnknownPlaceholderError(fact.id, unknown)
        change = ProposedChange.of(original, after, path=fact.path)
        why = f"The managed block of {name} was edited."
        title, proposer = f"Change “{original.title}”", agent or "person"
        scope = original.scope
        propose(ctx, ProposalDraft("block", title, why, proposer, scope, (change,)))

    def _session_facts(
        self, file: DiskMemoryFile, scopes: Sequence[str], agent: str | None
    ) -> Sequence[Fact]:
        from vaultsync.memory_files.manage import MAX_BLOCK_FACTS, facts_for_session  # noqa: PLC0415 - for this alone

        services, repo = self._services, find_repository(file.path.parent)
        # Only a selection: facts in a file do not count as used.
        question = RecallRequest(
            "",
            limit=MAX_BLOCK_FACTS,
            max_priority=4,
            scopes=tuple(scopes),
            agent=agent,
            user=services.settings.user,
        )
        ctx = self._engine.ctx
        elsewhere = services.elsewhere(ctx, None if repo is None else str(repo))
        sources = structs.replace(services.recall_sources(ctx, agent), elsewhere=elsewhere)
        facts = facts_for_session(sources, question, file_name=file.name)
        # A file with a block may also be a note: its fact would quote the block in each renewal.
        blocks = {file.path, *(Path(x.path) for x in self._known.all() if x.block is not None)}
        return [fact for fact in facts if not fact.path or self._root / fact.path not in blocks]

    def _refits(self, files: Iterable[DiskMemoryFile]) -> dict[str, Callable[[str], str]]:
        """File name -> the function that makes room in a file with a managed block."""
        records = {each.path: each for each in self._known.all() if each.block is not None}
        return {
            file.name: partial(self._refit_file, file, records[str(file.path)])
            for file in files
            if str(file.path) in records
        }

    def _refit_file(self, file: DiskMemoryFile, record: KnownFile, text: str) -> str:
        from vaultsync.memory_files.manage import ManageRequest, refit_block  # noqa: PLC0415 - for this alone

        def facts() -> Sequence[Fact]:
            session_facts = self._session_facts(file, record.scopes, record.agent)
            return without_removed(session_facts, self._known.bases(record))[0]

        request = ManageRequest(**(record.block or {}))
        return refit_block(text, file.name, request, facts, self._services.token_counter)

    def watched(self) -> list[Path]:
        """The files of the setting `[memory_file] files`, whether they exist or not.

        Paths inside the vault must resolve inside it: anyone who can write to the vault could
        replace such a file by a link to another file of the user.
        """
        settings, paths = self._settings, []
        for each in settings.files:
            path = self._root / user_path(each)
            files = find_memory_files([path], include=settings.include, exclude=settings.exclude)
            outside = self._led_out(path, files)
            if outside:
                _log.warning("%s leads out of the vault and was not followed", path)
            paths += [file for file in files if file not in outside]
        return sorted(set(paths))

    def _led_out(self, path: Path, files: Iterable[Path]) -> list[Path]:
        """The files outside the vault to which a path inside it leads.

        The path is in the vault if it is below a folder that is the vault, however it is spelled.
        """
        place = path.absolute()
        plain = Path(os.path.normpath(place))
        if os.path.realpath(plain) == os.path.realpath(place):
            place = plain  # `..` leads out of the vault without a link
        if not any(os.path.realpath(each) == str(self._root) for each in (place, *place.parents)):
            return []
        return [file for file in files if not file.is_relative_to(self._root)]

    def _named(self, path: str | Path) -> Path:
        """The resolved path of a file that the user names.

        Raises UnreadableMemoryFileError if a link in the vault leads out of it, or as `_real_path`.
        """
        real = _real_path(path)
        if self._led_out(user_path(path), [real]):
            raise _led_out_error(self.file(real).name)
        return real

    def follow(
        self,
        changed: Iterable[str | Path] | None,
        *,
        agent: str | None,
        dry_run: bool = False,
        raises: bool = True,
    ) -> MemoryFileReport | None:
        """Sync the changed files, or all; None if there are none.

        These are the files in the settings, and those with managed sections or a managed block.
        """
        from vaultsync.memory_files.service import FileSyncRequest  # noqa: PLC0415 - `status` syncs nothing

        if not dry_run:
            self._follow_links()
        names = None if changed is None else {os.path.realpath(each) for each in changed}
        reports, blocks, notices = [], [], list[Notice]()
        records = [
            each
            for each in self._known.all()
            if agent in (None, each.agent)
            and (names is None or each.path in names)
            and self._may_follow(each, notices)
        ]
        for (owner, scope), paths in self._followed_by(agent, records).items():
            files = sorted(each for each in paths if names is None or str(each) in names)
            if not files:
                continue
            request = FileSyncRequest(owner, scope, dry_run=dry_run, raises=raises)
            try:
                reports.append(self.sync(files, request, notes_synced=True))
            except VaultsyncError as error:
                if raises:
                    raise
                name = ", ".join(self.file(x).name for x in files)
                notices.append(memory_file_error_notice(name, error))
        for each in records:
            try:
                managed = self._renew(each, dry_run=dry_run)
            except MemoryFileError as error:
                notices.append(memory_file_error_notice(self.file(Path(each.path)).name, error))
            else:
                blocks += [] if managed is None else [managed]
        return join_file_reports(reports, blocks, notices_of(notices))

    def _follow_links(self) -> None:
        """Register files again that were replaced by a link, as `CLAUDE.md` by one to `AGENTS.md`.

        A file that is not there yet is not registered: it is none that the user chose.
        """
        records = self._known.all()
        known = {(each.path, each.block is None) for each in records}
        for each in records:
            real = _real_path(each.path)
            is_known = (str(real), each.block is None) in known
            is_moved = is_known or (self._is_near(each, real) and real.is_file())
            if str(real) != each.path and is_moved:
                if not is_known:
                    moved = structs.replace(each, path=str(real))
                    self._known.put(moved)
                    self._known.put_bases(moved, self._known.bases(each))
                self._known.drop(each)

    def _followed_path(self, record: KnownFile) -> Path:
        """The path of a file, or of the one beside it to which a link in its place leads.

        Raises:
            UnreadableMemoryFileError: the link leads elsewhere, and others may have made it.
        """
        real = _real_path(record.path)
        if not self._is_near(record, real):
            raise _led_out_error(self.file(real).name)
        return real

    def _may_follow(self, record: KnownFile, notices: list[Notice]) -> bool:
        """Whether a file can be followed; a notice says why not."""
        try:
            self._followed_path(record)
        except UnreadableMemoryFileError as error:
            notices.append(memory_file_error_notice(error.name, error))
            return False
        return True

    def _is_near(self, record: KnownFile, real: Path) -> bool:
        """Whether a file is in the folder of a record, and in the vault if that is."""
        path = Path(record.path)
        is_beside = real.parent == Path(os.path.realpath(path.parent))
        return is_beside and not self._led_out(path, [real])

    def _followed_by(
        self, agent: str | None, records: Sequence[KnownFile]
    ) -> Mapping[tuple[str | None, str | None], set[Path]]:
        """The files whose sections are to be synced, by owner and scope of new facts."""
        followed: dict[tuple[str | None, str | None], set[Path]] = defaultdict(set)
        owner = self._settings.agent or agent, self._settings.scope or None
        for path in self.watched():
            state = self._state_of(self.file(path), owner[0])
            if path.exists() or (state and state.sections):
                followed[owner].add(path)
        for each in records:
            path = Path(each.path)
            if each.block is None and path.exists():
                is_own = path in followed[owner] and each.agent == owner[0]
                followed[owner if is_own else (each.agent, each.scope)].add(path)
        return followed

    def _renew(self, record: KnownFile, *, dry_run: bool) -> ManagedFile | None:
        """Fill a block again; None if there is none, because a removed one is not recreated."""
        if record.block is None:
            return None
        from vaultsync.memory_files.manage import ManageRequest, has_managed_block  # noqa: PLC0415 - for this alone

        path = self._followed_path(record)
        try:
            if not path.stat().st_size:
                return None  # a program that saves it empties it first
        except OSError:
            return None  # it may come back
        was_written = bool(self._known.bases(record).written)  # not without a fact to put into it
        if was_written and not has_managed_block(self.file(path)):
            if not dry_run:
                self._known.drop(record)
            return None
        request = ManageRequest(**{**record.block, "dry_run": dry_run})
        return self._manage(structs.replace(record, path=str(path)), request, renews=True)

    @contextmanager
    def blocks_locked(self) -> Iterator[None]:
        """Keep other processes from writing blocks of facts that they have read before.

        Raises MemoryFileBusyError if one does not finish.
        """
        files = [Path(each.path) for each in self._known.all() if each.block is not None]
        # The others have no block, and a lock would make their folder again.
        folders = {each.parent: each for each in files if each.exists()}
        with ExitStack() as locks:
            for path in folders.values():
                locks.enter_context(self.file(path).lock(LOCK_TIMEOUT))
            yield

    def renew_blocks(self) -> Iterator[str]:
        """Fill all managed blocks again; yields the names of the files whose block stays."""
        from vaultsync.memory_files.manage import EDITED  # noqa: PLC0415 - for this alone

        for record in self._known.all():
            try:
                managed = self._renew(record, dry_run=False)
            except MemoryFileError:
                yield self.file(Path(record.path)).name
            else:
                if managed is not None and managed.status == EDITED:
                    yield managed.name

    def queued_notices(self) -> list[Notice]:
        """A notice for each file that has queued texts."""
        return files_with_queue(self.queue, str(self._root))

    def blocks(self, agent: str | None) -> Sequence[BlockState]:
        """The states of the managed blocks of an agent, or of all."""
        states = [each for each in self._known.blocks() if agent in (None, each.agent)]
        ctx, facts = self._engine.ctx, dict[str, Fact]()
        with suppress(StoreUnavailableError):
            facts = ctx.store.find_many({x.id for each in states for x in each.left_out})
        shown = {
            fact.id: ManagedFact(fact.id, fact.title, fact.path)
            for fact in map(ctx.view.redact, facts.values())
            if ctx.policy.permissions.may_read(agent, fact.scope)
        }

        def left_out(state: BlockState) -> list[ManagedFact]:
            seen = (each for each in state.left_out if each.id in shown)
            return [structs.replace(shown[each.id], reason=each.reason) for each in seen]

        return [structs.replace(each, left_out=left_out(each)) for each in states]

    def followed(self) -> list[Path]:
        """The files to keep in sync, whether they exist or not."""
        return sorted({*self.watched(), *(Path(each.path) for each in self._known.all())})

    def file(self, path: Path) -> DiskMemoryFile:
        """The memory file at a path."""
        return DiskMemoryFile(path, portable_name(path, self._root))

    def _nothing_found(self, folder: Path) -> Notice:
        name = portable_name(Path(os.path.realpath(folder)), self._root)
        why = f"{name} has no memory file; nothing was synced from it"
        hint = "in a folder, MEMORY.md is read; name the file, or select others with --include"
        return memory_file_notice("NoMemoryFile", name, why, hint)

    def _without_vectors(self, fact_ids: Sequence[str]) -> Sequence[str]:
        vectors = self._services.vector_index
        if vectors is None:
            return ()
        from vaultsync.indexing.embedding_texts import facts_without_vectors  # noqa: PLC0415 - few

        store, index = self._engine.ctx.redacted_store, self._services.note_index
        return facts_without_vectors(store, index, vectors, fact_ids)


def _led_out_error(name: str) -> UnreadableMemoryFileError:
    why = "a link leads to it, and others may have made the link"
    return UnreadableMemoryFileError(name, why, hint="if you want to sync it, name the file itself")


def _real_path(path: str | Path, folder: str | Path = "") -> Path:
    """The resolved path of a file, relative to a folder or to the current one."""
    try:
        named = Path(folder, user_path(path))
        return Path(os.path.realpath(named))
    except ValueError as error:
        why = "this is not a valid file name"
        raise UnreadableMemoryFileError(repr(str(path)[:100]), why) from error


def portable_name(path: Path, root: Path) -> str:
    """The portable name of a file or folder: relative to vault or home, or else absolute.

    Vault and home may be elsewhere on another machine.
    """
    name = path.as_posix()
    for base, prefix in ((root, "./"), (Path.home().resolve(), "~/")):
        if path.is_relative_to(base):
            name = (prefix + path.relative_to(base).as_posix()).removesuffix("/.")
            break
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in name)
