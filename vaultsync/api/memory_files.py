"""Memory files of one vault: `MEMORY.md` and the store, kept in step."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from vaultsync.api.configuration import find_repository
from vaultsync.api.engine import Engine
from vaultsync.api.wiring import Services
from vaultsync.backends.filesystem.find_files import find_memory_files
from vaultsync.backends.filesystem.memory_file import DiskMemoryFile, FrontmatterReader
from vaultsync.backends.state.file_write_queue import FileWriteQueue
from vaultsync.errors import EngineBusyError, VaultsyncError
from vaultsync.indexing.embedding_texts import facts_without_vectors
from vaultsync.memory_files.report import AddResult, ManagedFile, MemoryFileReport
from vaultsync.memory_files.sections import memory_file_notice
from vaultsync.memory_files.service import FileSyncRequest, refresh_pending, sync_files
from vaultsync.memory_files.state import agents_of, read_states, state_key
from vaultsync.memory_files.write_queue import QUEUED, queue_text
from vaultsync.recall.recall_request import RecallRequest
from vaultsync.storage.archive import Notice
from vaultsync.sync.context import SyncContext
from vaultsync.sync.report import Progress, notices_of
from vaultsync.sync.sync_request import SyncRequest

if TYPE_CHECKING:
    from vaultsync.memory_files.manage import ManageRequest

_log = logging.getLogger(__name__)


class MemoryFiles:
    """Markdown files of people and agents, whose sections are facts.

    What the methods take and raise is said at `Memory`.
    """

    def __init__(self, services: Services, engine: Engine) -> None:
        self._services = services
        self._engine = engine
        self._root = services.settings.root
        self._settings = services.settings.memory_file
        self.queue = FileWriteQueue(services.settings.state_dir / "memory-files")
        """Texts of agents that wait to be written."""

    def sync(
        self,
        paths: Iterable[str | Path],
        request: FileSyncRequest,
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> MemoryFileReport:
        """Bring the store up to what the files say."""
        given = [Path(each).expanduser() for each in paths]
        found = {
            path: find_memory_files([path], include=include, exclude=exclude) for path in given
        }
        files = [self.file(path) for path in sorted({*chain(*found.values())})]
        request = replace(request, embeds=self._services.can_embed)
        self._engine.record_bases()
        reader = FrontmatterReader().read

        def work(ctx: SyncContext) -> MemoryFileReport:
            wanted = replace(request, is_draft=ctx is not self._engine.ctx)
            return sync_files(ctx, files, wanted, reader=reader, queue=self.queue)

        report = self._engine.proposing(request.agent, work)
        if empty := [path for path in found if not found[path]]:
            notices = notices_of(map(self._nothing_found, empty))
            report = structs.replace(report, attention=[*notices, *report.attention])
        if request.dry_run or not (report.fact_ids or report.pending):
            return report
        report = structs.replace(report, run=self._write_notes(report.fact_ids, progress))
        if not request.embeds:
            return report
        waits = refresh_pending(files, request, self._without_vectors)
        done = [structs.replace(x, pending=tuple(waits.get(x.name, ()))) for x in report.files]
        pending = sum(len(each.pending) for each in done)
        return structs.replace(report, files=done, pending=pending)

    def add(
        self, path: str | Path, text: str, *, section: str, replace_all: bool, agent: str | None
    ) -> AddResult:
        """Write a text into a section for agents, and sync the file."""
        file = self.file(Path(os.path.realpath(Path(path).expanduser())))
        ctx = self._engine.ctx
        added = queue_text(
            ctx.clock,
            file,
            self.queue,
            # The file is no place for secrets, and neither are queue and log.
            section=ctx.view.redact_text(section),
            text=ctx.view.redact_text(text),
            replace_all=replace_all,
            agent=agent,
        )
        if added.status == QUEUED:
            return added
        # A file stays the memory of the agents that it has; a new one is the writer's.
        owners = agents_of(read_states(file.state()), file.key) or [agent]
        reports = [
            self.sync([file.path], FileSyncRequest(agent=owner, after_add=True)) for owner in owners
        ]
        return structs.replace(added, synced=reports[0])

    def manage(
        self, path: str | Path, request: ManageRequest, *, scopes: Sequence[str], agent: str | None
    ) -> ManagedFile:
        """Fill the managed block of a file."""
        from vaultsync.memory_files.manage import MAX_BLOCK_FACTS, facts_for_session, manage_file  # noqa: PLC0415 - for this alone

        file = self.file(Path(os.path.realpath(Path(path).expanduser())))
        self._engine.record_bases()
        services, repo = self._services, find_repository(file.path.parent)
        # A question that packs nothing: what a file repeats does not count as used.
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
        redact = ctx.view.redact_text
        return manage_file(file, self.queue, facts, request, services.token_counter, redact=redact)

    def watched(self) -> list[Path]:
        """The files of the setting `[memory_file] files`, whether they exist or not.

        What is named inside the vault stays inside: anyone who can write the vault could put a
        link to another file of the user in its place.
        """
        settings, found = self._settings, []
        for each in settings.files:
            path = self._root / Path(each).expanduser()
            files = find_memory_files([path], include=settings.include, exclude=settings.exclude)
            if Path(os.path.normpath(path)).is_relative_to(self._root):
                outside = [file for file in files if not file.is_relative_to(self._root)]
                files = [file for file in files if file not in outside]
                if outside:
                    _log.warning("%s leads out of the vault and is not followed", path)
            found += files
        return sorted(set(found))

    def follow(
        self, changed: Iterable[str | Path] | None, *, agent: str | None
    ) -> MemoryFileReport | None:
        """Sync the watched files that changed, or all; None when there are none."""
        agent = self._settings.agent or agent
        watched = self.watched()
        if changed is not None:
            names = {os.path.realpath(each) for each in changed}
            watched = [each for each in watched if str(each) in names]
        watched = [each for each in watched if each.exists() or self._was_synced(each, agent)]
        if not watched:
            return None
        return self.sync(watched, FileSyncRequest(agent=agent, scope=self._settings.scope or None))

    def file(self, path: Path) -> DiskMemoryFile:
        """The memory file at a path."""
        return DiskMemoryFile(path, portable_name(path, self._root))

    def _nothing_found(self, folder: Path) -> Notice:
        name = portable_name(Path(os.path.realpath(folder)), self._root)
        why = f"{name} has no memory file; nothing was synced from it"
        hint = "in a folder, MEMORY.md is read; name the file, or choose others with --include"
        return memory_file_notice("NoMemoryFile", name, why, hint)

    def _was_synced(self, path: Path, agent: str | None) -> bool:
        state = read_states(self.file(path).state()).files.get(state_key(path.name, agent))
        return state is not None and bool(state.sections)

    def _write_notes(self, fact_ids: Sequence[str], progress: Progress | None) -> str | None:
        """Write notes and indexes of new facts, unless another engine does it; returns the run."""
        request = SyncRequest.for_facts(fact_ids, "memory-file", guarded=False)
        try:
            done = self._engine.sync(request, progress=progress)
        except EngineBusyError:
            return None  # that engine writes them
        except (VaultsyncError, OSError) as error:
            # The facts are in the store; the next run says what is wrong.
            _log.debug("the next run writes the notes of a memory file: %s", error)
            return None
        return None if done.quiet else done.run

    def _without_vectors(self, fact_ids: Sequence[str]) -> Sequence[str]:
        vectors = self._services.vector_index
        if vectors is None:
            return ()
        store, index = self._engine.ctx.redacted_store, self._services.note_index
        return facts_without_vectors(store, index, vectors, fact_ids)


def portable_name(path: Path, root: Path) -> str:
    """What a file is known by: relative to the vault, else to the home, else absolute.

    Vault and home may be elsewhere on another machine.
    """
    for base, prefix in ((root, "./"), (Path.home().resolve(), "~/")):
        if path.is_relative_to(base):
            name = prefix + path.relative_to(base).as_posix()
            break
    else:
        name = path.as_posix()
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in name)
