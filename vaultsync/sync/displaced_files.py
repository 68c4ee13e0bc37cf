"""Displaced files: an editor may save into one after its note was written.

They are kept until their time is up, and looked into by every pass.
"""

from __future__ import annotations

import hashlib
from collections.abc import Set as AbstractSet
from dataclasses import replace

from vaultsync.errors import NoteError, NoteExistsError, UnreadableNoteError
from vaultsync.model.paths import VaultPath
from vaultsync.notes.edits import edited
from vaultsync.notes.parse import read_note
from vaultsync.storage.archive import Base, Linger
from vaultsync.storage.vault import NoteFile
from vaultsync.sync.context import Mirror
from vaultsync.sync.identity import base_note
from vaultsync.sync.item import MANY_UNTIL

AT_ONCE = 500
"""How many displaced files one pass looks into: removing them takes the disk long."""


def wait_for_many(mirror: Mirror) -> bool:
    """Whether so many displaced files linger that they are looked into when due only."""
    until = mirror.archive.setting(MANY_UNTIL)
    if until is None:
        return False
    if mirror.clock.now().timestamp() < float(until):
        return True
    with mirror.archive.transaction():
        mirror.archive.set_setting(MANY_UNTIL, None)
    return False


def put_back(mirror: Mirror, op: str, path: VaultPath, ours: str | None) -> bool:
    """Swap a save that we ran over back into the note, if the note is still ours.

    What is staged then is ours; it goes when the archive knows of the swap.
    """
    try:
        mirror.vault.exchange(op, path, ours or "")
    except NoteError:
        return False
    return True


def examine_lingers(mirror: Mirror, open_ones: AbstractSet[str]) -> list[str]:
    """Look into displaced files: an editor may have saved into one after the swap.

    Not where an intent is open: how it is repaired depends on the note and its base.
    """
    again: list[str] = []
    over: list[Linger] = []
    now = mirror.clock.now().timestamp()
    for linger in mirror.archive.lingers()[:AT_ONCE]:
        if linger.fact_id in open_ones:
            continue
        due = now >= linger.due
        file = mirror.vault.staged(linger.op)
        # One that was emptied is about to be written: it is left until it is due.
        if file is not None and file.sha != linger.sha and file.data.strip():
            _rescue(mirror, linger, file)
            again.append(linger.fact_id)
            due = True
        if due or file is None:
            over.append(linger)
    if again:
        mirror.vault.sync()  # what was rescued must last before its linger is forgotten
    if over:
        with mirror.archive.transaction():
            mirror.archive.drop_lingers([linger.op for linger in over])
        for linger in over:
            mirror.vault.discard(linger.op)
    return again


def _rescue(mirror: Mirror, linger: Linger, file: NoteFile) -> None:
    """A save went into a displaced file: it becomes the note, the base what it was.

    The note then counts as edited since `linger.sha`, and the store as changed since, so
    that the pass merges both.
    """
    with mirror.archive.transaction():
        mirror.archive.put_blobs({file.sha: file.data})
    base = mirror.archive.find_base(linger.fact_id)
    before = mirror.archive.blob(linger.sha)
    if base is not None and before is not None:
        rebased = _rebased(mirror, base, before, linger)
        # Ours is staged already when a crash came after the swap.
        swapped = file.sha == base.sha
        if rebased is not None and (
            swapped or put_back(mirror, linger.op, base.path, base.sha)
        ):
            mirror.vault.sync()
            with mirror.archive.transaction():
                mirror.archive.put_bases([rebased])
                mirror.archive.drop_lingers([linger.op])
            return
    _save_beside(mirror, linger, file)


def _rebased(mirror: Mirror, base: Base, before: bytes, linger: Linger) -> Base | None:
    try:
        then = read_note(before, base.path)
    except UnreadableNoteError:
        return None
    now = base_note(mirror, base)
    then = mirror.lens.meant(then, base.fact, before=now)
    ids = mirror.ids(then.links ^ now.links, base.path)
    fact = edited(base.fact, now, then, ids=ids)
    return Base(replace(fact, path=base.path, revision=""), linger.sha, None)


def _save_beside(mirror: Mirror, linger: Linger, file: NoteFile) -> None:
    """The note went on without it: the save becomes a note of its own, beside it."""
    digest = hashlib.sha256(file.data).hexdigest()[:8]
    stem = linger.path.removesuffix(".md")
    op = f"rescued-{digest}"
    mirror.vault.stage(op, file.data)
    mirror.vault.sync()
    try:
        mirror.vault.create(op, VaultPath(f"{stem} (saved {digest}).md"))
    except NoteExistsError:
        mirror.vault.discard(op)
