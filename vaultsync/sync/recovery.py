"""What a crash left: intents, staged and displaced files. Run before every pass.

The staged file tells how far the vault's leg of an intent came: it holds what was to be
written (not yet), or what was displaced (done), or it is gone (created). The store is
asked whether it did its leg, whatever agents wrote on top of it since. The base is then
moved to what both sides provably held, and everything else is left to the pass that
follows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Set as AbstractSet
from dataclasses import replace

from vaultsync.errors import NoteError, NoteExistsError, StoreUnavailableError, UnreadableNoteError
from vaultsync.model.compare import differing_keys
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath, file_name_of, parent_folder
from vaultsync.notes.edits import apply_note_edits
from vaultsync.notes.parse import read_note
from vaultsync.storage.archive import Base, DisplacedFile, WriteIntent
from vaultsync.storage.vault import NoteFile
from vaultsync.sync.changes import is_half_saved
from vaultsync.sync.context import SyncContext
from vaultsync.sync.decision_table import ActionKind, PlannedAction
from vaultsync.sync.history import unrecorded_entries
from vaultsync.sync.identity import base_note
from vaultsync.sync.preconditions import HIGH_WATER_SETTING, newest_row_mark


def recover(ctx: SyncContext, run: str, *, rescue: bool = True) -> list[str]:
    """Repair what a crash left, and examine displaced files whose time is up.

    Returns the facts that the pass has to look at.

    Args:
        ctx: the sides.
        run: the pass; the history tells what it repairs as its own.
        rescue: whether a save into a displaced file becomes the note now. It is merged
            with what the store says: not while that may be older than the note.
    """
    again: list[str] = []
    open_ones: set[str] = set()
    for intent in ctx.archive.intents():
        again.append(intent.fact_id)
        try:
            _repair(ctx, intent, run)
        except StoreUnavailableError:
            open_ones.add(intent.fact_id)  # it stays until the store can be asked
    if rescue and not defer_when_many(ctx):
        again += examine_displaced_files(ctx, open_ones)
        _sweep(ctx)
    return again


def _repair(ctx: SyncContext, intent: WriteIntent, run: str) -> None:
    staged = ctx.vault.staged(intent.op)
    here = _read(ctx, intent.path)
    stored = _store_leg(ctx, intent)
    base: Base | None = None
    linger: DisplacedFile | None = None
    dropped = False
    if intent.after is None:
        dropped = stored is not None and _is_gone(intent, staged, here)
        linger = _keep_displaced(ctx, intent, staged)
    elif stored and _is_written(intent, staged, here):
        base = Base(_at(stored, intent.path), intent.after, None)
    elif staged is not None and staged.sha == intent.after:
        base, linger = _not_written(ctx, intent, staged, here, stored)
    elif staged is not None:
        base, linger = _displaced(ctx, intent, staged, here, stored)
    if base is None:
        base = _half_made(ctx, intent, here)
    done = _done(ctx, intent, base, dropped=dropped)
    ctx.vault.sync()
    newest = newest_row_mark(ctx)
    with ctx.archive.transaction():
        ctx.archive.set_setting(HIGH_WATER_SETTING, newest)
        ctx.archive.add_history(unrecorded_entries(ctx.archive, done, run, ctx.now()))
        if base is not None:
            ctx.archive.put_bases([*_displaced_base(ctx, base), base])
        if dropped:
            ctx.archive.drop_bases([intent.fact_id])
        # A pass may have seen meanwhile that no note is there any more, or one that was
        # put back.
        places = {parent_folder(base.path if base is not None else intent.path)}
        ctx.archive.set_folders(dict.fromkeys(places, b""))
        if linger is not None:
            ctx.archive.put_displaced_files([linger])
        ctx.archive.drop_intents([intent.op])
    if linger is None:
        ctx.vault.discard(intent.op)


def _done(
    ctx: SyncContext, intent: WriteIntent, base: Base | None, *, dropped: bool
) -> PlannedAction | None:
    """What the crashed pass did, as far as both sides tell, for the history."""
    old = ctx.archive.find_base(intent.fact_id)
    if dropped and old is not None:
        do = ActionKind.DELETE_FACT if intent.before is None else ActionKind.DELETE_NOTE
        return PlannedAction(do, old.fact.id, "", old.path, sha=old.sha, base=old.fact)
    if dropped or base is None:
        return None
    done = PlannedAction(ActionKind.MERGE, base.fact.id, "", base.path, merged=base.fact)
    if intent.before is None:
        return done.evolve(do=ActionKind.CREATE_NOTE, base=old.fact if old else None)
    if old is None:
        # Of a note and a fact that were there before, nobody knows what each of them said.
        made = not _carries_id(ctx, intent)
        return done.evolve(do=ActionKind.CREATE_FACT, new_id=True) if made else None
    said = _base_of_before(ctx, intent, old).fact
    edits = differing_keys(old.fact, said)
    theirs = [key for key in differing_keys(old.fact, base.fact) if key not in edits]
    store = old.fact.replace({key: base.fact.value(key) for key in theirs})
    return done.evolve(base=old.fact, vault=said, store=store)


def _displaced_base(ctx: SyncContext, base: Base) -> list[Base]:
    """The base whose place a note got: the pass that crashed had seen its own was gone."""
    there = ctx.archive.bases_in(parent_folder(base.path)).get(file_name_of(base.path))
    if there is None or there.fact.id == base.fact.id:
        return []
    return [there._replace(missing_since=ctx.now())]


def _half_made(ctx: SyncContext, intent: WriteIntent, here: NoteFile | None) -> Base | None:
    """The base of a new note whose fact came to be, while one of them was changed."""
    new = intent.before is not None and intent.after is not None
    if not new or ctx.archive.find_base(intent.fact_id) is not None:
        return None
    if ctx.store.last_write(intent.fact_id) is None or _carries_id(ctx, intent):
        # A note that bears its id was to be merged with a fact that was there already,
        # and may never have been: its text is no word that both sides gave.
        return None
    written = here is not None and here.sha == intent.after
    sha = intent.after if written else intent.before
    return Base(intent.fact.evolve(path=intent.path, revision=""), sha or "", None)


def _is_written(intent: WriteIntent, staged: NoteFile | None, here: NoteFile | None) -> bool:
    """Whether the note has its new bytes, and nothing was displaced (yet).

    It was new, or an app wrote into the note itself, or only the fact was to be written.
    """
    if intent.before == intent.after:
        return True
    there = here is not None and here.sha == intent.after
    return there and (staged is None or staged.sha == intent.after)


def _is_gone(intent: WriteIntent, staged: NoteFile | None, here: NoteFile | None) -> bool:
    """Whether a note that was to be taken away, or whose fact was to go, is gone.

    When a fact was to be deleted, the tombstone is ours, not an agent's: a note that is
    there (again) was put back by somebody since, and is looked at as such.
    """
    return intent.before is None or (staged is not None and here is None)


def _displaced(
    ctx: SyncContext,
    intent: WriteIntent,
    staged: NoteFile,
    here: NoteFile | None,
    stored: Fact | None,
) -> tuple[Base | None, DisplacedFile | None]:
    """The staged file is not ours (any more): displaced, or torn before it was written."""
    with ctx.archive.transaction():
        ctx.archive.put_blobs({staged.sha: staged.data})
    if intent.before is None:
        return None, None
    if staged.sha == intent.before or (here and here.sha == intent.after):
        return _exchanged(ctx, intent, staged, stored)
    return _base_of_unwritten(ctx, intent, stored), None


def _read(ctx: SyncContext, path: VaultPath) -> NoteFile | None:
    try:
        return ctx.vault.read(path)
    except NoteError:
        return None


def _store_leg(ctx: SyncContext, intent: WriteIntent) -> Fact | None:
    """What the store said of the fact when it said what the intent wanted.

    It may have been changed since: then it has no revision, or that of then.
    """
    if intent.after is None:
        return ctx.store.tombstone(intent.fact_id)
    current = ctx.store.find_many([intent.fact_id]).get(intent.fact_id)
    same = current and current.scope == intent.fact.scope
    if current and same and not differing_keys(current, intent.fact):
        return current
    ours = intent.fact.revision or ctx.store.was_applied(intent.fact_id, intent.op)
    return intent.fact if ours else None


def _at(fact: Fact, path: VaultPath) -> Fact:
    return fact.evolve(path=path)


def _base_of_before(ctx: SyncContext, intent: WriteIntent, old: Base) -> Base:
    """The base when the store holds what was merged and the vault what was read.

    Its revision is the old one, so that the store counts as changed since.
    """
    data = ctx.archive.blob(intent.before) if intent.before else None
    assert data is not None and intent.before  # noqa: S101, PT018 - they are kept
    before = base_note(ctx, old)
    now = read_note(data, intent.path)
    now = ctx.view.from_note(now, old.fact, intent.fact, before=before)
    ids = ctx.ids(before.links ^ now.links, intent.path)
    fact = apply_note_edits(old.fact, before, now, ids=ids)
    return Base(replace(fact, path=intent.path, revision=old.fact.revision), intent.before, None)


def _base_of_unwritten(ctx: SyncContext, intent: WriteIntent, stored: Fact | None) -> Base | None:
    """The base of a note that was not written, if the store has what was merged."""
    if stored is None or intent.before is None:
        return None
    old = ctx.archive.find_base(intent.fact_id)
    if old is not None:
        # When nobody wrote the store, what was read of the note is no word of both sides.
        changed = stored.revision != old.fact.revision
        return _base_of_before(ctx, intent, old) if changed else None
    if _carries_id(ctx, intent):
        return None
    return Base(_at(stored, intent.path), intent.before, None)


def _carries_id(ctx: SyncContext, intent: WriteIntent) -> bool:
    """Whether the note is known by its own id, so that the pass finds its fact."""
    data = ctx.archive.blob(intent.before or "")
    return data is not None and intent.fact_id.encode() in data


def _not_written(
    ctx: SyncContext,
    intent: WriteIntent,
    staged: NoteFile,
    here: NoteFile | None,
    stored: Fact | None,
) -> tuple[Base | None, DisplacedFile | None]:
    """The staged file is still ours. If the store has what was merged, it moves on."""
    if stored is None:
        return None, None  # the store's leg comes first: the vault's was not begun
    if here is not None and _is_torn(intent, staged, here):
        return _write_again(ctx, intent, here, stored)
    if ctx.archive.find_base(intent.fact_id) is None:
        return _finish_new(ctx, intent, stored)
    return _base_of_unwritten(ctx, intent, stored), None


def _is_torn(intent: WriteIntent, staged: NoteFile, here: NoteFile) -> bool:
    """Whether a power cut tore what an app was writing into the note itself.

    The note is the beginning of it then, and ends where no editor would end it.
    """
    return (
        here.sha not in (intent.before, intent.after)
        and staged.data.startswith(here.data)
        and is_half_saved(staged.data, here.data)
    )


def _write_again(
    ctx: SyncContext, intent: WriteIntent, torn: NoteFile, stored: Fact
) -> tuple[Base | None, DisplacedFile | None]:
    """Give a torn note what was being written; what is left of it was that anyway."""
    with ctx.archive.transaction():
        # It may be an editor's, who goes on to write into the file that is displaced.
        ctx.archive.put_blobs({torn.sha: torn.data})
    try:
        ctx.vault.exchange(intent.op, intent.path, torn.sha)
    except NoteError:
        return _base_of_unwritten(ctx, intent, stored), None
    linger = _keep_displaced(ctx, intent, torn, held=torn.sha)
    return Base(_at(stored, intent.path), intent.after or "", None), linger


def _finish_new(
    ctx: SyncContext, intent: WriteIntent, stored: Fact
) -> tuple[Base | None, DisplacedFile | None]:
    """A new note whose fact is in the store already: it must not be taken for another.

    It is given its id now. When it was edited since, what was read of it is its base, and
    the pass brings in the edit and the id together.
    """
    if intent.before is None or intent.after is None:
        return None, None
    fact = _at(stored, intent.path)
    try:
        ctx.vault.exchange(intent.op, intent.path, intent.before)
    except NoteError:
        return Base(fact, intent.before, None), None
    staged = ctx.vault.staged(intent.op)
    return Base(fact, intent.after, None), _keep_displaced(ctx, intent, staged)


def _keep_displaced(
    ctx: SyncContext,
    intent: WriteIntent,
    staged: NoteFile | None,
    *,
    held: str | None = None,
) -> DisplacedFile | None:
    """A file that was displaced is kept while an editor may still save into it.

    `held`: what it held, if that is not what the intent was to replace.
    """
    if staged is None:
        return None
    due = ctx.clock.now().timestamp() + ctx.policy.linger_seconds
    was = held or intent.before or ""
    return DisplacedFile(intent.op, intent.fact_id, intent.path, was, due)


def _exchanged(
    ctx: SyncContext, intent: WriteIntent, displaced: NoteFile, stored: Fact | None
) -> tuple[Base | None, DisplacedFile | None]:
    """The swap was done. What it displaced is what was read, or a save it ran over."""
    linger = _keep_displaced(ctx, intent, displaced)
    if displaced.sha != intent.before and swap_back(ctx, intent.op, intent.path, intent.after):
        return _base_of_unwritten(ctx, intent, stored), None
    if stored is None:
        return None, linger
    assert intent.after is not None  # noqa: S101 - there were bytes to be written
    path = intent.fact.path or intent.path
    return Base(_at(stored, path), intent.after, None), linger


def _sweep(ctx: SyncContext) -> None:
    """Remove staged files that no intent and no linger knows: nothing rests on them.

    Their bytes are kept: an editor may have saved into one before the archive was lost.
    """
    known = {x.op for x in ctx.archive.intents()}
    known |= {x.op for x in ctx.archive.displaced_files()}
    unknown = [op for op in ctx.vault.ops() if op not in known]
    found = [file for op in unknown if (file := ctx.vault.staged(op))]
    if found:
        with ctx.archive.transaction():
            ctx.archive.put_blobs({file.sha: file.data for file in found})
    for op in unknown:
        ctx.vault.discard(op)


# ------------------------------------------------------------------ displaced files


FEW_DISPLACED = 200
"""So many displaced files are looked into at every pass; more of them when due."""
DISPLACED_WAIT_SETTING = "lingers_wait_until"
"""The setting that says until when."""
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
    return Base(replace(fact, path=base.path, revision=""), linger.sha, None)


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
