"""Write agents' texts to their own section of a memory file, or queue them.

Only a section with `<!-- vaultsync-managed -->` below its heading is changed. A section that the
user wrote stays as it is, and agents get their own one of the same name.

A text is queued before the file is touched, and leaves the queue when it is in the file. When
another process holds the lock, or the user saves the file at the same moment, the text stays
queued and the next sync writes it. The log keeps every text permanently.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from shlex import quote

from vaultsync.errors import (
    MemoryFileBusyError,
    MemoryFileChangedError,
    MemoryFileError,
    UnreadableMemoryFileError,
    UsageError,
    VaultsyncError,
)
from vaultsync.memory_files.ports import MemoryFile, QueuedText, WriteQueue
from vaultsync.memory_files.report import AddResult
from vaultsync.memory_files.section_edit import insert_section
from vaultsync.memory_files.sections import decode_exactly
from vaultsync.model.counts import count_noun
from vaultsync.model.paths import VaultPath
from vaultsync.storage.archive import Notice
from vaultsync.storage.clock import Clock, time_text

WRITTEN, UNCHANGED, QUEUED = "written", "unchanged", "queued"
MAX_MEMORY_FILE_BYTES = 5 << 20
"""Maximum size of a file that agents add to."""
LOCK_TIMEOUT = 5.0
"""Seconds to wait for the lock of a folder."""


def queue_text(
    clock: Clock,
    file: MemoryFile,
    queue: WriteQueue,
    *,
    section: str,
    text: str,
    replace_all: bool,
    agent: str | None,
    refit: Callable[[str], str] = str,
    has_facts: Callable[[], bool] = bool,
) -> AddResult:
    """Add a text to the agents' section of a file, or leave it in the queue.

    `refit` makes room for it, where the file has a limit. A missing file is created unless it
    `has_facts`: then it was deleted, and with one section it would seem to drop all others.

    Raises:
        InvalidFieldError: the text does not fit in one section.
        UnreadableMemoryFileError: the file is not text, or cannot be written.
    """
    at = time_text(clock.now(), "milliseconds")
    item = QueuedText(clock.new_id(), file.name, section, text, replace_all, agent, at)
    insert_section("", section, text, replace_all=replace_all)  # reject it before it is queued
    is_missing = file.read(MAX_MEMORY_FILE_BYTES) is None
    item = replace(item, creates=is_missing and not has_facts())
    queue.put(item)
    try:
        with file.lock(LOCK_TIMEOUT):
            result = _drain(file, queue, refit).get(item.op)
    except MemoryFileBusyError as error:
        _log_text(queue, item, QUEUED, error.message)
        return AddResult(item.name, section, QUEUED, error.message)
    if isinstance(result, MemoryFileChangedError):
        return AddResult(item.name, section, QUEUED, result.message)
    if isinstance(result, UsageError):
        queue.drop(item.op)
    elif isinstance(result, MemoryFileError):
        result.hint += "; the text is queued until the file can be written"
    if isinstance(result, VaultsyncError):
        raise result
    # A text that is not queued any more was written by another process meanwhile.
    return result or AddResult(item.name, section, WRITTEN)


def drain_write_queue(
    file: MemoryFile, queue: WriteQueue, refit: Callable[[str], str] = str
) -> int:
    """Write the queued texts of a file, and recover from a crash; returns how many were written.

    The caller holds the file's lock. A text that cannot be written yet stays queued.
    """
    results = _drain(file, queue, refit).values()
    return sum(isinstance(each, AddResult) and each.status == WRITTEN for each in results)


def path_in_command(name: str, vault: str) -> str:
    """The path of a file for a command in any folder: `./` begins the names of the vault's."""
    return vault + name[1:] if name.startswith("./") else name


def files_with_queue(queue: WriteQueue, vault: str) -> list[Notice]:
    """A notice for each file that has queued texts; `vault` is the path of the vault."""
    counts = Counter(each.name for each in queue.waiting())
    return [
        Notice(
            QUEUED,
            VaultPath(name),
            f"{count_noun(n, 'text')} of agents wait{'s' * (n == 1)} to be written into this file",
            f"`vaultsync memory-file sync {quote(path_in_command(name, vault))}` writes"
            f" {'it' if n == 1 else 'them'}",
        )
        for name, n in sorted(counts.items())
    ]


def _drain(
    file: MemoryFile, queue: WriteQueue, refit: Callable[[str], str]
) -> dict[str, AddResult | VaultsyncError]:
    """The result for each queued text, by op."""
    if file.has_leftovers():
        recover_crashed_write(file, queue)
    results: dict[str, AddResult | VaultsyncError] = {}
    for item in queue.waiting(file.name):
        try:
            results[item.op] = _write(file, queue, item, refit)
        except (MemoryFileError, UsageError) as error:
            results[item.op] = error
            _log_text(queue, item, QUEUED, error.message)
    return results


def _write(
    file: MemoryFile, queue: WriteQueue, item: QueuedText, refit: Callable[[str], str]
) -> AddResult:
    """Write one text, or raise a MemoryFileError or UsageError."""
    data = file.read(MAX_MEMORY_FILE_BYTES)
    if data is None and not item.creates:
        why = "it was deleted, so an agent's text was not written"
        hint = "put it back, or run `vaultsync memory-file sync` on it to forget its facts"
        raise UnreadableMemoryFileError(file.name, why, hint=hint)
    text, bom = decode_exactly(data, file.name)
    changed = insert_section(text, item.section, item.text, replace_all=item.replace)
    status = UNCHANGED if changed == text else WRITTEN
    if status == WRITTEN:
        replace_keeping(file, queue, bom + refit(changed).encode(), data)
    _log_text(queue, item, status, "")
    queue.drop(item.op)
    return AddResult(file.name, item.section, status)


def replace_keeping(file: MemoryFile, queue: WriteQueue, data: bytes, expect: bytes | None) -> None:
    """Replace the file; versions that were displaced and are in no file any more are kept.

    The caller holds the file's lock.
    """
    try:
        file.replace(data, expect)
    except MemoryFileChangedError as error:
        for version in error.saved:
            _keep_version(file, queue, version)
        file.drop_leftovers()
        raise


def recover_crashed_write(file: MemoryFile, queue: WriteQueue) -> None:
    """Put back a version of the user that a crashed write displaced, and keep it in the log.

    The caller holds the file's lock.
    """
    displaced = file.displaced()
    for data, _ in displaced:  # all of them before the next write, which may remove them
        _keep_version(file, queue, data)
    for data, put in displaced:
        if put is not None:
            with suppress(MemoryFileChangedError):  # the user saved a newer version, which stands
                replace_keeping(file, queue, data, put)
    file.drop_leftovers()


def _keep_version(file: MemoryFile, queue: WriteQueue, data: bytes) -> None:
    queue.log({"what": "kept", "file": file.name, "bytes": queue.keep(data)})


def _log_text(queue: WriteQueue, item: QueuedText, status: str, why: str) -> None:
    keys = ("section", "text", "replace", "agent", "at")
    values = {key: getattr(item, key) for key in keys}
    queue.log({"what": status, "file": item.name, **values, "why": why})
