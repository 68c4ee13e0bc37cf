"""Repair what a crash left, before every run: intents, staged and displaced files.

The staged file tells how far the write to the vault came: it holds the new bytes (not
written yet) or the displaced ones (written), or it is gone (created). The store is asked
whether it applied its write, whatever agents wrote since. The base then moves to what
both sides provably held; the run that follows does everything else.

A displaced file is what a write replaced. It is kept for a while, because an editor that
still has it open may save into it; every run checks for such a save.
"""

from __future__ import annotations

import hashlib
from collections.abc import Set as AbstractSet

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
    """Repair what a crash left, and examine displaced files.

    Args:
        ctx: the two sides and the archive.
        run: the run; the history records repairs as part of it.
        rescue: whether a save into a displaced file becomes the note now. It is merged
            with the store's version, which must not be older than the note.

    Returns:
        The facts that the run has to look at.
    """
    recheck: list[str] = []
    unrepaired: set[str] = set()
    for intent in ctx.archive.intents():
        recheck.append(intent.fact_id)
        try:
            _repair(ctx, intent, run)
        except StoreUnavailableError:
            unrepaired.add(intent.fact_id)  # until the store can be asked
    if rescue and not defer_when_many(ctx):
        recheck += examine_displaced_files(ctx, unrepaired)
        _sweep(ctx)
    return recheck


def _repair(ctx: SyncContext, intent: WriteIntent, run: str) -> None:
    staged = ctx.vault.staged(intent.op)
    here = ctx.find_file(intent.path)
    stored = _store_leg(ctx, intent)
    base: Base | None = None
    displaced: DisplacedFile | None = None
    dropped = False
    if intent.after is None:
        dropped = stored is not None and _is_gone(intent, staged, here)
        displaced = _keep_displaced(ctx, intent, staged)
    elif stored and _is_written(intent, staged, here):
        base = Base(stored.evolve(path=intent.path), intent.after, None)
    elif staged is not None and staged.sha == intent.after:
        base, displaced = _not_written(ctx, intent, staged, here, stored)
    elif staged is not None:
        base, displaced = _displaced(ctx, intent, staged, here, stored)
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
        # Another run may meanwhile have found the note missing, or back.
        places = {parent_folder(base.path if base is not None else intent.path)}
        ctx.archive.set_folders(dict.fromkeys(places, b""))
        if displaced is not None:
            ctx.archive.put_displaced_files([displaced])
        ctx.archive.drop_intents([intent.op])
    if displaced is None:
        ctx.vault.discard(intent.op)


def _done(
    ctx: SyncContext, intent: WriteIntent, base: Base | None, *, dropped: bool
) -> PlannedAction | None:
    """What the crashed run did, as far as both sides show, for the history."""
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
        # If note and fact existed before, it is unknown what each of them said.
        is_new = not _carries_id(ctx, intent)
        return done.evolve(do=ActionKind.CREATE_FACT, new_id=True) if is_new else None
    vault = _base_of_before(ctx, intent, old).fact
    edits = differing_keys(old.fact, vault)
    theirs = [key for key in differing_keys(old.fact, base.fact) if key not in edits]
    store = old.fact.replace(base.fact.values_at(theirs))
    return done.evolve(base=old.fact, vault=vault, store=store)


def _displaced_base(ctx: SyncContext, base: Base) -> list[Base]:
    """The base at the path that a note took: the crashed run had found its note missing."""
    there = ctx.archive.bases_in(parent_folder(base.path)).get(file_name_of(base.path))
    if there is None or there.fact.id == base.fact.id:
        return []
    return [there._replace(missing_since=ctx.now())]


def _half_made(ctx: SyncContext, intent: WriteIntent, here: NoteFile | None) -> Base | None:
    """The base of a new note whose fact was created, when one of the two changed since."""
    new = intent.before is not None and intent.after is not None
    if not new or ctx.archive.find_base(intent.fact_id) is not None:
        return None
    if ctx.store.last_write(intent.fact_id) is None or _carries_id(ctx, intent):
        # A note with its id was to be merged with an existing fact, and perhaps never
        # was: both sides never agreed on its text.
        return None
    written = here is not None and here.sha == intent.after
    sha = intent.after if written else intent.before
    return Base(intent.fact.evolve(path=intent.path, revision=""), sha or "", None)


def _is_written(intent: WriteIntent, staged: NoteFile | None, here: NoteFile | None) -> bool:
    """Whether the note has its new bytes, and nothing was displaced (yet).

    It was new, or an app wrote it in place, or only the fact was to be written.
    """
    if intent.before == intent.after:
        return True
    there = here is not None and here.sha == intent.after
    return there and (staged is None or staged.sha == intent.after)


def _is_gone(intent: WriteIntent, staged: NoteFile | None, here: NoteFile | None) -> bool:
    """Whether a note is gone that was to be deleted, or whose fact was.

    If the fact was to be deleted, the tombstone is ours, not an agent's: a note that is
    there was restored by the user since, and the run treats it so.
    """
    return intent.before is None or (staged is not None and here is None)


def _displaced(
    ctx: SyncContext,
    intent: WriteIntent,
    staged: NoteFile,
    here: NoteFile | None,
    stored: Fact | None,
) -> tuple[Base | None, DisplacedFile | None]:
    """The staged file is not what we staged: it was displaced, or torn by the crash."""
    with ctx.archive.transaction():
        ctx.archive.put_blobs({staged.sha: staged.data})
    if intent.before is None:
        return None, None
    if staged.sha == intent.before or (here and here.sha == intent.after):
        return _exchanged(ctx, intent, staged, stored)
    return _base_of_unwritten(ctx, intent, stored), None


def _store_leg(ctx: SyncContext, intent: WriteIntent) -> Fact | None:
    """The fact as the store held it after the intended write; None if it never did.

    If it changed since, the revision is empty or that of the intent.
    """
    if intent.after is None:
        return ctx.store.tombstone(intent.fact_id)
    current = ctx.store.find_many([intent.fact_id]).get(intent.fact_id)
    same = current and current.scope == intent.fact.scope
    if current and same and not differing_keys(current, intent.fact):
        return current
    ours = intent.fact.revision or ctx.store.was_applied(intent.fact_id, intent.op)
    return intent.fact if ours else None


def _base_of_before(ctx: SyncContext, intent: WriteIntent, old: Base) -> Base:
    """The base when the store holds what was merged and the vault what was read.

    It has the old revision, so that the store counts as changed since.
    """
    data = ctx.archive.blob(intent.before) if intent.before else None
    assert data is not None and intent.before  # noqa: S101, PT018 - they are kept
    before = base_note(ctx, old)
    now = read_note(data, intent.path)
    now = ctx.view.from_note(now, old.fact, intent.fact, before=before)
    ids = ctx.ids(before.links ^ now.links, intent.path)
    fact = apply_note_edits(old.fact, before, now, ids=ids)
    return Base(fact.evolve(path=intent.path, revision=old.fact.revision), intent.before, None)


def _base_of_unwritten(ctx: SyncContext, intent: WriteIntent, stored: Fact | None) -> Base | None:
    """The base of a note that was not written, if the store has what was merged."""
    if stored is None or intent.before is None:
        return None
    old = ctx.archive.find_base(intent.fact_id)
    if old is not None:
        # If the store was not written, both sides never agreed on what was read.
        changed = stored.revision != old.fact.revision
        return _base_of_before(ctx, intent, old) if changed else None
    if _carries_id(ctx, intent):
        return None
    return Base(stored.evolve(path=intent.path), intent.before, None)


def _carries_id(ctx: SyncContext, intent: WriteIntent) -> bool:
    """Whether the note has its own id, so that the run finds its fact."""
    data = ctx.archive.blob(intent.before or "")
    return data is not None and intent.fact_id.encode() in data


def _not_written(
    ctx: SyncContext,
    intent: WriteIntent,
    staged: NoteFile,
    here: NoteFile | None,
    stored: Fact | None,
) -> tuple[Base | None, DisplacedFile | None]:
    """The staged file is still ours. If the store has what was merged, the base moves."""
    if stored is None:
        return None, None  # the store is written first: the vault was not begun
    if here is not None and _is_torn(intent, staged, here):
        return _write_again(ctx, intent, here, stored)
    if ctx.archive.find_base(intent.fact_id) is None:
        return _finish_new(ctx, intent, stored)
    return _base_of_unwritten(ctx, intent, stored), None


def _is_torn(intent: WriteIntent, staged: NoteFile, here: NoteFile) -> bool:
    """Whether a power cut interrupted an app that was writing the note in place.

    The note is then the beginning of the new text, and ends where no editor would.
    """
    return (
        here.sha not in (intent.before, intent.after)
        and staged.data.startswith(here.data)
        and is_half_saved(staged.data, here.data)
    )


def _write_again(
    ctx: SyncContext, intent: WriteIntent, torn: NoteFile, stored: Fact
) -> tuple[Base | None, DisplacedFile | None]:
    """Complete a torn note with the text that was being written."""
    with ctx.archive.transaction():
        # It may be an editor's file, and the editor may go on writing to the displaced file.
        ctx.archive.put_blobs({torn.sha: torn.data})
    try:
        ctx.vault.exchange(intent.op, intent.path, torn.sha)
    except NoteError:
        return _base_of_unwritten(ctx, intent, stored), None
    record = _keep_displaced(ctx, intent, torn, held=torn.sha)
    return Base(stored.evolve(path=intent.path), intent.after or "", None), record


def _finish_new(
    ctx: SyncContext, intent: WriteIntent, stored: Fact
) -> tuple[Base | None, DisplacedFile | None]:
    """Give a new note its id, because its fact is in the store already.

    Otherwise it would become a second fact. If it was edited since, its base is what was
    read of it, and the run adds the edit and the id together.
    """
    if intent.before is None or intent.after is None:
        return None, None
    fact = stored.evolve(path=intent.path)
    try:
        ctx.vault.exchange(intent.op, intent.path, intent.before)
    except NoteError:
        return Base(fact, intent.before, None), None
    staged = ctx.vault.staged(intent.op)
    return Base(fact, intent.after, None), _keep_displaced(ctx, intent, staged)


def _keep_displaced(
    ctx: SyncContext, intent: WriteIntent, staged: NoteFile | None, *, held: str | None = None
) -> DisplacedFile | None:
    """The record of a displaced file; `held` is its sha if not the one of the intent."""
    if staged is None:
        return None
    due = ctx.clock.now().timestamp() + ctx.policy.linger_seconds
    was = held or intent.before or ""
    return DisplacedFile(intent.op, intent.fact_id, intent.path, was, due)


def _exchanged(
    ctx: SyncContext, intent: WriteIntent, displaced: NoteFile, stored: Fact | None
) -> tuple[Base | None, DisplacedFile | None]:
    """The swap was done: it displaced what was read, or a newer save."""
    record = _keep_displaced(ctx, intent, displaced)
    if displaced.sha != intent.before and swap_back(ctx, intent.op, intent.path, intent.after):
        return _base_of_unwritten(ctx, intent, stored), None
    if stored is None:
        return None, record
    assert intent.after is not None  # noqa: S101 - there were bytes to be written
    path = intent.fact.path or intent.path
    return Base(stored.evolve(path=path), intent.after, None), record


def _sweep(ctx: SyncContext) -> None:
    """Remove staged files that belong to no intent and no displaced file.

    The archive keeps their bytes: an editor may have saved into one before the archive
    was lost.
    """
    ops = ctx.vault.ops()
    if not ops:
        return
    known = {x.op for x in ctx.archive.intents()}
    known |= {x.op for x in ctx.archive.displaced_files()}
    unknown = [op for op in ops if op not in known]
    found = [file for op in unknown if (file := ctx.vault.staged(op))]
    if found:
        with ctx.archive.transaction():
            ctx.archive.put_blobs({file.sha: file.data for file in found})
    for op in unknown:
        ctx.vault.discard(op)


# ------------------------------------------------------------------ displaced files


FEW_DISPLACED = 200
"""Up to this many displaced files are examined by every run, more of them only when due."""
DISPLACED_WAIT_SETTING = "lingers_wait_until"
"""The setting that says until when they wait."""
MAX_EXAMINED = 500
"""How many displaced files one run examines: removing files is slow."""


def defer_when_many(ctx: SyncContext) -> bool:
    """Whether there are too many displaced files to examine any before they are due."""
    until = ctx.archive.setting(DISPLACED_WAIT_SETTING)
    if until is None:
        return False
    if ctx.clock.now().timestamp() < float(until):
        return True
    with ctx.archive.transaction():
        ctx.archive.set_setting(DISPLACED_WAIT_SETTING, None)
    return False


def swap_back(ctx: SyncContext, op: str, path: VaultPath, ours: str | None) -> bool:
    """Swap a save that we overwrote back into the note, if the note is still ours.

    Afterwards our text is staged; it is discarded once the archive knows of the swap.
    """
    try:
        ctx.vault.exchange(op, path, ours or "")
    except NoteError:
        return False
    return True


def examine_displaced_files(ctx: SyncContext, unrepaired: AbstractSet[str]) -> list[str]:
    """Examine displaced files: an editor may have saved into one after the swap.

    Those of `unrepaired` facts wait: the repair of an intent depends on the note's base.

    Returns:
        The facts whose notes were restored from such a save.
    """
    rescued: list[str] = []
    expired: list[DisplacedFile] = []
    now = ctx.clock.now().timestamp()
    for displaced in ctx.archive.displaced_files()[:MAX_EXAMINED]:
        if displaced.fact_id in unrepaired:
            continue
        due = now >= displaced.due
        file = ctx.vault.staged(displaced.op)
        # An emptied file is about to be written: it stays until it is due.
        if file is not None and file.sha != displaced.sha and file.data.strip():
            _adopt_late_save(ctx, displaced, file)
            rescued.append(displaced.fact_id)
            due = True
        if due or file is None:
            expired.append(displaced)
    if rescued:
        ctx.vault.sync()  # the save must be durable before its record goes
    if expired:
        with ctx.archive.transaction():
            ctx.archive.drop_displaced_files([each.op for each in expired])
        for displaced in expired:
            ctx.vault.discard(displaced.op)
    return rescued


def _adopt_late_save(ctx: SyncContext, displaced: DisplacedFile, file: NoteFile) -> None:
    """Make a save into a displaced file the note, and what the file was before the base.

    The note then counts as edited, and the store as changed, since `displaced.sha`; the
    run merges both.
    """
    with ctx.archive.transaction():
        ctx.archive.put_blobs({file.sha: file.data})
    base = ctx.archive.find_base(displaced.fact_id)
    before = ctx.archive.blob(displaced.sha)
    if base is not None and before is not None:
        rebased = _base_of_displaced(ctx, base, before, displaced)
        # Ours is staged already when a crash came after the swap.
        swapped = file.sha == base.sha
        if rebased is not None and (swapped or swap_back(ctx, displaced.op, base.path, base.sha)):
            ctx.vault.sync()
            with ctx.archive.transaction():
                ctx.archive.put_bases([rebased])
                ctx.archive.drop_displaced_files([displaced.op])
            return
    _save_as_new_note(ctx, displaced, file)


def _base_of_displaced(
    ctx: SyncContext, base: Base, before: bytes, displaced: DisplacedFile
) -> Base | None:
    try:
        then = read_note(before, base.path)
    except UnreadableNoteError:
        return None
    now = base_note(ctx, base)
    then = ctx.view.from_note(then, base.fact, before=now)
    ids = ctx.ids(then.links ^ now.links, base.path)
    fact = apply_note_edits(base.fact, now, then, ids=ids)
    return Base(fact.evolve(path=base.path, revision=""), displaced.sha, None)


def _save_as_new_note(ctx: SyncContext, displaced: DisplacedFile, file: NoteFile) -> None:
    """The note has changed since: the save becomes a note of its own beside it."""
    digest = hashlib.sha256(file.data).hexdigest()[:8]
    stem = displaced.path.removesuffix(".md")
    op = f"rescued-{digest}"
    ctx.vault.stage(op, file.data)
    ctx.vault.sync()
    try:
        ctx.vault.create(op, VaultPath(f"{stem} (saved {digest}).md"))
    except NoteExistsError:
        ctx.vault.discard(op)
