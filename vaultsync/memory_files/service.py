"""Memory files -> facts, in one direction: each file is the authority for its facts.

A file is read whole, its sections are matched with the facts that came from it, and what
the file says anew is written to the store, where every write names what it replaces. The
notes follow as those of any fact do. The file itself is never written here, but for what
agents had wanted to write into it while they could not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

import msgspec

from vaultsync.errors import (
    MemoryFileBusyError,
    MemoryFileError,
    TooManyFilesError,
    UnreadableMemoryFileError,
)
from vaultsync.memory_files.ports import MemoryFile, MetadataReader, WriteQueue
from vaultsync.memory_files.read import memory_file_notice
from vaultsync.memory_files.report import FileResult, MemoryFileReport, counts_of, report_of_files
from vaultsync.memory_files.state import read_states, state_key, write_states
from vaultsync.memory_files.sync import FileSync, FileSyncRequest, SizeBudget
from vaultsync.memory_files.write_queue import LOCK_TIMEOUT
from vaultsync.storage.archive import Notice
from vaultsync.sync.context import SyncContext
from vaultsync.sync.report import notices_of

MAX_FILES_TAKEN = 50
"""Files that are taken at once (seed 000); more are told about."""
MAX_FILES = 200
"""Files at which nothing is done at all."""


def sync_files(
    ctx: SyncContext,
    files: Sequence[MemoryFile],
    asked: FileSyncRequest,
    *,
    reader: MetadataReader,
    queue: WriteQueue,
) -> MemoryFileReport:
    """Bring the store up to what the files say.

    What is wrong with one file is told, and the others go on; with a single file that is
    neither there nor known it is an error.

    Raises:
        TooManyFilesError, StoreUnavailableError, ScopeDeniedError.
        MemoryFileMissingError, MemoryFileBusyError: of a single file.
    """
    began = ctx.clock.monotonic()
    if len(files) >= MAX_FILES:
        raise TooManyFilesError(len(files), MAX_FILES - 1)
    notices: list[Notice] = []
    taken = sorted(files, key=lambda file: file.name)[:MAX_FILES_TAKEN]
    if len(taken) < len(files):
        why = f"of {len(files)} files the first {MAX_FILES_TAKEN} by name were taken"
        hint = "name the files, or narrow it down with --include and --exclude"
        notices.append(memory_file_notice("TooManyFiles", taken[-1].name, why, hint))
    room = SizeBudget()
    done = []
    for file in taken:
        work = FileSync(ctx, file, asked, reader=reader, queue=queue, room=room)
        try:
            done.append(work.run())
            notices += work.notices
        except MemoryFileError as error:
            if len(files) == 1 and not isinstance(error, UnreadableMemoryFileError):
                raise
            told = memory_file_notice(type(error).__name__, file.name, error.message, error.hint)
            notices.append(told)
            done.append(FileResult(file.name, 0, counts_of(())))
    seconds = ctx.clock.monotonic() - began
    attention = notices_of(notices)
    return report_of_files(done, attention, dry_run=asked.dry_run, seconds=seconds)


def refresh_pending(
    files: Iterable[MemoryFile],
    asked: FileSyncRequest,
    missing: Callable[[Sequence[str]], Sequence[str]],
) -> dict[str, list[str]]:
    """See which pending facts are embedded now; returns what still waits, by file.

    `missing` tells of some facts which of them lack vectors.
    """
    left: dict[str, list[str]] = {}
    for file in files:
        key = state_key(file.key, asked.agent)
        held = read_states(file.state()).files.get(key)
        if held is None or not held.pending:
            continue
        waits = list(missing(held.pending))
        left[file.name] = waits
        if waits != held.pending:
            # When somebody else works with the file now, the next sync looks again.
            with suppress(MemoryFileBusyError), file.lock(LOCK_TIMEOUT):
                states = read_states(file.state())
                now = states.files.get(key, held)
                still = [each for each in now.pending if each in waits]
                kept = msgspec.structs.replace(now, pending=still)
                file.put_state(write_states(states, key, kept))
    return left
