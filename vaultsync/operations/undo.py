"""Undo a run: its changes in reverse, through the same merge as any edit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain, takewhile
from uuid import UUID

from msgspec import structs

from vaultsync.errors import PurgeNotUndoneError, RunNotFoundError, RunPrunedError
from vaultsync.facts.lookup import PURGE_KIND, UNDO_KIND
from vaultsync.model.compare import differing_keys
from vaultsync.model.decay import brought_back
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import FIELDS_BY_KEY, RELATED_KEY, FieldOwner, Value
from vaultsync.operations.adopt import readopt, unadopt
from vaultsync.operations.relink import LINKS_ACTOR, undo_canvases
from vaultsync.operations.settle_copies import undo_copies
from vaultsync.storage.archive import HISTORY_SINCE_SETTING, HistoryEntry, Notice
from vaultsync.sync.agent_view import AgentView
from vaultsync.sync.context import SyncContext
from vaultsync.sync.decision_table import ActionKind
from vaultsync.sync.fact_changes import change_fact
from vaultsync.sync.history import tombstone_path
from vaultsync.sync.merge import merge
from vaultsync.sync.report import ActionTaken, Progress, Report, counted, counts_of, notices_of
from vaultsync.sync.run import record_events, record_run, sync_once
from vaultsync.sync.sync_request import SyncRequest

NOTES_PER_PASS = 500
ACTION_KEEP = "keep"
"""The action for facts and fields that were changed again since."""
CHANGED_SINCE = "changed again since, and kept"
_HINT = "run `vaultsync sync`, then undo the run again"

HistoryEntries = Sequence[HistoryEntry]


def undo_run(
    ctx: SyncContext,
    run: str,
    *,
    actor: str = "person",
    agent: str | None = None,
    progress: Progress | None = None,
) -> Report:
    """Undo the changes of a run. What was changed again since then stays as it is.

    Changes of facts that the agent cannot see, or may not write, are not undone.

    Facts that the run created are deleted (a note that was adopted only loses its id), facts
    that it deleted are restored, and fields get their former values. A sync run comes first,
    so that both sides are equal, and another one updates the notes.

    Raises:
        RunNotFoundError: there is no such run.
        RunPrunedError: what it changed is not kept any more.
        PurgeNotUndoneError: it erased facts.
        StoreUnavailableError: nothing was done.
        GuardError: the first sync run is not plausible; nothing was undone.
    """
    entries = ctx.archive.history(run=run)
    record = ctx.archive.find_run(run)
    if record is not None and record.kind == PURGE_KIND:
        raise PurgeNotUndoneError(run, record.at)
    if not entries:
        since = ctx.archive.setting(HISTORY_SINCE_SETTING)
        at = record.at if record else _time_in(run)
        if since is not None and "" < at < since:
            raise RunPrunedError(run, at, since)
        if record is None:
            raise RunNotFoundError(run)
    ctx.store.state()
    view, touched = AgentView(ctx, agent), {each.fact_id for each in entries}
    hidden = view.hidden_facts(touched)
    denied = view.unwritable_facts(touched - hidden)
    sync_once(ctx, SyncRequest(actor=actor))
    by_fact: dict[str, list[HistoryEntry]] = {}
    for entry in entries:
        if entry.fact_id in hidden or entry.fact_id in denied:
            continue
        by_fact.setdefault(entry.fact_id, []).append(entry)
    request = SyncRequest(
        kind=f"{UNDO_KIND}{run}",
        fact_ids=tuple(by_fact),
        actor=actor,
        run=ctx.clock.new_id(),
        exempt_from_guard=frozenset(by_fact),
    )
    work = _Undo(ctx, request)
    work.undo(run, by_fact)
    work.keep(denied)
    for undo_files in (undo_canvases, undo_copies):
        undone, conflicting = undo_files(ctx, chain(*by_fact.values()), request)
        work.actions += undone
        work.kept += conflicting
    report = _sync_in_batches(ctx, request, progress)
    combined = structs.replace(
        report,
        counts=counted(counts_of(work.actions) + Counter(report.counts)),
        actions=[*work.actions, *report.actions, *work.kept],
        attention=[*report.attention, *notices_of(work.notices)],
    )
    # An undo of nothing counts, too, so that the next one goes on to an earlier run; but not if
    # others may undo more of it, or it can be tried again.
    kept = bool(work.kept) and not (hidden or denied or work.notices)
    if work.actions or kept or not combined.quiet or ctx.archive.find_run(combined.run):
        record_run(ctx, request, combined)
    return combined


def _sync_in_batches(ctx: SyncContext, request: SyncRequest, progress: Progress | None) -> Report:
    """One run that updates the notes of all facts, those of a batch after the other.

    A run holds the notes and facts of its whole plan: 10 KB for each of the notes of an import.
    """
    report: Report | None = None
    ids = request.fact_ids
    for start in range(0, len(ids), NOTES_PER_PASS) if len(ids) > NOTES_PER_PASS else ():
        part = ids[start : start + NOTES_PER_PASS]
        batch = sync_once(ctx, replace(request, fact_ids=part, facts_only=True, after=report))
        report = report if batch.quiet else batch
        if progress is not None:
            progress("apply", min(start + NOTES_PER_PASS, len(ids)), len(ids))
    last = sync_once(ctx, replace(request, after=report), progress=progress)
    if report is None or not last.quiet:
        return last
    return structs.replace(report, attention=last.attention)


def _time_in(run: str) -> str:
    """When a run began, as its id says; empty when it is no id that vaultsync made."""
    try:
        number = UUID(run)
    except ValueError:
        return ""
    if number.version != 7:  # noqa: PLR2004 - the version that begins with the time
        return ""
    return datetime.fromtimestamp((number.int >> 80) // 1000, UTC).isoformat()


@dataclass(slots=True)
class _Undo:
    """The changes to the store, and to notes that lose or get back their ids."""

    ctx: SyncContext
    request: SyncRequest
    actions: list[ActionTaken] = field(default_factory=list)
    kept: list[ActionTaken] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)

    def undo(self, run: str, by_fact: Mapping[str, HistoryEntries]) -> None:
        """Undo every change that was not changed again."""
        record = self.ctx.archive.find_run(run)
        rebuilt = record is not None and record.kind.startswith("rebuild")
        adopted: dict[str, VaultPath] = {}
        unadopted: dict[str, VaultPath] = {}
        for fact_id, entries in by_fact.items():
            events = [e for e in entries if e.field in ("fact", "note")]
            deleted = next((e for e in events if e.after is None), None)
            created = next((e for e in events if e.after is not None), None)
            if deleted is not None and deleted.field == "fact":
                unadopted[fact_id] = VaultPath(str(deleted.before))
            elif deleted is not None:
                self._restore(fact_id, entries, tombstone_path(deleted))
            elif created is None:
                self._restore_fields(fact_id, entries)
            elif created.before is not None:
                self._record(None, fact_id, "its note had its id before, and both are kept")
            elif rebuilt or self._existed_before(fact_id, run):
                self._record(None, fact_id, "it existed before, and is kept")
            elif created.field == "fact":
                adopted[fact_id] = VaultPath(str(created.after))
            else:
                self._delete(fact_id, str(created.after), run)
        self._unadopt(adopted)
        self._readopt(unadopted)

    def keep(self, fact_ids: Iterable[str]) -> None:
        """Report that facts stay as they are, because the agent may not change them."""
        for each in sorted(fact_ids):
            self._record(None, each, "the agent may not write there")

    def _existed_before(self, fact_id: str, run: str) -> bool:
        """Whether a fact, or its note, existed before a run."""
        history = self.ctx.archive.history(fact_id=fact_id)
        earlier = takewhile(lambda entry: entry.run != run, history)
        events = [e for e in earlier if e.field in ("fact", "note")]
        return bool(events) and events[-1].after is not None

    def _record(
        self,
        do: ActionKind | None,
        fact_id: str,
        reason: str,
        *,
        path: str | None = None,
        fields: tuple[str, ...] = (),
        unadopts: bool = False,
    ) -> None:
        """Report what was done about a fact; None means that it is kept as it is."""
        base = self.ctx.archive.find_base(fact_id)
        word = do.value.replace(" ", "_") if do else ACTION_KEEP
        counted = (_COUNTED[do], *(["updated_in_vault"] if unadopts else [])) if do else ()
        action = ActionTaken(word, fact_id, base.path if base else path, fields, reason, counted)
        if do:
            self.actions.append(action)
        else:
            self.kept.append(action)

    def _restore(self, fact_id: str, entries: HistoryEntries, path: str | None) -> None:
        def restored(tombstone: Fact) -> Fact:
            fact = brought_back(_reverted_fact(tombstone, entries)[1], self.ctx.clock.now())
            return fact.evolve(updated_at=self.ctx.today())

        kind, find = self.request.kind, self.ctx.store.tombstone
        if change_fact(self.ctx, fact_id, restored, kind, find=find):
            self._record(ActionKind.RESTORE_FACT, fact_id, "its deletion is undone", path=path)
        else:
            self._record(None, fact_id, "it was restored since, and is kept", path=path)

    def _delete(self, fact_id: str, path: str, run: str) -> None:
        changed: tuple[str, ...] = ()

        def deleted(current: Fact) -> Fact | None:
            nonlocal changed
            changed = self._changed_since(current, run)
            return current if changed else None

        if change_fact(self.ctx, fact_id, deleted, self.request.kind):
            self._record(ActionKind.DELETE_FACT, fact_id, "its creation is undone")
        elif changed:
            self._record(None, fact_id, CHANGED_SINCE, fields=changed)
        else:
            self._record(None, fact_id, "it was deleted since, and stays deleted", path=path)

    def _changed_since(self, fact: Fact, run: str) -> tuple[str, ...]:
        """The fields that people or agents changed after the run that created the fact.

        Links and related facts do not count: vaultsync rewrites and adds them, too.
        """
        entries = reversed(self.ctx.archive.history(fact_id=fact.id))
        before: dict[str, Value] = {}
        for entry in takewhile(lambda entry: entry.run != run, entries):
            key = entry.key
            row = FIELDS_BY_KEY.get(key or "")
            is_authored = row is None or row.owner in (FieldOwner.SHARED, FieldOwner.PLACE)
            is_link = entry.actor == LINKS_ACTOR or key == RELATED_KEY
            if key and is_authored and not is_link:
                before[key] = entry.before
        return differing_keys(fact, fact.replace(before))

    def _unadopt(self, adopted: Mapping[str, VaultPath]) -> None:
        existing = self.ctx.store.find_many(list(adopted))
        named = [fact_id for fact_id in adopted if fact_id in existing]
        reason = "its adoption is undone; the note is kept, without the id"

        def record(notes: Mapping[str, VaultPath]) -> None:
            for fact_id, path in notes.items():
                self._record(ActionKind.DELETE_FACT, fact_id, reason, path=path, unadopts=True)
            events = ((each, "fact", path, None) for each, path in notes.items())
            record_events(self.ctx, self.request, events)
            run, counts = str(self.request.run), counted(counts_of(self.actions))
            report = Report(run, dry_run=False, seconds=0.0, counts=counts, actions=self.actions)
            record_run(self.ctx, self.request, report)

        released, refused = unadopt(self.ctx, named, word=self.request.kind, record=record)
        self.actions = [each for each in self.actions if each.fact_id not in refused]
        for fact_id, path in adopted.items():
            if fact_id in refused:
                text = f"{path}: its adoption was not undone: {refused[fact_id]}"
                self.notices.append(Notice("not_undone", path, text, _HINT))
            elif fact_id not in released:
                self._record(None, fact_id, "it was deleted since, and stays deleted", path=path)

    def _readopt(self, unadopted: Mapping[str, VaultPath]) -> None:
        deleted = {key: path for key, path in unadopted.items() if self.ctx.store.tombstone(key)}
        readopted = readopt(self.ctx, deleted)
        events = ((each, "fact", None, deleted[each]) for each in readopted)
        record_events(self.ctx, self.request, events)
        for fact_id in unadopted:
            if fact_id not in readopted:
                self._restore(fact_id, (), unadopted[fact_id])

    def _restore_fields(self, fact_id: str, entries: HistoryEntries) -> None:
        earlier = current = fact = None

        def reverted(current_fact: Fact) -> Fact:
            nonlocal earlier, current, fact
            current = current_fact
            earlier, fact = _reverted_fact(current_fact, entries)
            return current if fact == current else fact.evolve(updated_at=self.ctx.today())

        changed = change_fact(self.ctx, fact_id, reverted, self.request.kind)
        if earlier is None or current is None or fact is None:
            self._record(None, fact_id, "it was deleted since, and stays deleted")
            return
        fields = differing_keys(current, fact)
        if changed:
            self._record(ActionKind.UPDATE_STORE, fact_id, "undone", fields=fields)
        not_restored = tuple(key for key in differing_keys(fact, earlier) if key not in fields)
        if not_restored:
            self._record(None, fact_id, CHANGED_SINCE, fields=not_restored)


_COUNTED = {
    ActionKind.UPDATE_STORE: "updated_in_store",
    ActionKind.RESTORE_FACT: "created_in_store",
    ActionKind.DELETE_FACT: "deleted_in_store",
}


def _reverted_fact(current: Fact, entries: HistoryEntries) -> tuple[Fact, Fact]:
    """The fact as it was, and the current fact with the changes undone that are still the last."""
    before: dict[str, Value] = {}
    after: dict[str, Value] = {}
    for entry in entries:
        key = entry.key
        row = FIELDS_BY_KEY.get(key or "")
        if key is None or (row and row.owner is FieldOwner.VOLATILE):
            continue
        before.setdefault(key, entry.before)
        after[key] = entry.after
    then = current.replace(after)
    earlier = current.replace(before)
    return earlier, merge(then, current, earlier).fact
