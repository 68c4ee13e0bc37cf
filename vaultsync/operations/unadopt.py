"""Undo the adoption of notes, and redo it.

Only the ids are removed from the notes: first the archive drops the bases, then the store
deletes the facts, and last the ids go. A crash in between leaves notes with the ids of their
facts, which the next run adopts again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from vaultsync.errors import NoteChangedError, NoteError
from vaultsync.model.compare import differing_keys
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath, parent_folder
from vaultsync.notes.parse import read_note
from vaultsync.notes.render import add_id_line, remove_id_line
from vaultsync.storage.archive import Base, DisplacedFile
from vaultsync.storage.store import RevisionMismatch, StoreWrite
from vaultsync.storage.vault import NoteFile
from vaultsync.sync.context import SyncContext
from vaultsync.sync.identity import remember_unadopted, unadopted_paths
from vaultsync.sync.recovery import DISPLACED_WAIT_SETTING, FEW_DISPLACED

NOTES_PER_FSYNC = FEW_DISPLACED
"""Notes per batch; each batch is flushed to disk together."""


@dataclass(frozen=True, slots=True)
class _NoteSwap:
    """A note whose bytes are to be replaced."""

    fact_id: str
    path: VaultPath
    op: str
    file: NoteFile
    data: bytes


def unadopt(
    ctx: SyncContext,
    fact_ids: Sequence[str],
    *,
    word: str,
    record: Callable[[Mapping[str, VaultPath]], None],
) -> tuple[dict[str, VaultPath], dict[str, str]]:
    """Delete adopted facts from the store, as the actor `word`, and their ids from their notes.

    `record` is called with the notes of each batch before they lose their ids, after which a
    crash would leave no other trace of the facts.

    Returns: the paths of the notes that are no facts any more, by fact id, and the reasons
        why the others still are.
    """
    released: dict[str, VaultPath] = {}
    refused: dict[str, str] = {}
    for start in range(0, len(fact_ids), NOTES_PER_FSYNC):
        batch = fact_ids[start : start + NOTES_PER_FSYNC]
        bases = ctx.archive.find_bases(batch)
        facts = ctx.store.find_many(batch)
        swaps = list(_without_ids(ctx, batch, bases, facts, refused))
        _stage(ctx, swaps)
        with ctx.archive.transaction():
            ctx.archive.drop_bases([each.fact_id for each in swaps])
            # If this is interrupted, the notes still have their ids and must be rescanned.
            ctx.archive.set_folders({parent_folder(each.path): b"" for each in swaps})
        remember_unadopted(ctx, unadopted_paths(ctx) | {each.path for each in swaps})
        writes = [StoreWrite(x.fact_id, None, facts[x.fact_id].revision, word) for x in swaps]
        deleted = []
        for each, result in zip(swaps, ctx.store.write(writes), strict=True):
            if isinstance(result, RevisionMismatch):
                refused[each.fact_id] = "an agent is changing it"
                ctx.vault.discard(each.op)
                with ctx.archive.transaction():
                    ctx.archive.put_bases([bases[each.fact_id]])
            else:
                deleted.append(each)
        record({each.fact_id: each.path for each in deleted})
        refused |= _exchange(ctx, deleted)
        released |= {x.fact_id: x.path for x in deleted if x.fact_id not in refused}
    return released, refused


def readopt(ctx: SyncContext, notes: Mapping[str, VaultPath]) -> set[str]:
    """Put the ids of deleted facts back into their notes where that is possible.

    The next run finds the ids and restores the facts.

    Returns: the ids that were put back.
    """
    swaps = list(_with_ids(ctx, notes))
    _stage(ctx, swaps)
    refused = _exchange(ctx, swaps)
    readopted = {each.fact_id for each in swaps} - refused.keys()
    remember_unadopted(ctx, unadopted_paths(ctx) - {notes[each] for each in readopted})
    return readopted


def _without_ids(
    ctx: SyncContext,
    fact_ids: Sequence[str],
    bases: Mapping[str, Base],
    facts: Mapping[str, Fact],
    refused: dict[str, str],
) -> Iterator[_NoteSwap]:
    for fact_id in fact_ids:
        base, fact = bases.get(fact_id), facts.get(fact_id)
        if base is None or fact is None:
            refused[fact_id] = "its note is unknown"
            continue
        if differing_keys(base.fact, fact):
            refused[fact_id] = "an agent changed it, and its note is not updated yet"
            continue
        try:
            file = ctx.vault.read(base.path)
            data = remove_id_line(read_note(file.data, base.path))
        except NoteError as error:
            refused[fact_id] = error.message
        else:
            yield _NoteSwap(fact_id, base.path, _op(ctx), file, data)


def _with_ids(ctx: SyncContext, notes: Mapping[str, VaultPath]) -> Iterator[_NoteSwap]:
    adopted_paths = ctx.archive.paths()
    for fact_id, path in notes.items():
        try:
            file = ctx.vault.read(path)
            note = read_note(file.data, path)
            if note.id is None and path not in adopted_paths:
                yield _NoteSwap(fact_id, path, _op(ctx), file, add_id_line(note, fact_id))
        except NoteError:
            continue  # it moved or cannot be read: the fact gets a new note


def _op(ctx: SyncContext) -> str:
    return ctx.clock.new_id().replace("-", "")


def _stage(ctx: SyncContext, swaps: Sequence[_NoteSwap]) -> None:
    for each in swaps:
        ctx.vault.stage(each.op, each.data)
    ctx.vault.sync()
    with ctx.archive.transaction():
        ctx.archive.put_blobs({each.file.sha: each.file.data for each in swaps})


def _exchange(ctx: SyncContext, swaps: Sequence[_NoteSwap]) -> dict[str, str]:
    """Replace the notes by the staged files; returns the reasons where that failed."""
    refused: dict[str, str] = {}
    displaced: list[DisplacedFile] = []
    blobs: dict[str, bytes] = {}
    due = ctx.clock.now().timestamp() + ctx.policy.linger_seconds
    for each in swaps:
        if each.data == each.file.data:  # the note was read-only, and has no id yet
            ctx.vault.discard(each.op)
            continue
        try:
            ctx.vault.exchange(each.op, each.path, each.file.sha)
        except NoteError as error:
            refused[each.fact_id] = error.message
            if isinstance(error, NoteChangedError):
                blobs |= {hashlib.sha256(x).hexdigest(): x for x in error.displaced}
        else:
            displaced.append(DisplacedFile(each.op, each.fact_id, each.path, each.file.sha, due))
            continue
        ctx.vault.discard(each.op)
    ctx.vault.sync()
    with ctx.archive.transaction():
        ctx.archive.put_blobs(blobs)
        ctx.archive.put_displaced_files(displaced)
        if len(displaced) == NOTES_PER_FSYNC:  # a full batch: more may follow
            ctx.archive.set_setting(DISPLACED_WAIT_SETTING, str(due))
    return refused
