"""What agents write into memory files, so that a person's save always stands.

A text is kept in the queue before the file is touched, and leaves it when it is in the
file. When the file is taken, or a person saves it at the same moment, the text waits
there; the next sync writes it. The log keeps every text for good.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from hashlib import sha256
from shlex import quote

from vaultsync.errors import (
    MemoryFileBusyError,
    MemoryFileChangedError,
    MemoryFileError,
    UnreadableMemoryFileError,
    UsageError,
    VaultsyncError,
)
from vaultsync.memory_files.edit import insert_section
from vaultsync.memory_files.ports import MemoryFile, QueuedText, WriteQueue
from vaultsync.memory_files.read import decode
from vaultsync.memory_files.report import AddResult
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import Value
from vaultsync.storage.archive import Notice
from vaultsync.storage.clock import Clock

WRITTEN, UNCHANGED, QUEUED = "written", "unchanged", "queued"
MAX_MEMORY_FILE_BYTES = 5 << 20
"""Bytes of a file that agents write into."""
LOCK_TIMEOUT = 5.0
"""Seconds to wait for the lock (seed 000)."""


def queue_text(
    clock: Clock,
    file: MemoryFile,
    queue: WriteQueue,
    *,
    section: str,
    text: str,
    replace_all: bool,
    agent: str | None,
) -> AddResult:
    """Write a text into the agents' section of a file, or keep it until that can be.

    Raises:
        InvalidFieldError: no section can hold it.
        UnreadableMemoryFileError: the file is no text, or cannot be written.
    """
    at = clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
    op = clock.new_id()
    item = QueuedText(op, file.name, section, text, replace_all, agent, at)
    insert_section("", section, text, replace=replace_all)  # see that it can be written
    queue.put(item)
    try:
        with file.lock(LOCK_TIMEOUT):
            ends = _drain(file, queue)
        # What is not there any more was written by another agent's call meanwhile.
        ended = ends.get(op) or AddResult(item.name, section, WRITTEN)
    except MemoryFileBusyError as error:
        ended = error
        _log(queue, item, QUEUED, error.message)
    if isinstance(ended, AddResult):
        return ended
    if isinstance(ended, (MemoryFileBusyError, MemoryFileChangedError)):
        return AddResult(item.name, section, QUEUED, ended.message)
    if isinstance(ended, UsageError):
        queue.drop(op)
    raise ended


def drain_write_queue(file: MemoryFile, queue: WriteQueue) -> int:
    """Write what waits for a file, and put right what a crash left; returns how many.

    To be called under the file's lock. What cannot be written yet goes on waiting.
    """
    ends = _drain(file, queue).values()
    return sum(isinstance(end, AddResult) and end.status == WRITTEN for end in ends)


def files_with_queue(queue: WriteQueue) -> list[Notice]:
    """Which files texts wait for, and what writes them."""
    many = Counter(each.name for each in queue.waiting())
    return [
        Notice(
            QUEUED,
            VaultPath(name),
            f"{n} text{'s' * (n > 1)} of agents wait{'s' * (n == 1)} to be written into this file",
            f"`vaultsync memory-file sync {quote(name)}` writes {'it' if n == 1 else 'them'}",
        )
        for name, n in sorted(many.items())
    ]


def _drain(file: MemoryFile, queue: WriteQueue) -> dict[str, AddResult | VaultsyncError]:
    """What became of each text that waited, by op."""
    _recover(file, queue)
    ends: dict[str, AddResult | VaultsyncError] = {}
    for item in queue.waiting(file.name):
        try:
            ends[item.op] = _write(file, queue, item)
        except (MemoryFileError, UsageError) as error:
            ends[item.op] = error
            if item.before or item.after:
                queue.put(replace(item, before=None, after=None))
            _log(queue, item, QUEUED, error.message)
    return ends


def _write(file: MemoryFile, queue: WriteQueue, item: QueuedText) -> AddResult:
    """Write one text.

    Raises:
        MemoryFileError, InvalidFieldError.
    """
    data = file.read(MAX_MEMORY_FILE_BYTES)
    text, broken = decode(data or b"", file.name)
    if broken:
        raise UnreadableMemoryFileError(file.name, "not all of it is UTF-8")
    mark = "\ufeff" if (data or b"").startswith(b"\xef\xbb\xbf") else ""
    made = insert_section(text, item.section, item.text, replace=item.replace)
    if made == text:
        queue.drop(item.op)
        _log(queue, item, UNCHANGED, "")
        return AddResult(file.name, item.section, UNCHANGED)
    new = (mark + made).encode()
    begun = replace(item, before=_sha(data or b""), after=_sha(new))
    queue.put(begun)
    try:
        file.replace(new, data)
    except MemoryFileChangedError as error:
        for saved in error.saved:
            _keep_bytes(file, queue, saved)
        raise
    _log(queue, item, WRITTEN, "")
    queue.drop(item.op)
    return AddResult(file.name, item.section, WRITTEN)


def _recover(file: MemoryFile, queue: WriteQueue) -> None:
    """Judge what a crash left: a save that was displaced unseen goes back."""
    left = file.leftovers()
    if not left:
        return
    known = {sha for item in queue.waiting(file.name) for sha in (item.before, item.after)}
    ours = {item.after for item in queue.waiting(file.name)}
    for data in left:
        if _sha(data) in known:
            continue
        _keep_bytes(file, queue, data)
        now = file.read(MAX_MEMORY_FILE_BYTES)
        if now is not None and _sha(now) in ours:
            try:
                file.replace(data, now)
            except MemoryFileChangedError as error:
                for saved in error.saved:
                    _keep_bytes(file, queue, saved)
    file.drop_leftovers()


def _keep_bytes(file: MemoryFile, queue: WriteQueue, data: bytes) -> None:
    """Keep a save that is in no file any more."""
    queue.log({"what": "kept", "file": file.name, "bytes": queue.keep(data)})


def _log(queue: WriteQueue, item: QueuedText, status: str, why: str) -> None:
    entry: dict[str, Value] = {
        "what": status,
        "file": item.name,
        "section": item.section,
        "text": item.text,
        "replace": item.replace,
        "agent": item.agent,
        "at": item.at,
        "why": why,
    }
    queue.log(entry)


def _sha(data: bytes) -> str:
    return sha256(data).hexdigest()
