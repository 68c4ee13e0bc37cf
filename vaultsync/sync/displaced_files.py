"""Displaced files: an editor may save into one after its note was written.

They are kept until their time is up, and looked into by every pass.
"""

from __future__ import annotations

import hashlib
from collections.abc import Set as AbstractSet

from vaultsync.errors import NoteError, NoteExistsError, UnreadableNoteError
from vaultsync.model.paths import VaultPath
from vaultsync.notes.edits import apply_note_edits
from vaultsync.notes.parse import read_note
from vaultsync.storage.archive import Base, DisplacedFile
from vaultsync.storage.vault import NoteFile
from vaultsync.sync.context import SyncContext
from vaultsync.sync.identity import base_note
from vaultsync.sync.item import DISPLACED_WAIT_SETTING

MAX_EXAMINED = 500
"""How many displaced files one pass looks into: removing them takes the disk long."""


def defer_when_many(ctx: SyncContext) -> bool:
    """Whether so many displaced files linger that they are looked into when due only."""
    until = ctx.archive.setting(DISPLACED_WAIT_SETTING)
    if until is None:
        return False
    if ctx.clock.now().timestamp() < float(until):
        return True
    with ctx.archive.transaction():
        ctx.archive.set_setting(DISPLACED_WAIT_SETTING, None)
    return False


def swap_back(ctx: SyncContext, op: str, path: VaultPath, ours: str | None) -> bool:
    """Swap a save that we ran over back into the note, if the note is still ours.

    What is staged then is ours; it goes when the archive knows of the swap.
    """
    try:
        ctx.vault.exchange(op, path, ours or "")
    except NoteError:
        return False
    return True


def examine_displaced_files(ctx: SyncContext, open_ones: AbstractSet[str]) -> list[str]:
    """Look into displaced files: an editor may have saved into one after the swap.

    Not where an intent is open: how it is repaired depends on the note and its base.
    """
    again: list[str] = []
    over: list[DisplacedFile] = []
    now = ctx.clock.now().timestamp()
    for linger in ctx.archive.displaced_files()[:MAX_EXAMINED]:
        if linger.fact_id in open_ones:
            continue
        due = now >= linger.due
        file = ctx.vault.staged(linger.op)
        # One that was emptied is about to be written: it is left until it is due.
        if file is not None and file.sha != linger.sha and file.data.strip():
            _adopt_late_save(ctx, linger, file)
            again.append(linger.fact_id)
            due = True
        if due or file is None:
            over.append(linger)
    if again:
        ctx.vault.sync()  # what was rescued must last before its linger is forgotten
    if over:
        with ctx.archive.transaction():
            ctx.archive.drop_displaced_files([linger.op for linger in over])
        for linger in over:
            ctx.vault.discard(linger.op)
    return again


def _adopt_late_save(ctx: SyncContext, linger: DisplacedFile, file: NoteFile) -> None:
    """A save went into a displaced file: it becomes the note, the base what it was.

    The note then counts as edited since `linger.sha`, and the store as changed since, so
    that the pass merges both.
    """
    with ctx.archive.transaction():
        ctx.archive.put_blobs({file.sha: file.data})
    base = ctx.archive.find_base(linger.fact_id)
    before = ctx.archive.blob(linger.sha)
    if base is not None and before is not None:
        rebased = _base_of_displaced(ctx, base, before, linger)
        # Ours is staged already when a crash came after the swap.
        swapped = file.sha == base.sha
        if rebased is not None and (swapped or swap_back(ctx, linger.op, base.path, base.sha)):
            ctx.vault.sync()
            with ctx.archive.transaction():
                ctx.archive.put_bases([rebased])
                ctx.archive.drop_displaced_files([linger.op])
            return
    _save_as_new_note(ctx, linger, file)


def _base_of_displaced(
    ctx: SyncContext, base: Base, before: bytes, linger: DisplacedFile
) -> Base | None:
    try:
        then = read_note(before, base.path)
    except UnreadableNoteError:
        return None
    now = base_note(ctx, base)
    then = ctx.view.from_note(then, base.fact, before=now)
    ids = ctx.ids(then.links ^ now.links, base.path)
    fact = apply_note_edits(base.fact, now, then, ids=ids)
    return Base(fact.evolve(path=base.path, revision=""), linger.sha, None)


def _save_as_new_note(ctx: SyncContext, linger: DisplacedFile, file: NoteFile) -> None:
    """The note went on without it: the save becomes a note of its own, beside it."""
    digest = hashlib.sha256(file.data).hexdigest()[:8]
    stem = linger.path.removesuffix(".md")
    op = f"rescued-{digest}"
    ctx.vault.stage(op, file.data)
    ctx.vault.sync()
    try:
        ctx.vault.create(op, VaultPath(f"{stem} (saved {digest}).md"))
    except NoteExistsError:
        ctx.vault.discard(op)
