"""Write the note of a new fact immediately: one durable commit of the store, then the file.

The bases are recorded later, for many facts together, when the files are durable. A run in
between finds an equal fact and note without a base, and records the base.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from vaultsync.errors import NoteChangedError, NoteError, StoreUnavailableError
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath, parent_folder, path_key
from vaultsync.model.schema import TYPES
from vaultsync.notes.parse import home_folder, read_note
from vaultsync.notes.render import render_note
from vaultsync.storage.archive import Base, HistoryEntry, RunRecord
from vaultsync.sync.context import LinkTexts, SyncContext
from vaultsync.sync.planning import path_for_new_note
from vaultsync.sync.preconditions import HIGH_WATER_SETTING, newest_row_mark
from vaultsync.sync.snapshot import trusted_stamp
from vaultsync.sync.state_summary import record_with_summary

MAX_PENDING_NOTES = 256
"""Maximum number of notes that share one wait for the disk."""


@dataclass(frozen=True, slots=True)
class _PendingBase:
    fact: Fact
    data: bytes
    actor: str


class NoteWriter:
    """Writes notes of new facts, and collects their bases. Requires the engine's lock."""

    def __init__(self, ctx: SyncContext) -> None:
        self._ctx = ctx
        self._pending: list[_PendingBase] = []

    def note(self, fact: Fact, *, actor: str) -> Fact:
        """Write the note of a new fact.

        Returns:
            The fact with its path; without one if the next run has to write the note.

        Raises:
            VaultError: the vault is missing; checked for the first note after a `flush()`.
        """
        if len(self._pending) >= MAX_PENDING_NOTES:
            self.flush()
        if not self._pending:
            self._ctx.vault.vault_id()
        links: Mapping[str, str] = {}
        if fact.related_fact_ids:
            texts = LinkTexts(self._ctx, {})
            texts.prepare(fact.related_fact_ids)
            links = texts.to(fact.related_fact_ids)
        shown = self._ctx.view.to_note(fact)
        data = render_note(shown, links=links)
        op = self._ctx.clock.new_id().replace("-", "")
        self._ctx.vault.stage(op, data)
        for looks in (TYPES[fact.type].named, True):  # a name with a date is rarely in use
            path = path_for_new_note(shown, self._used_path_keys(fact) if looks else set())
            with suppress(NoteError):  # the next run reports why
                self._ctx.vault.create(op, path)
                written = fact.evolve(path=path)
                self._pending.append(_PendingBase(written, data, actor))
                return written
        self._ctx.vault.discard(op)
        return fact

    def _used_path_keys(self, fact: Fact) -> set[str]:
        home = home_folder(fact)
        folder = self._ctx.vault.folder(home)
        if folder is None:
            return set()
        names = (*folder.files, *folder.non_regular, *self._ctx.archive.stamps_in(home))
        return {path_key(f"{home}/{name}") for name in names}

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
        run, at = ctx.clock.new_id(), ctx.now()
        bases, blobs, history = [], {}, []
        for each in pending:
            sha = hashlib.sha256(each.data).hexdigest()
            base = self._base(each, sha)
            if each.fact.id in existing or base is None:
                continue
            blobs[sha] = each.data
            bases.append(base)
            history.append(
                HistoryEntry(run, at, each.fact.id, "store", each.actor, "note", None, base.path)
            )
        replaced = [base._replace(missing_since=at) for base in self._replaced(bases)]
        with ctx.archive.transaction():
            ctx.archive.put_blobs(blobs)
            ctx.archive.put_bases([*replaced, *bases])
            ctx.archive.set_setting(HIGH_WATER_SETTING, newest)
            ctx.archive.add_history(history)
            ctx.archive.set_folders({parent_folder(base.path): b"" for base in bases})
            counts = {"created_in_vault": len(bases)}
            record = RunRecord(run, at, "remember", {"counts": counts})
            write_summary = record_with_summary(ctx, record)
        write_summary()

    def _replaced(self, bases: Sequence[Base]) -> Iterator[Base]:
        """The bases of missing notes whose paths new notes have taken."""
        for each in bases:
            base = self._ctx.archive.base_at(each.path)
            if base is not None and base.fact.id != each.fact.id:
                yield base

    def _base(self, each: _PendingBase, sha: str) -> Base | None:
        path = each.fact.path or VaultPath("")
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
