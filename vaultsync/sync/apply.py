"""Carry out a plan in batches of actions that share their waits for the disk.

The order of effects is that of the protocol (docs/concepts/what-is-safe.md), so that a
crash at any point leaves what `sync/recovery.py` can repair:

1. one archive transaction: the bytes before and after, conflicts, intents, and the
   history of what exists nowhere else once it is replaced
2. conflict notes and staged files, then one wait for the disk
3. the store: conditional writes, all in one transaction
4. the vault: atomic exchanges; the displaced files are kept
5. one wait for the disk
6. one archive transaction: bases, history, displaced files; the intents are removed
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from vaultsync.errors import NoteChangedError, NoteError, NoteExistsError, NoteMissingError
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath, file_name_of, parent_folder
from vaultsync.notes.conflict_note import ConflictRecord
from vaultsync.notes.parse import read_note
from vaultsync.notes.render import add_id_line, render_note, rewrite_note, stale_keys
from vaultsync.storage.archive import (
    NOT_WRITTEN,
    Base,
    DisplacedFile,
    HistoryEntry,
    Notice,
    PackedBase,
    RunRecord,
    WriteIntent,
)
from vaultsync.storage.packed_bytes import pack
from vaultsync.storage.store import RevisionMismatch, StoreWrite
from vaultsync.storage.vault import FileStamp
from vaultsync.sync.changes import MIRROR_ACTOR
from vaultsync.sync.conflicts import conflict_not_written, conflict_of_action, write_conflict_note
from vaultsync.sync.context import SyncContext
from vaultsync.sync.decision_table import (
    CREATES_FACT,
    CREATES_NOTE,
    DROPS_BASE,
    EXCHANGES,
    IDLE,
    REASON_CHANGED_DURING_RUN,
    RESTORES_FACT,
    WRITES_STORE,
    ActionKind,
    PlannedAction,
)
from vaultsync.sync.history import history_entries, last_note, record_changes, tombstone_path
from vaultsync.sync.identity import absent_bases, displaced_bases, is_note_back
from vaultsync.sync.note_links import LinkTexts
from vaultsync.sync.planning import SyncRun, with_fact
from vaultsync.sync.preconditions import HIGH_WATER_SETTING, newest_row_mark
from vaultsync.sync.recovery import release_displaced
from vaultsync.sync.report import Progress, counted
from vaultsync.sync.snapshot import (
    RACY_WINDOW_NS,
    bytes_again,
    leave_unsettled,
    packed_stamp,
    trusted_stamp,
)

BASES_PER_TRANSACTION = 1_000
"""Bases per transaction, which writes each page of the archive once."""


@dataclass(slots=True)
class PendingAction:
    """One action being carried out."""

    action: PlannedAction
    op: str
    fact: Fact
    """The version that both sides will have."""
    data: bytes | None = None
    """The new bytes of the note; None if it is deleted or not written."""
    sha: str = ""
    new_bytes: bool = False
    writes_store: bool = False
    writes_vault: bool = False
    """Whether the note is written, moved or deleted."""
    conflict: ConflictRecord | None = None
    history_written: bool = False
    failed: bool = False
    store_written: bool = False
    stamp: FileStamp | None = None


@dataclass(slots=True)
class ApplyOutcome:
    """The part of a plan that was carried out, and what remains."""

    done: list[PlannedAction] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    """Facts for the next run, because something changed while they were written."""
    refused: list[PlannedAction] = field(default_factory=list)
    """The actions on these facts that were not carried out."""
    notices: list[Notice] = field(default_factory=list)
    touched: set[VaultPath] = field(default_factory=set)
    """Folders in which something was written."""
    stamps: dict[VaultPath, bytes | None] = field(default_factory=dict)
    """The stamps of the notes, packed; None if a stamp cannot be trusted."""
    revisions: set[str] = field(default_factory=set)
    """The revisions of our own writes."""
    counts: Counter[str] = field(default_factory=Counter)
    """How many of the actions that were carried out are counted by each key of the report."""
    removed: set[VaultPath] = field(default_factory=set)
    """The former paths of notes that this run moved or deleted."""


class NoteComposer:
    """Render the bytes of notes, without writing them."""

    def __init__(self, ctx: SyncContext, links: LinkTexts) -> None:
        self._ctx = ctx
        self._view = ctx.view
        self._links = links
        self._tombstones: Mapping[str, HistoryEntry] = {}

    def prepare(self, actions: Sequence[PlannedAction]) -> None:
        """Look up everything that the notes of these actions need, at once."""
        new = [each.fact_id for each in actions if each.do in CREATES_NOTE]
        self._tombstones = self._ctx.archive.note_tombstones(new)
        written = [x.merged for x in actions if x.merged and x.do is not ActionKind.RECORD]
        written += [x.vault for x in actions if x.vault and x.do is not ActionKind.RECORD]
        linked = [key for fact in written for key in fact.related_fact_ids]
        self._links.prepare(dict.fromkeys(linked))

    def of(self, action: PlannedAction, fact: Fact) -> bytes | None:
        """The bytes of the note; None if the note is deleted or there is none.

        Raises:
            NoteError: it could not be proved that nothing else changes.
        """
        if action.do in CREATES_NOTE:
            return self._new_note(fact, action.shown or self._view.to_note(fact))
        if action.do in DROPS_BASE:
            return None
        if action.text is not None:
            return action.text
        note, vault = action.note, action.vault
        assert note is not None and vault is not None  # noqa: S101, PT018 - both were read
        if action.do in EXCHANGES or (action.do in RESTORES_FACT and stale_keys(note, vault, fact)):
            # The text of a removed link shows whether vaultsync wrote it.
            removed = set(vault.related_fact_ids) - set(fact.related_fact_ids)
            links = self._deleted(removed) | {**self._links.to((*fact.related_fact_ids, *removed))}
            return rewrite_note(note, vault, fact, links=links, view=self._view)
        takes_id = action.do in CREATES_FACT and note.id != fact.id
        return add_id_line(note, fact.id) if takes_id else note.parts.text.encode()

    def _deleted(self, fact_ids: Collection[str]) -> dict[str, str]:
        rows = self._ctx.archive.note_tombstones(fact_ids) if fact_ids else {}
        names = {key: file_name_of(tombstone_path(x) or VaultPath("")) for key, x in rows.items()}
        return {key: f"[[{name.removesuffix('.md')}]]" for key, name in names.items()}

    def _new_note(self, fact: Fact, shown: Fact) -> bytes:
        """A note for a fact: its last one if it had one, otherwise a new one."""
        links = self._links.to(fact.related_fact_ids)
        last = last_note(self._ctx.archive, self._tombstones.get(fact.id))
        if last is not None:
            before, data = last
            try:
                path = fact.path or before.path or VaultPath("")
                note = self._view.from_base_note(read_note(data, path), before)
                return rewrite_note(note, before, fact, links=links, view=self._view)
            except NoteError:
                pass  # the last text cannot be rewritten; a new note has everything
        return render_note(shown, links=links)


class ApplyBatch:
    """Some actions, carried out in the six steps."""

    def __init__(
        self,
        work: SyncRun,
        actions: Sequence[PlannedAction],
        outcome: ApplyOutcome,
        links: LinkTexts,
    ) -> None:
        self.ctx = ctx = work.ctx
        self.actions = actions
        self.outcome = outcome
        self.run = work.run
        self.kind, self.actor = work.request.kind, work.request.actor
        self.seen = work.snapshot.seen
        self.notes = NoteComposer(ctx, links)
        self.at = ctx.now()
        self.today = ctx.today()
        self.began_ns = int(ctx.clock.now().timestamp() * 1e9)
        self.blobs: dict[str, bytes] = {}
        self.kept: set[str] = set()
        self.intents: list[WriteIntent] = []
        self.displaced: list[DisplacedFile] = []
        self.fallback_bases: dict[str, Base] = {}
        self.newest: str | None = None
        self.items: list[PendingAction] = []
        self.brief: Mapping[str, PlannedAction] = {}

    def apply(self) -> None:
        """Carry out the actions; the outcome lists what cannot be done now."""
        actions = self._completed()
        self.notes.prepare(actions)
        for action in actions:
            self._prepare(action)
        items = [item for item in self.items if not self._is_back(item)]
        self._begin(items)
        self._stage(items)
        self._write_store(items)
        writing = [item for item in items if item.writes_vault]
        for item in (each for each in writing if not each.failed):
            self._write_vault(item)
        # A note without a base may be that of another process, which did not wait for the disk.
        new = [each.action.path for each in items if each.action.base is None]
        if writing or new:
            self.ctx.vault.sync(path for path in new if path)
        self._restamp(writing)
        self._record(items)

    # 0 ------------------------------------------------------------------ decide bytes

    def _completed(self) -> Sequence[PlannedAction]:
        """The actions with the facts on which the plan was based."""
        self.brief = {each.fact_id: each for each in self.actions if each.is_brief}
        facts = self.ctx.store.find_many(self.brief) if self.brief else {}
        return [
            with_fact(each, fact, self.ctx.view)
            if each.is_brief and (fact := facts.get(each.fact_id))
            else each
            for each in self.actions
        ]

    def _prepare(self, action: PlannedAction) -> None:
        """Decide what is written for an action; writes nothing."""
        fact = action.merged or action.store or action.base
        if fact is None:  # the new fact was changed or deleted since the plan
            self._give_up(PendingAction(action, "", Fact(action.fact_id)))
            return
        item = PendingAction(action, "", fact)
        try:
            item.data = self.notes.of(action, fact)
        except NoteError as unsafe:
            self._give_up(item, Notice.of("unsafe_splice", unsafe))
            return
        if item.data is not None:
            item.sha = hashlib.sha256(item.data).hexdigest()
            item.new_bytes = item.sha != action.sha
        item.writes_store = action.do in WRITES_STORE
        item.writes_vault = (
            item.new_bytes or action.to is not None or action.do is ActionKind.DELETE_NOTE
        )
        if item.writes_store and action.do is not ActionKind.DELETE_FACT:
            item.fact = fact.evolve(updated_at=self.today, revision="")
        if item.writes_vault or item.writes_store:
            item.op = self.ctx.clock.new_id().replace("-", "")
        self.items.append(item)

    def _is_back(self, item: PendingAction) -> bool:
        """Whether the note exists after all: the last check before a fact is deleted."""
        base = item.action.base
        if item.action.do is not ActionKind.DELETE_FACT or base is None:
            return False
        back = is_note_back(self.ctx, Base(base, "", None))
        if back:
            self._give_up(item)
        return back

    # 1 -------------------------------------------------------------------- intents

    def _begin(self, items: Sequence[PendingAction]) -> None:
        for item in items:
            action = item.action
            if item.data is not None:
                self.blobs[item.sha] = item.data
            if action.note is not None and action.sha:
                self.blobs[action.sha] = action.note.parts.text.encode()
            if action.conflicts:
                item.conflict = conflict_of_action(action, item.fact, self.run, self.at)
            if item.op:
                self.intents.append(_intent(item))
        conflicts = [item.conflict for item in items if item.conflict]
        history: list[HistoryEntry] = []
        for item in items:
            if item.action.replaces:  # after the store is written, it would exist nowhere else
                history += self._history(item)
                item.history_written = True
        self.newest = newest_row_mark(self.ctx)
        if not (self.intents or conflicts or history):
            return
        blobs = _packed(self.blobs)
        with self.ctx.archive.transaction():
            # The notes will show what was read, which an older store would not have.
            self.ctx.archive.set_setting(HIGH_WATER_SETTING, self.newest)
            self.ctx.archive.put_blobs(blobs)
            self._record_changes(history)
            for conflict in conflicts:
                self.ctx.archive.put_conflict(conflict)
            self.ctx.archive.put_waiting(self.intents)
        self.kept = set(self.blobs)
        self.blobs = {}

    # 2 --------------------------------------------------------------------- stage

    def _stage(self, items: Sequence[PendingAction]) -> None:
        staged = False
        for item in items:
            if item.conflict is not None:
                staged = True
                if not self._show_conflict(item, item.conflict):
                    continue
            if item.new_bytes and item.data is not None:
                self.ctx.vault.stage(item.op, item.data)
                staged = True
        if staged:
            self.ctx.vault.sync()

    def _show_conflict(self, item: PendingAction, conflict: ConflictRecord) -> bool:
        """Write the conflict note; False if that failed, which cancels the action."""
        try:
            written = write_conflict_note(self.ctx, conflict)
        except NoteError as error:
            self._give_up(item, conflict_not_written(conflict.path, error))
            return False
        self.outcome.touched.add(parent_folder(written.conflict_path or VaultPath("")))
        return True

    # 3 --------------------------------------------------------------------- store

    def _write_store(self, items: Sequence[PendingAction]) -> None:
        todo = [i for i in items if i.writes_store and not i.failed]
        if not todo:
            return
        writes = []
        for item in todo:
            fact_id, revision = item.fact.id, item.action.revision
            is_deletion = item.action.do is ActionKind.DELETE_FACT
            fact = None if is_deletion else item.fact.evolve(path=None)
            # If no base has the replaced version, the history gets it.
            writes.append(
                StoreWrite(fact_id, fact, revision, MIRROR_ACTOR, op=item.op, recorded=True)
            )
        for item, result in zip(todo, self.ctx.store.write(writes), strict=True):
            if isinstance(result, RevisionMismatch):
                self.ctx.vault.discard(item.op or "none")
                self._give_up(item)
            else:
                item.store_written = True
                self.outcome.revisions.add(result)
                item.fact = item.fact.evolve(revision=result)
        self.newest = newest_row_mark(self.ctx)

    # 4 --------------------------------------------------------------------- vault

    def _write_vault(self, item: PendingAction) -> None:
        action, vault = item.action, self.ctx.vault
        path = action.path or VaultPath("")
        self.outcome.touched.add(parent_folder(path))
        try:
            if action.do in CREATES_NOTE:
                item.stamp = vault.create(item.op, path)
            elif action.do is ActionKind.DELETE_NOTE:
                vault.stage_removal(item.op, path, action.sha or "")
                self.outcome.removed.add(path)
                self._keep_displaced(item, path, action.sha or "")
            else:
                if action.to is not None:
                    vault.move(path, action.to)
                    self.outcome.removed.add(path)
                    path = action.to
                    self.outcome.touched.add(parent_folder(path))
                if item.new_bytes:
                    item.stamp = vault.exchange(item.op, path, action.sha or "")
                    self._keep_displaced(item, path, action.sha or "")
        except NoteChangedError as changed:
            for data in changed.displaced:
                self.blobs[hashlib.sha256(data).hexdigest()] = data
            self._keep_read_base(item)
        except (NoteMissingError, NoteExistsError):
            self._keep_read_base(item)
        except NoteError as error:
            self._keep_read_base(item)
            self.outcome.notices.append(Notice.of(NOT_WRITTEN, error))

    def _keep_displaced(self, item: PendingAction, path: VaultPath, sha: str) -> None:
        due = self.ctx.clock.now().timestamp() + self.ctx.policy.linger_seconds
        self.displaced.append(DisplacedFile(item.op, item.fact.id, path, sha, due))

    def _keep_read_base(self, item: PendingAction) -> None:
        """The note changed meanwhile, and the store may already have the merged version.

        Then the store has the text that was read from the note, which becomes the base; the
        next run merges what the user has written since.
        """
        staged = self.ctx.vault.staged(item.op)
        action = item.action
        if staged is not None and staged.sha != item.sha and action.path:
            # An editor's file was displaced and restored; the editor may still have it open.
            self.blobs[staged.sha] = staged.data
            self._keep_displaced(item, action.path, staged.sha)
        else:
            self.ctx.vault.discard(item.op)
        if item.store_written and action.vault is not None and action.sha and action.note:
            fact = action.vault.evolve(revision=action.revision or "", path=action.path)
            self.fallback_bases[fact.id] = Base(fact, action.sha, None)
        self._give_up(item)

    def _give_up(self, item: PendingAction, why: Notice | None = None) -> None:
        item.failed = True
        self.outcome.waiting.append(item.fact.id)
        reason = REASON_CHANGED_DURING_RUN if why is None else why.message
        self.outcome.refused.append(item.action.evolve(do=ActionKind.WAIT, reason=reason))
        self.outcome.touched.add(parent_folder(item.action.path or VaultPath("")))
        if why is not None:
            self.outcome.notices.append(why)

    # 5 ------------------------------------------------------------------- durable

    def _restamp(self, items: Sequence[PendingAction]) -> None:
        """Replace stamps so recent that a change in the same clock tick could go unnoticed.

        The file system's clock, which may be ahead of ours, advances while we wait, so no wait
        is longer than its tick.
        """
        now_ns = int(self.ctx.clock.now().timestamp() * 1e9)
        racy = [
            item
            for item in items
            if item.stamp and trusted_stamp(item.stamp, now_ns) is None and not item.failed
        ]
        if not racy:
            return
        newest = max(item.stamp.ctime_ns for item in racy if item.stamp)
        wait_ns = min(newest - now_ns, 0) + RACY_WINDOW_NS
        self.ctx.clock.sleep(wait_ns / 1e9)
        for item in racy:
            path = item.action.to or item.action.path or VaultPath("")
            file = self.ctx.find_file(path)
            item.stamp = file.stamp if file and file.sha == item.sha else None

    # 6 -------------------------------------------------------------------- record

    def _record(self, items: Sequence[PendingAction]) -> None:
        bases: dict[str, Base] = dict(self.fallback_bases)
        dropped: list[str] = []
        history: list[HistoryEntry] = []
        places: set[VaultPath] = set()
        for item in items:
            action = item.action
            if item.failed:
                if action.do in CREATES_FACT and item.fact.id in self.fallback_bases:
                    # The fact exists, although its note has no id yet: undo must know of it.
                    history += self._history(item)
                    self._done(action)
                continue
            if not item.history_written:
                history += self._history(item)
            if action.do in DROPS_BASE:
                dropped.append(item.fact.id)
            else:
                base = bases[item.fact.id] = self._base(item)
                path = base.path
                if action.base is None or action.base.path != path:
                    places.add(parent_folder(path))
            self._done(action)
        bases |= {x.fact.id: x for x in absent_bases(self.ctx, bases.values())}
        for item in items:
            if item.data is not None and not (item.failed or item.sha in self.kept):
                self.blobs[item.sha] = item.data
        blobs = _packed(self.blobs)
        notes = {item.sha: item.data for item in items if item.data}
        packed = [x.packed(notes[x.sha]) if x.sha in notes else x for x in bases.values()]
        displaced = displaced_bases(self.ctx, bases.values())
        with self.ctx.archive.transaction():
            self.ctx.archive.put_blobs(blobs)
            self.ctx.archive.put_bases([*packed, *displaced])
            self.ctx.archive.set_setting(HIGH_WATER_SETTING, self.newest)
            # If the run ends here, the next one has to scan these folders again.
            places |= self.outcome.touched
            self.ctx.archive.set_folders(dict.fromkeys(places, b""))
            stamps = {x.path: packed_stamp(x.stamp) for x in bases.values()}
            self.outcome.stamps.update(stamps)
            self.ctx.archive.drop_bases(dropped)
            self._record_changes(history)
            self.ctx.archive.put_waiting(self.displaced)
            self.ctx.archive.drop_waiting(self.intents)

    def _done(self, action: PlannedAction) -> None:
        self.outcome.done.append(self.brief.get(action.fact_id) or action.without_facts())
        self.outcome.counts.update(action.counted)

    def _record_changes(self, history: Sequence[HistoryEntry]) -> None:
        report = {"counts": counted(self.outcome.counts)}
        record_changes(self.ctx.archive, RunRecord(self.run, self.at, self.kind, report), history)

    def _history(self, item: PendingAction) -> Iterable[HistoryEntry]:
        return history_entries(item.action, item.fact, self.run, self.at, self.actor)

    def _base(self, item: PendingAction) -> Base:
        action = item.action
        revision = item.fact.revision if item.store_written else action.revision or ""
        path = action.to or action.path
        fact = item.fact.evolve(path=path, revision=revision)
        stamp = item.stamp
        seen = self.seen.get(path) if path else None
        if (
            stamp is None
            and not item.writes_vault
            and seen is not None
            and seen.file.sha == item.sha
        ):
            stamp = trusted_stamp(seen.file.stamp, self.began_ns)
        return Base(fact, item.sha, stamp)


def _packed(blobs: Mapping[str, bytes]) -> dict[str, bytes]:
    """Compress the bytes before the archive is locked."""
    return {sha: pack(data) for sha, data in blobs.items()}


def _intent(item: PendingAction) -> WriteIntent:
    action, fact = item.action, item.fact
    path, after = action.path or VaultPath(""), None if item.data is None else item.sha
    before = None if action.do is ActionKind.DELETE_FACT else action.sha
    revision = "" if item.writes_store else action.revision or ""
    if fact.revision != revision:
        fact = fact.evolve(revision=revision)
    return WriteIntent(item.op, fact.id, path, before, after, fact)


def _record_unchanged(work: SyncRun, outcome: ApplyOutcome) -> None:
    """Record a base for each fact, and the bytes of its note.

    Facts that changed since they were compared are left to the next run.
    """
    ctx = work.ctx
    ctx.vault.sync(x.path for x in work.unchanged)  # another process may just have written them
    began_ns = int(ctx.clock.now().timestamp() * 1e9)
    for start in range(0, len(work.unchanged), BASES_PER_TRANSACTION):
        bases: list[PackedBase] = []
        blobs: dict[str, bytes] = {}
        batch = work.unchanged[start : start + BASES_PER_TRANSACTION]
        left_out = [x.canonical_of.id for x in batch if x.canonical_of and not x.canonical_of.line]
        facts = ctx.store.find_many(left_out) if left_out else {}
        for each in batch:
            file, fact, path = each.file, each.canonical_of, each.path
            assert fact is not None  # noqa: S101 - they all have one
            if fact.line:
                stamp = trusted_stamp(file.stamp, began_ns)
                base = PackedBase(fact.id, fact.revision, path, fact.line, file.sha, stamp)
            else:
                reread, now = bytes_again(ctx, each), facts.get(fact.id)
                if reread is None or now is None or now.revision != fact.revision:
                    leave_unsettled(work.snapshot, each)
                    outcome.waiting.append(fact.id)
                    continue
                file, stamp = reread, trusted_stamp(reread.stamp, began_ns)
                base = Base(now.evolve(path=path), file.sha, stamp).packed(file.data)
            outcome.stamps[path] = packed_stamp(stamp)
            bases.append(base)
            blobs[file.sha] = file.data
        newest = newest_row_mark(ctx)
        with ctx.archive.transaction():
            ctx.archive.put_blobs(blobs)
            ctx.archive.put_bases(bases)
            ctx.archive.set_setting(HIGH_WATER_SETTING, newest)
            # If the run ends here, the next one has to scan these folders again.
            places = {parent_folder(seen.path) for seen in batch}
            ctx.archive.set_folders(dict.fromkeys(places, b""))


def apply_plan(work: SyncRun, *, progress: Progress | None = None) -> ApplyOutcome:
    """Record the bases of new notes that agree with their facts, and carry out the plan.

    The outcome lists what could not be done now.

    Raises:
        OSError: the disk is full or broken; the next run repairs unfinished writes.
        StoreUnavailableError: the store stopped responding; likewise.
    """
    ctx = work.ctx
    outcome = ApplyOutcome()
    if work.unchanged:
        _record_unchanged(work, outcome)
        work.unchanged = [each for each in work.unchanged if each.path in outcome.stamps]
    todo = [action for action in work.actions if action.do not in IDLE]
    size = ctx.policy.batch
    # Notes of this run can link to each other before they have bases.
    fresh = [a for a in todo if a.do in CREATES_NOTE or a.base is None]
    planned = {a.fact_id: a.merged for a in fresh if a.merged is not None}
    paths = {a.fact_id: a.path for a in fresh if a.is_brief and a.path is not None}
    links = LinkTexts(ctx, planned, paths)
    displaced: list[DisplacedFile] = []
    for start in range(0, len(todo), size):
        batch = ApplyBatch(work, todo[start : start + size], outcome, links)
        batch.apply()
        displaced = release_displaced(ctx, [*displaced, *batch.displaced])
        if progress is not None:
            progress("apply", min(start + size, len(todo)), len(todo))
    return outcome
