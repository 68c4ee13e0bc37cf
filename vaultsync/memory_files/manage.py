"""Fill the managed block of a memory file with the most important facts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import NamedTuple

from vaultsync.context_packs.ports import TokenCounter
from vaultsync.errors import InvalidFieldError, MemoryFileChangedError
from vaultsync.memory_files.block_edits import BlockBases, BlockItem, WrittenBlock, without_removed
from vaultsync.memory_files.host_limits import HOST_LIMITS, host_of_file
from vaultsync.memory_files.managed_block import (
    BLOCK_FORMS,
    FULL,
    MARKS,
    BlockLimits,
    FilledBlock,
    block_body,
    by_worth,
    check_marks,
    count_lines,
    edited_lines,
    fill_block,
    find_managed_block,
    item_text,
)
from vaultsync.memory_files.ports import MemoryFile, WriteQueue
from vaultsync.memory_files.report import ManagedFile
from vaultsync.memory_files.sections import BOM, decode, decode_exactly, memory_file_notice
from vaultsync.memory_files.state import SOURCE_PREFIX
from vaultsync.memory_files.write_queue import (
    LOCK_TIMEOUT,
    MAX_MEMORY_FILE_BYTES,
    UNCHANGED,
    WRITTEN,
    recover_crashed_write,
    replace_keeping,
)
from vaultsync.model.fact import Fact
from vaultsync.model.hiding import is_pending_observation
from vaultsync.recall.recall_request import RecallRequest
from vaultsync.recall.result import RecallSources
from vaultsync.recall.service import RecallSearch
from vaultsync.storage.archive import Notice
from vaultsync.sync.report import ManagedFact, notices_of

DEFAULT_BLOCK_BUDGET = 2_000
"""Tokens."""
MAX_BLOCK_FACTS = 500
"""Maximum number of facts that are considered, the most important first."""
MAX_WRITE_TRIES = 5
"""How often writing the block is retried because the file was saved in the meantime."""
EDITED = "edited"


@dataclass(frozen=True, slots=True)
class ManageRequest:
    """How to fill a block."""

    budget: int | None = None
    """Tokens of the block; `DEFAULT_BLOCK_BUDGET` when it is None."""
    max_bytes: int | None = None
    """Of the whole file; the limit of the host when it is None, as for the lines."""
    max_lines: int | None = None
    host: str | None = None
    """The host; guessed from the name of the file if None."""
    form: str = FULL
    dry_run: bool = False

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            InvalidFieldError: a value that cannot be.
        """
        if self.form not in BLOCK_FORMS:
            raise InvalidFieldError("form", self.form, "one of " + ", ".join(BLOCK_FORMS))
        if self.host is not None and self.host not in HOST_LIMITS:
            raise InvalidFieldError("host", self.host, "one of " + ", ".join(HOST_LIMITS))
        for name in ("budget", "max_bytes", "max_lines"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InvalidFieldError(name, value, "a number from 1 on")


def facts_for_session(
    sources: RecallSources, request: RecallRequest, *, file_name: str
) -> list[Fact]:
    """The facts that a session should begin with, by worth: those of a question without words.

    Those that come from the file itself are in it already.
    """
    search = RecallSearch(sources, request, browse=True)
    search.answer()
    facts = [
        fact
        for fact in search.facts
        if fact.source != SOURCE_PREFIX + file_name and not is_pending_observation(fact)
    ]
    return by_worth(facts)


def has_managed_block(file: MemoryFile) -> bool:
    """Whether a file has the block, or at least one of its marks.

    Raises:
        UnreadableMemoryFileError: it cannot be read.
    """
    text, _ = decode(file.read(MAX_MEMORY_FILE_BYTES) or b"", file.name)
    return MARKS.begin in text or MARKS.end in text


def refit_block(
    text: str,
    name: str,
    request: ManageRequest,
    facts: Callable[[], Sequence[Fact]],
    tokens: TokenCounter,
) -> str:
    """The text of a file, with fewer facts in its block if it is over the limits of the file.

    The `text` has something new outside the block; `facts` returns them by worth.
    """
    _, limits = _limits(request, name)
    is_long = limits.max_lines is not None and count_lines(text) > limits.max_lines
    is_large = limits.max_bytes is not None and len(text.encode()) + len(BOM) > limits.max_bytes
    if find_managed_block(text) is None or not (is_long or is_large):
        return text
    found, form = facts(), request.form
    if edited_lines(text, found, form) is not None:
        return text
    return (
        fill_block(
            text, found, form=form, limits=limits, count=tokens.count, other_bytes=len(BOM)
        ).text
        or text
    )


def _limits(request: ManageRequest, name: str) -> tuple[str, BlockLimits]:
    """The host of a file, and the limits."""
    host = request.host or host_of_file(name)
    return host, BlockLimits(
        request.budget or DEFAULT_BLOCK_BUDGET,
        request.max_bytes or HOST_LIMITS[host].max_bytes,
        request.max_lines or HOST_LIMITS[host].max_lines,
    )


def edited_text(file: MemoryFile) -> str | None:
    """The text of a file whose block a person edited; None if it is as written, or not there.

    Raises:
        UnreadableMemoryFileError: the file cannot be read, or has half a block.
    """
    text, _ = _read(file, file.read(MAX_MEMORY_FILE_BYTES))
    body = None if text is None else block_body(text)
    return text if body is not None and body.edited else None


def manage_file(
    file: MemoryFile,
    queue: WriteQueue,
    facts: Callable[[], Sequence[Fact]],
    request: ManageRequest,
    tokens: TokenCounter,
    *,
    redact: Callable[[str], str],
    bases: Callable[[], BlockBases],
    record: Callable[[BlockBases], None],
    taken: str | None = None,
    renews: bool = False,
) -> ManagedFile:
    """Write the block of a file, and nothing else of it.

    A missing file is made. `facts` returns the facts by worth, as the agent may see them; those
    that were removed from the block, by `bases`, stay out. Both are called while no other process
    writes the block, or purges facts. `record` keeps what is known from now on, before the file
    is written. `redact` takes the secrets out of what is reported of the file, and `taken` is its
    text if the edits in it were taken over, so that it may be written. With `renews`, no command
    of the user asks for it, and a block of another vault that comes back is left alone.

    Raises:
        UnreadableMemoryFileError: the file is no text, cannot be written, or has half a block.
        MemoryFileBusyError: another process writes the files of this folder.
        MemoryFileChangedError: the file was saved again and again meanwhile.
    """
    host, limits = _limits(request, file.name)
    tries = 0
    while True:
        tries += 1
        try:
            with nullcontext() if request.dry_run else file.lock(LOCK_TIMEOUT):
                if file.has_leftovers() and not request.dry_run:
                    recover_crashed_write(file, queue)
                known = bases()
                shown, removed = without_removed(facts(), known)
                done = _prepare(file, shown, request, limits, tokens)
                if taken is not None and taken == done.text:
                    done = done._replace(edited=None)
                is_back = renews and done.after != done.before and _seal(done) in known.replaced
                if is_back:
                    done = done._replace(edited=[])
                if done.edited is None and not request.dry_run:
                    record(_bases_after(known, done, request.form, renews=renews))
                    _write(file, queue, done, keeps=taken is not None)
            break
        except MemoryFileChangedError as error:
            if tries == MAX_WRITE_TRIES:
                error.hint = "run the command again"
                raise
    filled, after = done.filled, done.after
    notices = []
    if done.edited is not None:
        edited = [(number, redact(line)) for number, line in done.edited]
        notices.append(_back_notice(file.name) if is_back else _edited_notice(file.name, edited))
        after, status = done.before, EDITED
        filled = FilledBlock(done.text, 0, (), ())
    else:
        status = UNCHANGED if after == done.before else WRITTEN
        if filled.left_out and not filled.taken:
            notices.append(_no_room_notice(file.name, filled.left_out[0][1]))
    return ManagedFile(
        file.name,
        status,
        request.dry_run,
        host,
        request.form,
        filled.tokens,
        limits.budget,
        tokens.name,
        len(after or b""),
        limits.max_bytes,
        count_lines(filled.text or ""),
        limits.max_lines,
        [ManagedFact(fact.id, fact.title, fact.path) for fact in filled.taken],
        [
            ManagedFact(fact.id, fact.title, fact.path, why)
            for fact, why in (*filled.left_out, *removed)
        ],
        notices_of(notices),
    )


class _Prepared(NamedTuple):
    """A file and its new content."""

    before: bytes | None
    text: str | None
    filled: FilledBlock
    after: bytes | None
    edited: Sequence[tuple[int, str]] | None


def _prepare(
    file: MemoryFile,
    facts: Sequence[Fact],
    request: ManageRequest,
    limits: BlockLimits,
    tokens: TokenCounter,
) -> _Prepared:
    data = file.read(MAX_MEMORY_FILE_BYTES)
    text, bom = _read(file, data)
    form = request.form
    filled = fill_block(
        text, facts, form=form, limits=limits, count=tokens.count, other_bytes=len(bom)
    )
    after = None if filled.text is None else bom + filled.text.encode()
    edited = None if text is None else edited_lines(text, facts, form)
    return _Prepared(data, text, filled, after, edited)


def _read(file: MemoryFile, data: bytes | None) -> tuple[str | None, bytes]:
    """The text of a file, and the byte order mark before it."""
    if data is None:
        return None, b""
    text, bom = decode_exactly(data, file.name)
    check_marks(text, file.name)
    return text, bom


def _seal(done: _Prepared) -> str:
    """The checksum in the block of a file before it is written; empty if there is none."""
    body = block_body(done.text or "")
    return "" if body is None else body.digest


def _bases_after(bases: BlockBases, done: _Prepared, form: str, *, renews: bool) -> BlockBases:
    """What is known of a block that is written next."""
    body = block_body(done.filled.text or "")
    if body is None:
        return bases
    items = (BlockItem(fact.id, item_text(fact, form)) for fact in done.filled.taken)
    block = WrittenBlock(body.digest, form, tuple(items))
    return bases.after_writing(block, over=_seal(done), renews=renews)


def _write(file: MemoryFile, queue: WriteQueue, done: _Prepared, *, keeps: bool) -> None:
    """Write a file if it changes; `keeps` the bytes of one that a person edited."""
    if done.after is None or done.after == done.before:
        return
    if keeps and done.before is not None:
        queue.log({"what": "edited", "file": file.name, "bytes": queue.keep(done.before)})
    replace_keeping(file, queue, done.after, done.before)


def _no_room_notice(name: str, reason: str) -> Notice:
    why = f"no fact fits into the managed block: {reason}"
    hint = "raise the limit, use `--form index`, or shorten the rest of the file"
    return memory_file_notice("NoRoom", name, why, hint)


def _back_notice(name: str) -> Notice:
    why = "another vault fills the managed block, too, so it was left alone"
    hint = "remove the block, sync both vaults, and run `vaultsync memory-file manage` for one"
    return memory_file_notice("SharedBlock", name, why, hint)


def _edited_notice(name: str, edited: Sequence[tuple[int, str]]) -> Notice:
    why = "the managed block was edited, and was not updated"
    if edited:
        why += ": " + "; ".join(f"line {number}: {line[:80]}" for number, line in edited)
    hint = "move what you wrote above or below the block, or into the fact's note; then remove"
    hint += " the block and run the command again"
    return memory_file_notice("EditedBlock", name, why, hint, edited[0][0] if edited else None)
