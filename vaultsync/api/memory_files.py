"""Memory files: the part of `Memory` that keeps `MEMORY.md` and the store in step."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from vaultsync.api.mirroring import SyncMethods
from vaultsync.errors import EngineBusyError, VaultsyncError

if TYPE_CHECKING:
    from vaultsync.backends.filesystem.memory_file import DiskMemoryFile
    from vaultsync.memory_files.ports import WriteQueue
    from vaultsync.memory_files.report import AddResult, MemoryFileReport
    from vaultsync.memory_files.service import FileSyncRequest
    from vaultsync.sync.report import Progress, Status


class MemoryFileMethods(SyncMethods):
    """What people and agents keep in markdown files, as facts."""

    def sync_memory_file(
        self,
        *paths: str | Path,
        agent: str | None = None,
        scope: str | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        again: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> MemoryFileReport:
        """Bring the store up to what memory files say, section by section.

        The file is the authority and is not changed. Of a folder those files are taken
        that `include` names (`MEMORY.md`). With `again` the file says everything anew:
        what was done to its facts since does not stand.

        Raises:
            MemoryFileMissingError: a file that is not there, and was not before.
            TooManyFilesError, StoreUnavailableError, ScopeDeniedError.
        """
        from vaultsync.backends.filesystem.find_memory_files import find_memory_files
        from vaultsync.backends.filesystem.memory_file import FrontmatterReader
        from vaultsync.memory_files.service import FileSyncRequest, sync_files

        given = [Path(each).expanduser() for each in paths]
        found = find_memory_files(given, include=include, exclude=exclude)
        files = [self._memory_file(path) for path in found]
        asked = FileSyncRequest(
            agent=agent or self.agent,
            scope=scope,
            again=again,
            dry_run=dry_run,
            embeds=self._derived.embeds,
        )
        self._flush()
        report = sync_files(
            self._ctx, files, asked, reader=FrontmatterReader(), queue=self._write_queue()
        )
        if dry_run or not (report.fact_ids or report.pending):
            return report
        self._carry_on(report.fact_ids, progress)
        return self._settled(report, files, asked)

    def add_to_memory_file(
        self,
        path: str | Path,
        text: str,
        *,
        section: str,
        replace_all: bool = False,
        agent: str | None = None,
    ) -> AddResult:
        """Write a text into the agents' section of a memory file, then take it in.

        Only a section with `<!-- vaultsync-managed -->` is changed; there is a new one
        when there is none. A save of a person at the same moment stands, and the text
        waits in the queue for the next sync; the log keeps it in any case.

        Raises:
            InvalidFieldError: the text would be more than one section.
            UnreadableMemoryFileError: the file is no text, or cannot be written.
        """
        from vaultsync.memory_files.state import agents_of, read_states
        from vaultsync.memory_files.write_queue import QUEUED, queue_text

        file = self._memory_file(Path(os.path.realpath(Path(path).expanduser())))
        who = agent or self.agent
        added = queue_text(
            self._ctx.clock,
            file,
            self._write_queue(),
            # The file is no place for secrets, and neither are queue and log.
            section=self._ctx.view.redact_text(section),
            text=self._ctx.view.redact_text(text),
            replace_all=replace_all,
            agent=who,
        )
        if added.status == QUEUED:
            return added
        # It stays the memory of those whose memory it is; a new one is the writer's.
        owners = agents_of(read_states(file.state()), file.key) or [who]
        synced = [self._sync_of(file.path, owner) for owner in owners]
        return structs.replace(added, synced=synced[0])

    def _sync_of(self, path: Path, agent: str | None) -> MemoryFileReport:
        acting, self.agent = self.agent, agent
        try:
            return self.sync_memory_file(path)
        finally:
            self.agent = acting

    def status(self) -> Status:
        """What waits and what is wrong; changes nothing."""
        return self.with_queued(super().status())

    def with_queued(self, status: Status) -> Status:
        """A status, and the memory files that texts of agents wait for."""
        from vaultsync.memory_files.write_queue import files_with_queue
        from vaultsync.sync.report import notices_of

        waiting = notices_of(files_with_queue(self._write_queue()))
        return structs.replace(status, attention=(*status.attention, *waiting))

    def watched_memory_files(self) -> list[Path]:
        """The files of the setting `[memory_file] files`, there or not.

        For the daemon: these, and the folders they are in, are to be watched.
        """
        from vaultsync.backends.filesystem.find_memory_files import find_memory_files

        said = self.settings.memory_file
        given = [self.settings.root / Path(each).expanduser() for each in said.files]
        return find_memory_files(given, include=said.include, exclude=said.exclude)

    def follow_memory_files(
        self, changed: Iterable[str | Path] | None = None
    ) -> MemoryFileReport | None:
        """Sync those of the watched files that changed, or all; None when there are none.

        For the daemon's worker: what is wrong with a file is told in the report.

        Raises:
            StoreUnavailableError: the store is away; to be called again later.
        """
        watched = self.watched_memory_files()
        if changed is not None:
            names = {os.path.realpath(each) for each in changed}
            watched = [each for each in watched if str(each) in names]
        watched = [each for each in watched if each.exists() or self._is_known(each)]
        if not watched:
            return None
        said = self.settings.memory_file
        return self.sync_memory_file(*watched, agent=said.agent or None, scope=said.scope or None)

    def _is_known(self, path: Path) -> bool:
        """Whether a file that is gone was there at the last sync."""
        from vaultsync.memory_files.state import read_states, state_key

        agent = self.settings.memory_file.agent or self.agent
        held = read_states(self._memory_file(path).state())
        return state_key(path.name, agent) in held.files

    def _memory_file(self, path: Path) -> DiskMemoryFile:
        from vaultsync.backends.filesystem.memory_file import DiskMemoryFile

        return DiskMemoryFile(path, _name(path, self.settings.root))

    def _write_queue(self) -> WriteQueue:
        from vaultsync.backends.state.file_write_queue import FileWriteQueue

        return FileWriteQueue(self.settings.state_dir / "memory-files")

    def _carry_on(self, fact_ids: Sequence[str], progress: Progress | None) -> None:
        """Notes and indexes of what was written, unless another engine does it."""
        from vaultsync.operations.relink import sync_and_relink
        from vaultsync.sync.sync_request import SyncRequest

        request = SyncRequest.for_facts(fact_ids, "memory-file", guarded=False)
        try:
            with self._engine() as ctx:
                links = self._derived.links
                report = sync_and_relink(ctx, links, request, files=self._files, progress=progress)
                self._derived_from(ctx, report, progress)
        except (EngineBusyError, OSError):
            return  # the engine that has the vault follows the store
        except VaultsyncError:
            return  # the facts are in the store; the next pass says what is wrong

    def _settled(
        self, report: MemoryFileReport, files: Sequence[DiskMemoryFile], asked: FileSyncRequest
    ) -> MemoryFileReport:
        """The report with what still waits to be embedded."""
        if not asked.embeds:
            return report
        from vaultsync.memory_files.service import refresh_pending

        waits = refresh_pending(files, asked, self._unembedded)
        done = [
            structs.replace(file, pending=tuple(waits.get(file.name, ()))) for file in report.files
        ]
        pending = sum(len(file.pending) for file in done)
        return structs.replace(report, files=done, pending=pending)

    def _unembedded(self, fact_ids: Sequence[str]) -> Sequence[str]:
        """Those of some facts of which a text has no vector."""
        from vaultsync.indexing.embedding_texts import facts_without_vectors

        vectors, words = self._derived.vectors, self._derived.words
        if vectors is None:
            return ()
        return facts_without_vectors(self._ctx.redacted_store, words, vectors, fact_ids)


def _name(path: Path, root: Path) -> str:
    """What a file is known by: from the vault, else from the home, else from the root.

    A vault and a home may lie elsewhere on another machine.
    """
    for top, start in ((root, "./"), (Path.home().resolve(), "~/")):
        if path.is_relative_to(top):
            path_text = start + path.relative_to(top).as_posix()
            break
    else:
        path_text = path.as_posix()
    if path_text.isprintable():
        return path_text
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in path_text)
