"""Repair, before every run, what a crash left: intents, staged and displaced files.

The staged file shows how far the write to the vault got: it has the new bytes (not written
yet) or the displaced ones (written), or it is gone (created). The store is asked whether it
applied its write, even if agents wrote since. The base then becomes what both sides provably
had; the run that follows does everything else.

A displaced file is what a write replaced. It is kept for a while, because an editor that still
has it open may save into it; every run checks for such a save. If the system confirms that no
program has it open for writing, and the archive has its bytes, it is removed at once.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from vaultsync.errors import NoteError, NoteExistsError, StoreUnavailableError, UnreadableNoteError
from vaultsync.model.compare import differing_keys
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath, parent_folder
from vaultsync.notes.review_note import path_beside
from vaultsync.storage.archive import Base, DisplacedFile, RunRecord, WriteIntent
from vaultsync.storage.vault import NoteFile
from vaultsync.sync.changes import is_half_saved
from vaultsync.sync.context import SyncContext
from vaultsync.sync.decision_table import ActionKind, PlannedAction
from vaultsync.sync.history import record_changes, unrecorded_entries
from vaultsync.sync.identity import displaced_bases, fact_of_text
from vaultsync.sync.preconditions import HIGH_WATER_SETTING, newest_row_mark
from vaultsync.sync.report import counted

_log = logging.getLogger(__name__)
_REPAIRED = "a run that ended early had begun it"


def recover(
    ctx: SyncContext,
    run: str,
    interrupted: Sequence[WriteIntent],
    *,
    kind: str = "sync",
    rescue: bool = True,
) -> tuple[list[PlannedAction], list[str]]:
    """Repair the interrupted writes that a crash left, and examine displaced files.

    With `rescue`, a save into a displaced file becomes the note now. It is merged with the store's
    version, which must not be older than the note. What was repaired is recorded as done by the
    run, which is of a `kind`.

    Returns:
        The actions that both sides show as carried out, and the facts that the run must examine.
    """
    done: list[PlannedAction] = []
    recheck: list[str] = []
    unrepaired: set[str] = set()
    for intent in interrupted:
        recheck.append(intent.fact_id)
        try:
            action = _Repair(ctx, intent).apply(run, kind)
            done += [action] if action is not None else []
        except StoreUnavailableError:
            unrepaired.add(intent.fact_id)  # until the store is available
    if rescue:
        recheck += _examine_displaced_files(ctx, unrepaired)
        _discard_orphans(ctx)
    return done, recheck


class _Repair:
    """The repair of one intended write, by what exists of it."""

    def __init__(self, ctx: SyncContext, intent: WriteIntent) -> None:
        self.ctx, self.intent = ctx, intent
        self.staged = ctx.vault.staged(intent.op)
        self.here = ctx.find_file(intent.path)
        self.stored = self._stored_fact()
        self.old = ctx.archive.find_base(intent.fact_id)
        self.displaced: DisplacedFile | None = None
        self.dropped = False
        data = ctx.archive.blob(intent.before or "")
        self.carries_id = data is not None and intent.fact_id.encode() in data
        """Whether the note has its own id, so that the run finds its fact."""

    def apply(self, run: str, kind: str) -> PlannedAction | None:
        """Complete or withdraw the write, and record the resulting base.

        Returns:
            What was carried out by then, by the run that ended early or by this repair.
        """
        ctx, intent = self.ctx, self.intent
        base = self._base() or self._base_of_changed_new_note()
        action = self._done(base)
        ctx.vault.sync()
        newest, at = newest_row_mark(ctx), ctx.now()
        counts = counted(Counter(action.counted if action is not None else ()))
        record = RunRecord(run, at, kind, {"counts": counts})
        with ctx.archive.transaction():
            ctx.archive.set_setting(HIGH_WATER_SETTING, newest)
            record_changes(ctx.archive, record, unrecorded_entries(ctx.archive, action, run, at))
            if base is not None:
                # The crashed run had found the note missing at whose path this one is.
                ctx.archive.put_bases([base, *displaced_bases(ctx, [base])])
            if self.dropped:
                ctx.archive.drop_bases([intent.fact_id])
            # Another run may have found the note missing, or back, meanwhile.
            place = parent_folder(base.path if base is not None else intent.path)
            ctx.archive.set_folders({place: b""})
            if self.displaced is not None:
                ctx.archive.put_waiting([self.displaced])
            ctx.archive.drop_waiting([intent])
        if self.displaced is None:
            ctx.vault.discard(intent.op)
        return action

    def _stored_fact(self) -> Fact | None:
        """The fact as the store had it after the intended write; None if it never did.

        If it changed since, the revision is empty or that of the intent.
        """
        ctx, intent = self.ctx, self.intent
        if intent.after is None:
            return ctx.store.tombstone(intent.fact_id)
        current = ctx.store.find_many([intent.fact_id]).get(intent.fact_id)
        same = current and current.scope == intent.fact.scope
        if current and same and not differing_keys(current, intent.fact):
            return current
        ops = ctx.store.last_ops([intent.fact_id])
        is_applied = intent.fact.revision or ops.get(intent.fact_id) == intent.op
        return intent.fact if is_applied else None

    def _base(self) -> Base | None:
        """The base after the repair, as far as the store and the staged file show it."""
        intent, staged, here, stored = self.intent, self.staged, self.here, self.stored
        if intent.after is None:
            # If the fact was to be deleted, the tombstone is ours, not an agent's: an existing
            # note was restored by the user since, and the run treats it so.
            is_gone = intent.before is None or (staged is not None and here is None)
            self.dropped = stored is not None and is_gone
            self._keep_displaced(staged)
            return None
        if stored and self._is_written():
            return Base(stored.evolve(path=intent.path), intent.after, None)
        if staged is None:
            return None
        if staged.sha == intent.after:
            return self._base_if_not_exchanged(staged)
        # It is not the file that we staged: it was displaced, or torn by the crash.
        self.ctx.keep(staged.data)
        if intent.before is None:
            return None
        if staged.sha == intent.before or (here and here.sha == intent.after):
            return self._base_after_exchange(staged)
        return self._base_of_unwritten()

    def _done(self, base: Base | None) -> PlannedAction | None:
        """The action of the crashed run, as far as both sides show it, for the history."""
        old, intent = self.old, self.intent
        if self.dropped and old is not None:
            do = ActionKind.DELETE_FACT if intent.before is None else ActionKind.DELETE_NOTE
            return PlannedAction(do, old.fact.id, _REPAIRED, old.path, sha=old.sha, base=old.fact)
        if self.dropped or base is None:
            return None
        in_store, in_vault = not intent.fact.revision, intent.before != base.sha
        do = ActionKind.UPDATE_VAULT if in_vault else ActionKind.RECORD
        if in_store:
            do = ActionKind.MERGE if in_vault else ActionKind.UPDATE_STORE
        action = PlannedAction(do, base.fact.id, _REPAIRED, base.path, merged=base.fact)
        if intent.before is None:
            return action.evolve(do=ActionKind.CREATE_NOTE, base=old.fact if old else None)
        if old is None:
            # If note and fact existed before, their earlier values are unknown.
            is_new = not self.carries_id
            return action.evolve(do=ActionKind.CREATE_FACT, new_id=True) if is_new else None
        vault = self._base_of_before(old).fact
        edits = differing_keys(old.fact, vault)
        from_store = [key for key in differing_keys(old.fact, base.fact) if key not in edits]
        store = old.fact.replace(base.fact.values_at(from_store))
        return action.evolve(base=old.fact, vault=vault, store=store)

    def _base_of_changed_new_note(self) -> Base | None:
        """The base of a new note whose fact was created, if one of the two changed since."""
        intent = self.intent
        if intent.before is None or intent.after is None or self.old is not None:
            return None
        if self.ctx.store.last_write(intent.fact_id) is None or self.carries_id:
            # A note with its id was to be merged with an existing fact, which may not
            # have happened: its text never was the base.
            return None
        written = self.here is not None and self.here.sha == intent.after
        sha = intent.after if written else intent.before
        return Base(intent.fact.evolve(path=intent.path, revision=""), sha, None)

    def _is_written(self) -> bool:
        """Whether the note has its new bytes, and nothing was displaced (yet).

        It was new, or an app wrote it in place, or only the fact was to be written.
        """
        intent, staged, here = self.intent, self.staged, self.here
        if intent.before == intent.after:
            return True
        has_new_bytes = here is not None and here.sha == intent.after
        return has_new_bytes and (staged is None or staged.sha == intent.after)

    def _base_of_before(self, old: Base) -> Base:
        """The base if the store has the merged version and the vault the one that was read.

        It has the old revision, so that the store counts as changed since.
        """
        intent = self.intent
        data = self.ctx.archive.blob(intent.before) if intent.before else None
        assert data is not None and intent.before  # noqa: S101, PT018 - they are kept
        fact = fact_of_text(self.ctx, old, data, intent.path, intent.fact)
        return Base(fact.evolve(path=intent.path, revision=old.fact.revision), intent.before, None)

    def _base_of_unwritten(self) -> Base | None:
        """The base of a note that was not written, if the store has the merged version."""
        stored, old, intent = self.stored, self.old, self.intent
        if stored is None or intent.before is None:
            return None
        if old is not None:
            # If the store was not written, the text that was read never was the base.
            changed = stored.revision != old.fact.revision
            return self._base_of_before(old) if changed else None
        if self.carries_id:
            return None
        return Base(stored.evolve(path=intent.path), intent.before, None)

    def _base_if_not_exchanged(self, staged: NoteFile) -> Base | None:
        """The base if the staged file is still ours: a new one if the store was written."""
        here, stored = self.here, self.stored
        if stored is None:
            return None  # the store is written first, so the vault was not touched
        if here is not None and self._is_torn(staged, here):
            return self._rewrite_torn(here, stored)
        return self._add_id_to_new_note(stored) if self.old is None else self._base_of_unwritten()

    def _is_torn(self, staged: NoteFile, here: NoteFile) -> bool:
        """Whether a power cut interrupted an app that was writing the note in place.

        The note is then the beginning of the new text, truncated where no editor would.
        """
        return (
            here.sha not in (self.intent.before, self.intent.after)
            and staged.data.startswith(here.data)
            and is_half_saved(staged.data, here.data)
        )

    def _rewrite_torn(self, torn: NoteFile, stored: Fact) -> Base | None:
        """Complete a torn note with the text that was being written."""
        intent = self.intent
        # It may be an editor's file, and the editor may continue to write to it.
        self.ctx.keep(torn.data)
        if not _try_exchange(self.ctx, intent.op, intent.path, torn.sha):
            return self._base_of_unwritten()
        self._keep_displaced(torn, sha=torn.sha)
        return Base(stored.evolve(path=intent.path), intent.after or "", None)

    def _add_id_to_new_note(self, stored: Fact) -> Base | None:
        """Give a new note its id, because its fact is already in the store.

        Otherwise it would become a second fact. If it was edited since, the run adds the edit
        and the id together.
        """
        intent = self.intent
        if intent.before is None or intent.after is None:
            return None
        if not _try_exchange(self.ctx, intent.op, intent.path, intent.before):
            return self._base_of_unwritten()
        self._keep_displaced(self.ctx.vault.staged(intent.op))
        return Base(stored.evolve(path=intent.path), intent.after, None)

    def _base_after_exchange(self, displaced: NoteFile) -> Base | None:
        """The base after a completed exchange, which displaced what was read, or a newer save."""
        intent, stored, written_sha = self.intent, self.stored, self.intent.after or ""
        is_newer = displaced.sha != intent.before
        # A newer save is restored if the note is still ours; our text is then staged again.
        if is_newer and _try_exchange(self.ctx, intent.op, intent.path, written_sha):
            return self._base_of_unwritten()
        self._keep_displaced(displaced)
        if stored is None:
            return None
        return Base(stored.evolve(path=intent.fact.path or intent.path), written_sha, None)

    def _keep_displaced(self, file: NoteFile | None, *, sha: str | None = None) -> None:
        """Keep a displaced file; `sha` is its sha if not the one of the intent."""
        if file is not None:
            intent = self.intent
            due = self.ctx.clock.now().timestamp() + self.ctx.policy.linger_seconds
            file_sha = sha or intent.before or ""
            self.displaced = DisplacedFile(intent.op, intent.fact_id, intent.path, file_sha, due)


def _try_exchange(ctx: SyncContext, op: str, path: VaultPath, expect: str) -> bool:
    """Exchange a staged file and the note if the note has sha `expect`; returns whether it did."""
    try:
        ctx.vault.exchange(op, path, expect)
    except NoteError:
        return False
    return True


def _discard_orphans(ctx: SyncContext) -> None:
    """Remove staged files that belong to no intent and no displaced file.

    The archive keeps their bytes: an editor may have saved into one before the archive was lost.
    """
    ops = ctx.vault.ops()
    if not ops:
        return
    recorded = {x.op for x in ctx.archive.intents()}
    recorded |= {x.op for x in ctx.archive.displaced_files()}
    orphans = [op for op in ops if op not in recorded]
    versions = [file.data for op in orphans if (file := ctx.vault.staged(op))]
    if versions:
        ctx.keep(*versions)
    for op in orphans:
        ctx.vault.discard(op)


# ------------------------------------------------------------------ displaced files


MAX_EXAMINED = 500
"""Maximum number of displaced files examined per run, because removing files is slow."""
OPENING_SECONDS = 1.0
"""Seconds that a process may take to open a note that was displaced meanwhile."""


def release_displaced(ctx: SyncContext, files: Sequence[DisplacedFile]) -> list[DisplacedFile]:
    """Remove displaced files that no program can still save into; returns the others."""
    released = [each for each in files if _is_released(ctx, each)]
    _forget_displaced(ctx, released)
    released_ops = {each.op for each in released}
    return [each for each in files if each.op not in released_ops]


def _forget_displaced(ctx: SyncContext, files: Sequence[DisplacedFile]) -> None:
    if files:
        with ctx.archive.transaction():
            ctx.archive.drop_waiting(files)
        for each in files:
            ctx.vault.discard(each.op)


def _is_released(ctx: SyncContext, displaced: DisplacedFile) -> bool:
    """Whether no program can save into a displaced file, and all its bytes are kept."""
    since = displaced.due - ctx.policy.linger_seconds
    if ctx.clock.now().timestamp() < since + OPENING_SECONDS:
        return False
    if ctx.vault.may_be_written(displaced.op):
        return False
    file = ctx.vault.staged(displaced.op)  # read it afterwards, so that it has all earlier saves
    return file is None or (
        file.sha == displaced.sha and ctx.archive.blob(displaced.sha) is not None
    )


def _examine_displaced_files(ctx: SyncContext, unrepaired: AbstractSet[str]) -> list[str]:
    """Examine displaced files, because an editor may have saved into one after the exchange.

    Those of `unrepaired` facts wait: the repair of an intent depends on the note's base.

    Returns:
        The facts whose notes were restored from such a save.
    """
    rescued: list[str] = []
    expired: list[DisplacedFile] = []
    now = ctx.clock.now().timestamp()
    files = ctx.archive.displaced_files()
    for displaced in files[:MAX_EXAMINED]:
        if displaced.fact_id in unrepaired:
            continue
        is_removable = now >= displaced.due or _is_released(ctx, displaced)
        file = ctx.vault.staged(displaced.op)
        # An emptied file is about to be written, so it stays until it is due.
        if file is not None and file.sha != displaced.sha and file.data.strip():
            is_removable = _adopt_late_save(ctx, displaced, file)
            if is_removable:
                rescued.append(displaced.fact_id)
        if is_removable or file is None:
            expired.append(displaced)
    if rescued:
        ctx.vault.sync()  # the save must be durable before its record is removed
    _forget_displaced(ctx, expired)
    return rescued


def _adopt_late_save(ctx: SyncContext, displaced: DisplacedFile, file: NoteFile) -> bool:
    """Make a save into a displaced file the note, and the file's earlier text the base.

    The note then counts as edited, and the store as changed, since `displaced.sha`; the
    run merges both.

    Returns:
        Whether the save is in the vault; otherwise the next run tries again.
    """
    ctx.keep(file.data)
    base = ctx.archive.find_base(displaced.fact_id)
    before = ctx.archive.blob(displaced.sha)
    if base is not None and before is not None:
        rebased = _base_of_displaced(ctx, base, before, displaced)
        # Ours is already staged if a crash followed the exchange.
        swapped = file.sha == base.sha
        if rebased is not None and (
            swapped or _try_exchange(ctx, displaced.op, base.path, base.sha)
        ):
            ctx.vault.sync()
            with ctx.archive.transaction():
                ctx.archive.put_bases([rebased, *displaced_bases(ctx, [rebased])])
                ctx.archive.drop_waiting([displaced])
            return True
    return _save_as_new_note(ctx, displaced, file)


def _base_of_displaced(
    ctx: SyncContext, base: Base, before: bytes, displaced: DisplacedFile
) -> Base | None:
    try:
        fact = fact_of_text(ctx, base, before, base.path)
    except UnreadableNoteError:
        return None
    return Base(fact.evolve(path=base.path, revision=""), displaced.sha, None)


def _save_as_new_note(ctx: SyncContext, displaced: DisplacedFile, file: NoteFile) -> bool:
    """Turn a save into a separate note, because the note has changed since.

    Returns:
        Whether the note is there.
    """
    digest = file.sha[:8]
    op = f"rescued-{digest}"
    ctx.vault.stage(op, file.data)
    ctx.vault.sync()
    try:
        ctx.vault.create(op, path_beside(displaced.path, f" (saved {digest}).md"))
    except NoteExistsError:
        ctx.vault.discard(op)
    except NoteError as error:
        ctx.vault.discard(op)
        _log.warning("%s was saved late, and waits for the next run: %s", displaced.path, error)
        return False
    return True
