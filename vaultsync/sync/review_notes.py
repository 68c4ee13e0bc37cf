"""Write and remove review notes: those of conflicts and of proposals."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from vaultsync.errors import NoteChangedError, NoteError, NoteExistsError, NoteMissingError
from vaultsync.model.paths import VaultPath
from vaultsync.notes.conflict_note import CONFLICT_KIND
from vaultsync.notes.proposal_note import PROPOSAL_KIND, has_both_ticked
from vaultsync.notes.review_note import CONFLICT_SUFFIX, PROPOSAL_SUFFIX, review_id_in, review_path
from vaultsync.storage.archive import Notice
from vaultsync.storage.vault import NoteFile
from vaultsync.sync.context import ReadContext, SyncContext

NOT_REMOVED = "not_removed"
"""Kind of the notice of a settled review note that cannot be removed."""
_SETTLED = "settled_notes"
_SUFFIXES = {CONFLICT_KIND: CONFLICT_SUFFIX, PROPOSAL_KIND: PROPOSAL_SUFFIX}


def count_open_proposals(ctx: ReadContext) -> int:
    """How many proposals wait for an answer."""
    return sum(not each.outcome for each in ctx.archive.proposals())


def has_new_proposals(ctx: ReadContext) -> bool:
    """Whether a proposal waits for its note."""
    return any(each.note_path is None for each in ctx.archive.proposals() if not each.outcome)


def open_review_notes(ctx: ReadContext) -> frozenset[VaultPath]:
    """The paths of the notes of open conflicts and proposals."""
    conflicts = (each.conflict_path for each in ctx.archive.conflicts())
    proposals = (each.note_path for each in ctx.archive.proposals())
    return frozenset(path for path in (*conflicts, *proposals) if path is not None)


def unclear_answers(ctx: SyncContext) -> list[Notice]:
    """A notice for each open proposal in whose note both boxes are ticked."""
    notices = []
    for each in ctx.archive.proposals():
        if each.outcome or each.note_path is None:
            continue
        file = ctx.find_file(each.note_path)
        if file is not None and has_both_ticked(file.data.decode(errors="replace")):
            message = f"{each.note_path}: both boxes are ticked, so nothing was done"
            hint = "untick one of them, and save the note"
            notices.append(Notice("unclear_answer", each.note_path, message, hint))
    return notices


def create_review_note(
    ctx: SyncContext, kind: str, review_id: str, beside: VaultPath, data: bytes
) -> VaultPath:
    """Write the note of a conflict or proposal under a free name next to the note `beside` it.

    Idempotent, so that a crash is harmless.

    Returns:
        Its path.
    """
    op, suffix = f"{kind}-{review_id}", _SUFFIXES[kind]
    ctx.vault.stage(op, data)
    ctx.vault.sync()  # it must never be visible half-written
    occupied: frozenset[str] = frozenset()
    path = review_path(beside, suffix)
    while True:
        try:
            ctx.vault.create(op, path)
        except NoteExistsError:
            if is_review_note_of(ctx, path, kind, review_id):
                break
            occupied |= {path.casefold()}
            path = review_path(beside, suffix, taken=occupied, review_id=review_id)
        else:
            break
    ctx.vault.discard(op)
    return path


def is_review_note_of(ctx: SyncContext, path: VaultPath, kind: str, review_id: str) -> bool:
    """Whether the file at a path is the review note of a conflict or proposal."""
    file = ctx.find_file(path)
    return file is not None and review_id_in(file.data.decode(errors="replace"), kind) == review_id


def rewrite_review_note(ctx: SyncContext, review_id: str, path: VaultPath, data: bytes) -> bool:
    """Rewrite a review note in place; the archive keeps its former text.

    Returns:
        Whether it was written; False if it does not exist, or an editor is writing to it.
    """
    try:
        exchange_file(ctx, f"again-{review_id}", path, ctx.vault.read(path), data)
    except NoteError:
        return False
    return True


def exchange_file(ctx: SyncContext, op: str, path: VaultPath, file: NoteFile, data: bytes) -> None:
    """Replace an unchanged file that is not a fact's note; the archive keeps its old bytes.

    Raises:
        NoteChangedError: it was saved meanwhile; the save is kept.
    """
    ctx.keep(file.data)
    ctx.vault.stage(op, data)
    ctx.vault.sync()
    try:
        ctx.vault.exchange(op, path, file.sha)
    except NoteChangedError as changed:
        ctx.keep(*changed.displaced)
        raise
    finally:
        ctx.vault.discard(op)


def remove_review_note(ctx: SyncContext, review_id: str, path: VaultPath) -> None:
    """Remove a settled review note, or remember to do it; the archive keeps its bytes."""
    try:
        _remove_note(ctx, review_id, path)
    except NoteError:
        _remember_settled(ctx, {**_settled_notes(ctx), path: review_id})


def remove_settled_notes(ctx: SyncContext) -> list[Notice]:
    """Remove the settled review notes that could not be removed before.

    Returns:
        Why others still cannot.
    """
    settled = _settled_notes(ctx)
    remaining, notices, open_notes = {}, [], open_review_notes(ctx) if settled else ()
    for path, review_id in settled.items():
        is_there = any(is_review_note_of(ctx, path, kind, review_id) for kind in _SUFFIXES)
        if path in open_notes or not is_there:
            continue
        try:
            _remove_note(ctx, review_id, path)
        except NoteError as error:
            remaining[path] = review_id
            why = error.message.removeprefix(f"{path}: ")
            message = f"{path}: it is settled, but cannot be removed: {why}"
            hint = "change its permissions, or those of its folder; the next sync removes it"
            notices.append(Notice(NOT_REMOVED, path, message, hint))
    if remaining != settled:
        _remember_settled(ctx, remaining)
    return notices


def _settled_notes(ctx: SyncContext) -> dict[VaultPath, str]:
    """Path -> id of settled review notes that could not be removed."""
    return msgspec.json.decode(ctx.archive.setting(_SETTLED) or "{}", type=dict[VaultPath, str])


def _remember_settled(ctx: SyncContext, settled: Mapping[VaultPath, str]) -> None:
    ctx.set_setting(_SETTLED, msgspec.json.encode(settled).decode() if settled else None)


def _remove_note(ctx: SyncContext, review_id: str, path: VaultPath) -> None:
    """Remove a review note, if it is there and not that of another; the archive keeps its bytes.

    Raises NoteError where the system does not allow it.
    """
    op = f"settled-{review_id}"
    try:
        file = ctx.vault.read(path)
        text = file.data.decode(errors="replace")
        ids = {review_id_in(text, kind) for kind in _SUFFIXES} - {None}
        if ids - {review_id}:
            return  # the user had deleted it, and a later one has its name
        ctx.keep(file.data)
        ctx.vault.stage_removal(op, path, file.sha)
        ctx.vault.discard(op)
    except NoteChangedError as changed:
        ctx.keep(*changed.displaced)
        ctx.vault.discard(op)
    except NoteMissingError:
        return
