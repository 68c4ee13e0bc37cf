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
from vaultsync.memory_files.read import notice
from vaultsync.memory_files.report import FileDone, MemoryFileReport
from vaultsync.memory_files.state import key_of, read_states, write_states
from vaultsync.memory_files.sync import Asked, FileSync, Room
from vaultsync.memory_files.write_queue import PATIENCE
from vaultsync.storage.archive import Attention
from vaultsync.sync.context import Mirror

FILES = 50
"""Files that are taken at once (seed 000); more are told about."""
MOST_FILES = 200
"""Files at which nothing is done at all."""


def sync_files(
    mirror: Mirror,
    files: Sequence[MemoryFile],
    asked: Asked,
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
    began = mirror.clock.monotonic()
    if len(files) >= MOST_FILES:
        raise TooManyFilesError(len(files), MOST_FILES - 1)
    notices: list[Attention] = []
    taken = sorted(files, key=lambda file: file.name)[:FILES]
    if len(taken) < len(files):
        why = f"of {len(files)} files the first {FILES} by name were taken"
        hint = "name the files, or narrow it down with --include and --exclude"
        notices.append(notice("TooManyFiles", taken[-1].name, why, hint))
    room = Room()
    done = []
    for file in taken:
        work = FileSync(mirror, file, asked, reader=reader, queue=queue, room=room)
        try:
            done.append(work.run())
        except MemoryFileError as error:
            if len(files) == 1 and not isinstance(error, UnreadableMemoryFileError):
                raise
            told = notice(type(error).__name__, file.name, error.message, error.hint)
            done.append(FileDone(file.name, attention=(told,)))
    seconds = mirror.clock.monotonic() - began
    return MemoryFileReport(done, asked.dry_run, seconds, notices)


def settle(
    files: Iterable[MemoryFile],
    asked: Asked,
    missing: Callable[[Sequence[str]], Sequence[str]],
) -> dict[str, list[str]]:
    """See which pending facts are embedded now; returns what still waits, by file.

    `missing` tells of some facts which of them lack vectors.
    """
    left: dict[str, list[str]] = {}
    for file in files:
        key = key_of(file.key, asked.agent)
        held = read_states(file.state()).files.get(key)
        if held is None or not held.pending:
            continue
        waits = list(missing(held.pending))
        left[file.name] = waits
        if waits != held.pending:
            # When somebody else works with the file now, the next sync looks again.
            with suppress(MemoryFileBusyError), file.lock(PATIENCE):
                states = read_states(file.state())
                now = states.files.get(key, held)
                still = [each for each in now.pending if each in waits]
                kept = msgspec.structs.replace(now, pending=still)
                file.put_state(write_states(states, key, kept))
    return left
