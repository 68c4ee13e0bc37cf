"""Write the note of a new fact immediately: one durable commit of the store, then the file.

The bases are recorded later, for many facts together, when the files are durable. A run of
another process in between records them itself, also if that process was killed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vaultsync.errors import NoteChangedError, NoteError, StoreUnavailableError
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath, parent_folder, path_key
from vaultsync.model.schema import FIELDS, TYPES, FieldOwner
from vaultsync.notes.canonical_form import is_canonical
from vaultsync.notes.parse import fits_folder, home_folder, read_note
from vaultsync.notes.render import render_note
from vaultsync.storage.archive import Base, HistoryEntry, RunRecord
from vaultsync.sync.changes import StoreFeed
from vaultsync.sync.context import SyncContext
from vaultsync.sync.history import creation_op
from vaultsync.sync.identity import displaced_bases
from vaultsync.sync.note_links import LinkTexts
from vaultsync.sync.planning import path_for_new_note
from vaultsync.sync.preconditions import HIGH_WATER_SETTING, newest_row_mark
from vaultsync.sync.snapshot import ScannedFile, trusted_stamp
from vaultsync.sync.state_summary import SUMMARY_PATH, record_with_summary

MAX_PENDING_NOTES = 256
"""Maximum number of notes that share one wait for the disk."""


@dataclass(frozen=True, slots=True)
class PendingBase:
    """A note that was written, and whose base is not recorded yet."""

    fact: Fact
    data: bytes
    actor: str

    @property
    def sha(self) -> str:
        """The sha256 of its bytes."""
        return hashlib.sha256(self.data).hexdigest()


class NoteWriter:
    """Writes notes of new facts, and collects their bases. Requires the engine's lock."""

    def __init__(self, ctx: SyncContext) -> None:
        self._ctx = ctx
        self._pending: list[PendingBase] = []
        self.refusal: NoteError | None = None
        """Why the last note was not written, if the vault refused it."""

    def note(self, fact: Fact, *, actor: str) -> Fact:
        """Write the note of a new fact, unless a run has found the fact and written it meanwhile.

        Returns:
            The fact with its path; without one if the next run has to write the note.

        Raises:
            VaultError: the vault is missing; checked for the first note after a `flush()`.
        """
        self.refusal = None
        if len(self._pending) >= MAX_PENDING_NOTES:
            self.flush()
        if not self._pending:
            self._ctx.vault.vault_id()
        base = self._ctx.archive.find_base(fact.id)
        if base is not None:  # a run of another process was first
            return fact.evolve(path=None if base.missing_since else base.path)
        if self._ctx.archive.intents(fact_id=fact.id):
            return fact  # it was killed, and the next run finds out whether the note exists
        if fact.revision and not self._ctx.store.find_many([fact.id]):
            return fact  # it was forgotten or purged meanwhile
        shown = self._ctx.view.to_note(fact)
        data = _first_text(self._ctx, fact, shown)
        op = self._ctx.clock.new_id().replace("-", "")
        self._ctx.vault.stage(op, data)
        for looks in (TYPES[fact.type].named, True):  # a name with a date is rarely in use
            path = path_for_new_note(shown, _used_path_keys(self._ctx, fact) if looks else set())
            try:
                self._ctx.vault.create(op, path)
            except NoteError as error:  # the next run reports it, too
                self.refusal = error
                continue
            written = fact.evolve(path=path)
            self._pending.append(PendingBase(written, data, actor))
            return written
        self._ctx.vault.discard(op)
        return fact

    @property
    def empty(self) -> bool:
        """Whether there is nothing to flush."""
        return not self._pending

    def flush(self) -> None:
        """Make the notes durable and record their bases."""
        pending, self._pending = self._pending, []
        if not pending:
            return
        ctx = self._ctx
        try:
            newest = newest_row_mark(ctx)
        except StoreUnavailableError:
            return  # the next run records them, because both sides are equal
        ctx.vault.sync()
        existing = ctx.archive.find_bases([each.fact.id for each in pending])
        new = [each for each in pending if each.fact.id not in existing]
        found = [(each, self._base(each)) for each in new]
        record_notes(ctx, [(each, base) for each, base in found if base is not None], newest=newest)

    def _base(self, each: PendingBase) -> Base | None:
        path, sha = each.fact.path or VaultPath(""), each.sha
        try:
            file = self._ctx.vault.read(path)
            if file.sha == sha:
                now_ns = int(self._ctx.clock.now().timestamp() * 1e9)
                return Base(each.fact, sha, trusted_stamp(file.stamp, now_ns))
            # An editor that saves in place empties the file first.
            half_saved = each.data.startswith(file.data)
            if not half_saved and read_note(file.data, path).id != each.fact.id:
                return None
        except NoteChangedError:
            pass  # an editor is saving it
        except NoteError:
            return None
        # It is already being edited; its earlier text is the base.
        return Base(each.fact, sha, None)


def _used_path_keys(ctx: SyncContext, fact: Fact) -> set[str]:
    home = home_folder(fact)
    folder = ctx.vault.folder(home)
    if folder is None:
        return set()
    names = (*folder.files, *folder.non_regular, *ctx.archive.stamps_in(home))
    return {path_key(f"{home}/{name}") for name in names}


def notes_of_others(
    ctx: SyncContext, notes: Mapping[str, ScannedFile], feed: StoreFeed
) -> list[tuple[PendingBase, Base]]:
    """The bases of new facts whose notes another process wrote, and has not recorded.

    That process may still be open, or was killed. The note, the fact or both may have changed
    since: the base is the version with which the fact was created, if the store proves which
    one that is.

    Args:
        ctx: what the run works with.
        notes: the notes that have the ids of facts without a base.
        feed: how far the last run had read the store.
    """
    replaced = {each.fact.id: each.fact for each in reversed(ctx.store.replaced_versions(notes))}
    current = ctx.store.find_many(notes)
    ops = ctx.store.last_ops(notes)
    written, homes = [], set[str]()
    for fact_id, op in ops.items():
        first, seen = replaced.get(fact_id) or current.get(fact_id), notes[fact_id]
        if fact_id not in current:
            first = (first or ctx.store.tombstone(fact_id)) if _is_new(ctx, fact_id, feed) else None
        if first is None or op != creation_op(first):
            continue
        if first is current.get(fact_id) and _is_note_of(seen, first, ctx):
            continue  # the run records both as they are
        first = _as_created(first)
        shown, path = ctx.view.to_note(first), seen.path
        if not fits_folder(first, path):  # it was written at home, and moved since
            path = path_for_new_note(shown, homes | _used_path_keys(ctx, first))
            homes.add(path_key(path))
        fact = first.evolve(path=path)
        pending = PendingBase(fact, _first_text(ctx, first, shown), first.agent_id or "person")
        written.append((pending, Base(fact, pending.sha, None)))
    return written


def _as_created(fact: Fact) -> Fact:
    """The fact with the volatile values of a new one, about which its `op` proves nothing."""
    new = Fact(fact.id, updated_at=fact.created_at)
    rows = (row for row in FIELDS if row.owner is FieldOwner.VOLATILE)
    return fact.evolve(**{row.attr: getattr(new, row.attr) for row in rows})


def _is_note_of(seen: ScannedFile, fact: Fact, ctx: SyncContext) -> bool:
    is_known = seen.canonical_of is not None
    return is_known or is_canonical(seen.file.data, seen.path, fact, ctx.view)


def _is_new(ctx: SyncContext, fact_id: str, feed: StoreFeed) -> bool:
    """Whether a deleted fact never had a base; if it had one, its note may have come back."""
    newest, _, _ = (ctx.archive.setting(HIGH_WATER_SETTING) or "0").partition(" ")
    seen = max(feed.since, int(newest))
    if not seen:  # an archive that was lost leaves a summary of its last run
        return ctx.vault.read_meta(SUMMARY_PATH) is None
    row = ctx.store.last_write(fact_id)
    is_unread = row is not None and seen < row.seq
    history = ctx.archive.history(fact_id=fact_id)
    return is_unread and all(each.field == "outbox" for each in history)


def _first_text(ctx: SyncContext, fact: Fact, shown: Fact) -> bytes:
    """The text of the note of a new fact, given what notes show of it."""
    links: Mapping[str, str] = {}
    if fact.related_fact_ids:
        texts = LinkTexts(ctx, {})
        texts.prepare(fact.related_fact_ids)
        links = texts.to(fact.related_fact_ids)
    return render_note(shown, links=links)


def record_notes(
    ctx: SyncContext, written: Sequence[tuple[PendingBase, Base]], newest: str | None = None
) -> None:
    """Record notes that are durable, and the newest row of the store if that was read."""
    run, at = ctx.clock.new_id(), ctx.now()
    bases = [base for _, base in written]
    displaced = displaced_bases(ctx, bases)
    with ctx.archive.transaction():
        ctx.archive.put_blobs({each.sha: each.data for each, _ in written})
        ctx.archive.put_bases([*bases, *displaced])
        if newest is not None:
            ctx.archive.set_setting(HIGH_WATER_SETTING, newest)
        ctx.archive.add_history(
            HistoryEntry(run, at, base.fact.id, "store", each.actor, "note", None, base.path)
            for each, base in written
        )
        ctx.archive.set_folders({parent_folder(base.path): b"" for base in bases})
        counts = {"created_in_vault": len(bases)}
        record = RunRecord(run, at, "remember", {"counts": counts})
        write_summary = record_with_summary(ctx, record)
    write_summary()
