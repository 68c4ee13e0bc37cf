"""Notes that were adopted are given back to their authors, and taken again.

Only their ids leave them. First the archive forgets the bases, then the store buries the
facts, at last the ids go: a crash in between leaves notes with the ids of their facts,
which every pass takes in again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
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
"""How many notes share their waits for the disk."""


@dataclass(frozen=True, slots=True)
class _NoteSwap:
    """A note that is to get other bytes."""

    fact_id: str
    path: VaultPath
    op: str
    file: NoteFile
    data: bytes


def unadopt(
    ctx: SyncContext, fact_ids: Sequence[str], *, word: str
) -> tuple[dict[str, VaultPath], dict[str, str]]:
    """Take facts out of the store and their ids out of their notes.

    Returns the notes that are their authors' alone again, by fact, and why others are not.
    """
    given: dict[str, VaultPath] = {}
    refused: dict[str, str] = {}
    for start in range(0, len(fact_ids), NOTES_PER_FSYNC):
        some = fact_ids[start : start + NOTES_PER_FSYNC]
        bases = ctx.archive.find_bases(some)
        facts = ctx.store.find_many(some)
        swaps = list(_without_ids(ctx, some, bases, facts, refused))
        _stage(ctx, swaps)
        with ctx.archive.transaction():
            ctx.archive.drop_bases([each.fact_id for each in swaps])
            # Notes that keep their ids, should it end here, have to be seen.
            ctx.archive.set_folders({parent_folder(each.path): b"" for each in swaps})
        remember_unadopted(ctx, unadopted_paths(ctx) | {each.path for each in swaps})
        writes = [StoreWrite(x.fact_id, None, facts[x.fact_id].revision, word) for x in swaps]
        buried = []
        for each, result in zip(swaps, ctx.store.write(writes), strict=True):
            if isinstance(result, RevisionMismatch):
                refused[each.fact_id] = "an agent changes it just now"
                ctx.vault.discard(each.op)
                with ctx.archive.transaction():
                    ctx.archive.put_bases([bases[each.fact_id]])
            else:
                buried.append(each)
        refused |= _exchange(ctx, buried)
        given |= {x.fact_id: x.path for x in buried if x.fact_id not in refused}
    return given, refused


def readopt(ctx: SyncContext, notes: Mapping[str, VaultPath]) -> set[str]:
    """Put the ids of facts back into notes that were given back, where that can be done.

    The next pass finds notes with the ids of buried facts, and restores these.
    """
    swaps = list(_with_ids(ctx, notes))
    _stage(ctx, swaps)
    refused = _exchange(ctx, swaps)
    taken = {each.fact_id for each in swaps} - refused.keys()
    remember_unadopted(ctx, unadopted_paths(ctx) - {notes[each] for each in taken})
    return taken


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
            refused[fact_id] = "nothing is known of its note"
            continue
        if differing_keys(base.fact, fact):
            refused[fact_id] = "its note does not say yet what an agent made of it"
            continue
        try:
            file = ctx.vault.read(base.path)
            data = remove_id_line(read_note(file.data, base.path))
        except NoteError as trouble:
            refused[fact_id] = trouble.message
        else:
            yield _NoteSwap(fact_id, base.path, _op(ctx), file, data)


def _with_ids(ctx: SyncContext, notes: Mapping[str, VaultPath]) -> Iterator[_NoteSwap]:
    known = ctx.archive.paths()
    for fact_id, path in notes.items():
        try:
            file = ctx.vault.read(path)
            note = read_note(file.data, path)
            if note.id is None and path not in known:
                yield _NoteSwap(fact_id, path, _op(ctx), file, add_id_line(note, fact_id))
        except NoteError:
            continue  # it went elsewhere: the fact gets a note of its own


def _op(ctx: SyncContext) -> str:
    return ctx.clock.new_id().replace("-", "")


def _stage(ctx: SyncContext, swaps: Sequence[_NoteSwap]) -> None:
    for each in swaps:
        ctx.vault.stage(each.op, each.data)
    ctx.vault.sync()
    with ctx.archive.transaction():
        ctx.archive.put_blobs({each.file.sha: each.file.data for each in swaps})


def _exchange(ctx: SyncContext, swaps: Sequence[_NoteSwap]) -> dict[str, str]:
    """Put what is staged in the place of the notes; says why where it cannot be."""
    refused: dict[str, str] = {}
    lingers: list[DisplacedFile] = []
    kept: dict[str, bytes] = {}
    due = ctx.clock.now().timestamp() + ctx.policy.linger_seconds
    for each in swaps:
        try:
            ctx.vault.exchange(each.op, each.path, each.file.sha)
        except NoteError as trouble:
            refused[each.fact_id] = trouble.message
            if isinstance(trouble, NoteChangedError):
                kept |= {hashlib.sha256(x).hexdigest(): x for x in trouble.displaced}
        except PermissionError as denied:
            why = f"{each.path}: the note cannot be written: {denied.strerror}"
            refused[each.fact_id] = why
        else:
            lingers.append(DisplacedFile(each.op, each.fact_id, each.path, each.file.sha, due))
            continue
        ctx.vault.discard(each.op)
    ctx.vault.sync()
    with ctx.archive.transaction():
        ctx.archive.put_blobs(kept)
        ctx.archive.put_displaced_files(lingers)
        if len(lingers) == NOTES_PER_FSYNC:  # and more may follow
            ctx.archive.set_setting(DISPLACED_WAIT_SETTING, str(due))
    return refused
