"""Take a run back: its changes, in reverse, through the same merge as any edit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from vaultsync.errors import RevisionMismatchError, RunNotFoundError
from vaultsync.model.compare import differing_keys
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import FIELDS_BY_KEY, FieldOwner, Value
from vaultsync.operations.unadopt import readopt, unadopt
from vaultsync.storage.archive import HistoryEntry, Notice
from vaultsync.storage.store import RevisionMismatch, StoreWrite
from vaultsync.sync.context import SyncContext
from vaultsync.sync.decision_table import ActionKind
from vaultsync.sync.history import tombstone_path
from vaultsync.sync.merge import merge
from vaultsync.sync.report import ActionTaken, Progress, Report
from vaultsync.sync.request import SyncRequest
from vaultsync.sync.run import record_run, sync_once

MAX_UNDO_TRIES = 20
EVENT_FIELDS = frozenset({"fact", "note", "path", "outbox"})
ACTION_KEEP = "keep"
"""What is done to what was changed again since."""
_HINT = "`vaultsync sync`, then take the run back once more"

HistoryEntries = Sequence[HistoryEntry]


def undo_run(
    ctx: SyncContext,
    run: str,
    *,
    actor: str = "person",
    progress: Progress | None = None,
) -> Report:
    """Take back what a run changed. What was changed again since then stays as it is.

    Facts that the run made are deleted (a note that was adopted only loses its id), facts
    that it deleted come back, fields get the value they had. A pass comes first, so that
    both sides are level, and another one brings what was taken back to the notes.

    Raises:
        RunNotFoundError.
        StoreUnavailableError: nothing was done.
        GuardError: the first pass is not plausible; nothing was taken back.
    """
    entries = ctx.archive.history(run=run)
    if not entries and ctx.archive.find_run(run) is None:
        raise RunNotFoundError(run)
    ctx.store.state()
    sync_once(ctx, SyncRequest(actor=actor))
    by_fact: dict[str, list[HistoryEntry]] = {}
    for entry in entries:
        by_fact.setdefault(entry.fact_id, []).append(entry)
    request = SyncRequest(
        kind=f"undo {run}",
        fact_ids=tuple(by_fact),
        actor=actor,
        run=ctx.clock.new_id(),
        exempt_from_guard=frozenset(by_fact),
    )
    work = _Undo(ctx, request)
    work.take_back(run, by_fact)
    report = sync_once(ctx, request, progress=progress)
    told = replace(
        report,
        counts=dict(work.counts + Counter(report.counts)),
        actions=[*work.actions, *report.actions, *work.kept],
        attention=[*report.attention, *work.notices],
    )
    if not told.quiet:
        record_run(ctx, request, told)
    return told


@dataclass(slots=True)
class _Undo:
    """What is done to the store before the pass, and to notes that are given back."""

    ctx: SyncContext
    request: SyncRequest
    counts: Counter[str] = field(default_factory=Counter)
    actions: list[ActionTaken] = field(default_factory=list)
    kept: list[ActionTaken] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)

    def take_back(self, run: str, by_fact: Mapping[str, HistoryEntries]) -> None:
        """Take everything back that still can be."""
        found = self.ctx.archive.find_run(run)
        rebuilt = found is not None and found.kind.startswith("rebuild")
        adopted: dict[str, VaultPath] = {}
        given: dict[str, VaultPath] = {}
        for fact_id, entries in by_fact.items():
            events = [e for e in entries if e.field in ("fact", "note")]
            gone = next((e for e in events if e.after is None), None)
            made = next((e for e in events if e.after is not None), None)
            if gone is not None and gone.field == "fact":
                given[fact_id] = VaultPath(str(gone.before))
            elif gone is not None:
                self._bring_back(fact_id, entries, tombstone_path(gone))
            elif made is None:
                self._restore_fields(fact_id, entries)
            elif made.before is not None:
                self._keep(fact_id, "its note had its id before, and both stay")
            elif rebuilt or self._was_there(fact_id, run):
                self._keep(fact_id, "it was there before, and stays")
            elif made.field == "fact":
                adopted[fact_id] = VaultPath(str(made.after))
            else:
                self._take_out(fact_id, str(made.after))
        self._give_back(adopted)
        self._take_again(given)

    def _was_there(self, fact_id: str, run: str) -> bool:
        """Whether a fact had a note, or was one, before a run."""
        history = self.ctx.archive.history(fact_id=fact_id)
        earlier = takewhile(lambda entry: entry.run != run, history)
        events = [e for e in earlier if e.field in ("fact", "note")]
        return bool(events) and events[-1].after is not None

    def _told(
        self,
        do: ActionKind,
        fact_id: str,
        reason: str,
        *,
        path: str | None = None,
        fields: tuple[str, ...] = (),
    ) -> None:
        word = do.value.replace(" ", "_")
        where = self._where(fact_id, path)
        self.actions.append(ActionTaken(word, fact_id, where, fields, reason))
        self.counts[_COUNTED[do]] += 1

    def _keep(
        self,
        fact_id: str,
        reason: str,
        *,
        path: str | None = None,
        fields: tuple[str, ...] = (),
    ) -> None:
        where = self._where(fact_id, path)
        self.kept.append(ActionTaken(ACTION_KEEP, fact_id, where, fields, reason))

    def _where(self, fact_id: str, path: str | None) -> str | None:
        base = self.ctx.archive.find_base(fact_id)
        return base.path if base else path

    def _bring_back(self, fact_id: str, entries: HistoryEntries, path: str | None) -> None:
        def brought_back() -> StoreWrite | None:
            buried = self.ctx.store.tombstone(fact_id)
            if buried is None:
                return None
            fact = _reverted_fact(buried, entries)[1].evolve(updated_at=self.ctx.today())
            return StoreWrite(fact_id, fact, buried.revision, self.request.kind)

        if self._insist(fact_id, brought_back):
            self._told(
                ActionKind.RESTORE_FACT,
                fact_id,
                "its deletion is taken back",
                path=path,
            )
        else:
            self._keep(fact_id, "it came back since, and stays as it is", path=path)

    def _insist(self, fact_id: str, make: Callable[[], StoreWrite | None]) -> bool:
        """Write what is to be written now, anew whenever somebody else was faster."""
        for _ in range(MAX_UNDO_TRIES):
            write = make()
            if write is None:
                return False
            if not isinstance(self.ctx.store.write([write])[0], RevisionMismatch):
                return True
        raise RevisionMismatchError(fact_id, "the one just read", "another, again and again")

    def _take_out(self, fact_id: str, path: str) -> None:
        def taken_out() -> StoreWrite | None:
            now = self._current(fact_id)
            return StoreWrite(fact_id, None, now.revision, self.request.kind) if now else None

        if self._insist(fact_id, taken_out):
            self._told(ActionKind.DELETE_FACT, fact_id, "that it was made is taken back")
        else:
            self._keep(fact_id, "it was deleted since, and stays so", path=path)

    def _current(self, fact_id: str) -> Fact | None:
        return self.ctx.store.find_many([fact_id]).get(fact_id)

    def _give_back(self, adopted: Mapping[str, VaultPath]) -> None:
        alive = self.ctx.store.find_many(list(adopted))
        named = [fact_id for fact_id in adopted if fact_id in alive]
        given, refused = unadopt(self.ctx, named, word=self.request.kind)
        at = self.ctx.now()
        for fact_id, path in adopted.items():
            if fact_id in given:
                now = given[fact_id]
                reason = "its adoption is taken back; the note stays, without the id"
                self._told(ActionKind.DELETE_FACT, fact_id, reason, path=now)
            elif fact_id in refused:
                text = f"{path}: its adoption is not taken back: {refused[fact_id]}"
                self.notices.append(Notice("not_undone", path, text, _HINT, seen=at))
            else:
                why = "it was deleted since, and stays so"
                self._keep(fact_id, why, path=path)
        self.counts["updated_in_vault"] += len(given)
        self._remember((each, path, None) for each, path in given.items())

    def _remember(self, facts: Iterable[tuple[str, str | None, str | None]]) -> None:
        """Write down which notes are facts no more, or again."""
        at, run, actor = self.ctx.now(), str(self.request.run), self.request.actor
        with self.ctx.archive.transaction():
            self.ctx.archive.add_history(
                HistoryEntry(run, at, fact_id, "vault", actor, "fact", before, after)
                for fact_id, before, after in facts
            )

    def _take_again(self, given: Mapping[str, VaultPath]) -> None:
        buried = {x: p for x, p in given.items() if self.ctx.store.tombstone(x)}
        taken = readopt(self.ctx, buried)
        self._remember((each, None, buried[each]) for each in taken)
        for fact_id in given:
            if fact_id not in taken:
                self._bring_back(fact_id, (), given[fact_id])

    def _restore_fields(self, fact_id: str, entries: HistoryEntries) -> None:
        done: list[tuple[Fact, Fact, Fact]] = []

        def restored() -> StoreWrite | None:
            current = self._current(fact_id)
            if current is None:
                return None
            earlier, fact = _reverted_fact(current, entries)
            done[:] = [(earlier, current, fact)]
            if fact == current:
                return None
            fact = fact.evolve(updated_at=self.ctx.today())
            return StoreWrite(fact_id, fact, current.revision, self.request.kind)

        changed = self._insist(fact_id, restored)
        if not done:
            self._keep(fact_id, "it was deleted since, and stays so")
            return
        earlier, current, fact = done[0]
        fields = differing_keys(current, fact)
        if changed:
            self._told(ActionKind.UPDATE_STORE, fact_id, "taken back", fields=fields)
        kept = tuple(key for key in differing_keys(fact, earlier) if key not in fields)
        if kept:
            reason = "changed again since, and stays as it is"
            self._keep(fact_id, reason, fields=kept)


_COUNTED = {
    ActionKind.UPDATE_STORE: "updated_in_store",
    ActionKind.RESTORE_FACT: "created_in_store",
    ActionKind.DELETE_FACT: "deleted_in_store",
}


def _reverted_fact(current: Fact, entries: HistoryEntries) -> tuple[Fact, Fact]:
    """The fact as it was, and with the entries taken back that are still the last word."""
    before: dict[str, Value] = {}
    after: dict[str, Value] = {}
    for entry in entries:
        row = FIELDS_BY_KEY.get(entry.field)
        if entry.field in EVENT_FIELDS or (row and row.owner is FieldOwner.VOLATILE):
            continue
        before.setdefault(entry.field, entry.before)
        after[entry.field] = entry.after
    then = current.replace(after)
    earlier = current.replace(before)
    return earlier, merge(then, current, earlier).fact
