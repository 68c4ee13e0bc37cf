"""Check whether a plan as a whole is plausible, before any of it is carried out.

A plan may delete or rewrite too much, or the vault or the store may have been replaced by an older
copy. The archive knows the later versions of each fact. If many notes return to earlier versions of
their facts at once, these are not edits; a store whose facts do so was restored from a backup.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from vaultsync.errors import GuardError
from vaultsync.model.counts import count_noun
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.serialization import fact_from_json
from vaultsync.storage.archive import NOT_WRITTEN
from vaultsync.sync.changes import StoreChange, VaultChange
from vaultsync.sync.context import SyncContext
from vaultsync.sync.decision_table import EXCHANGES, ActionKind, PlannedAction
from vaultsync.sync.history import (
    VAULT_SIDE,
    differing_user_fields,
    former_until,
    is_former,
    tombstone_path,
)
from vaultsync.sync.identity import Case
from vaultsync.sync.planning import SyncRun
from vaultsync.sync.state_summary import older_summary_time

MAX_DELETES = 10
MAX_DELETE_SHARE = 0.10
MAX_REWRITES = 100
MAX_REWRITE_SHARE = 0.25

_DELETES = frozenset({ActionKind.DELETE_NOTE, ActionKind.DELETE_FACT})


_OLDER_VAULT = (
    "if the vault is an older copy, put the newer one back, or let `vaultsync rebuild --from"
    " store` write the newest facts to its notes; if its notes are right, confirm them with"
    " `vaultsync sync --confirm RUN`, which `vaultsync undo RUN` reverts"
)


class Implausible(NamedTuple):
    """The reason why a plan is not plausible."""

    why: str
    hint: str = ""
    """What to do, if different from a sync; `RUN` stands for the id of the run."""
    examples: Sequence[str] = ()

    def error(self, run: str, *, confirmed: str | None) -> GuardError:
        """The error that stops a run; `confirmed` is the run that was confirmed instead."""
        hint = self.hint.replace("RUN", run)
        return GuardError(self.why, run, confirmed=confirmed, hint=hint, examples=self.examples)


def check_plan(work: SyncRun) -> Implausible | None:
    """Why the plan of a run is not plausible; None if it is."""
    request = work.request
    if older := find_older_vault(work):
        why = f"the vault looks like an older copy: of its notes, {older}"
        return Implausible(why, _OLDER_VAULT, older.examples())
    # What an earlier run could not write was plausible then.
    due = {each.path for each in work.ctx.archive.notices() if each.kind == NOT_WRITTEN}
    guarded = [
        action
        for action in work.actions
        if action.fact_id not in request.exempt_from_guard
        and not (action.do in EXCHANGES and action.path in due)
    ]
    limit = guard(guarded, work.ctx.archive.count_bases(), max_delete=request.max_delete)
    return None if limit is None else Implausible(limit)


def guard(
    actions: Sequence[PlannedAction], facts: int, *, max_delete: int | None = None
) -> str | None:
    """Why a plan is not plausible; None if it is.

    A plan may not delete more than 10 facts and more than 10 % of them (or more than
    `max_delete`), nor rewrite more than 100 notes and more than 25 % of them. A share
    alone allowed Joplin to delete 59 % of a user's notes (Joplin issue #16165); a count
    alone would allow emptying a small vault. Acknowledged writes of agents do not count, however
    many they are, because they are not accidents.
    """
    deletes = sum(action.do in _DELETES for action in actions)
    allowed = max(MAX_DELETES, int(facts * MAX_DELETE_SHARE))
    if facts <= MAX_DELETES:
        # A small vault is never emptied without asking.
        allowed = max(facts - 1, 1)
    if max_delete is not None:
        allowed = max_delete
    if deletes > allowed:
        verb = "is" if allowed == 1 else "are"
        return f"it would delete {deletes} of {count_noun(facts, 'fact')}, {allowed} {verb} allowed"
    lost = sum(a.do is ActionKind.CREATE_FACT and a.base is not None for a in actions)
    if lost > max(MAX_DELETES, int(facts * MAX_DELETE_SHARE)):
        return f"the store lost {lost} of {count_noun(facts, 'fact')}"
    rewrites = sum(a.do in EXCHANGES and a.base is not None and not a.acknowledged for a in actions)
    if rewrites > max(MAX_REWRITES, int(facts * MAX_REWRITE_SHARE)):
        return f"it would rewrite {rewrites} of {facts} notes"
    return None


# ------------------------------------------------------------------ an older world

MIN_OLDER_NOTES = 3
MIN_OLDER_SHARE = 0.5
"""Minimum number of notes, and share of the edited ones, that identify an older copy of a vault
without other evidence."""
MAX_EXAMPLES = 5
_TEXTS = frozenset({"content", "title"})


class OlderCopy(NamedTuple):
    """What an older copy of one side would undo on the other, as paths of notes."""

    older: Sequence[VaultPath] = ()
    """Notes of facts with an earlier content."""
    missing: Sequence[VaultPath] = ()
    """Notes of facts that were created since."""
    back: Sequence[VaultPath] = ()
    """Notes of facts that were deleted since."""

    def __bool__(self) -> bool:
        """Whether it would undo anything."""
        return any(self)

    def __str__(self) -> str:
        """The number of notes of each kind, in words."""
        kinds = (
            (self.older, "has an earlier content", "have an earlier content"),
            (
                self.missing,
                "was created since and is missing",
                "were created since and are missing",
            ),
            (self.back, "was deleted since and is back", "were deleted since and are back"),
        )
        counts = ((len(paths), one, many) for paths, one, many in kinds)
        return ", ".join(f"{n} {one if n == 1 else many}" for n, one, many in counts if n)

    def examples(self) -> tuple[str, ...]:
        """Some of the paths."""
        return tuple(str(path) for paths in self for path in paths)[:MAX_EXAMPLES]


def find_older_vault(work: SyncRun) -> OlderCopy:
    """What the vault would undo, if it is an older copy; empty if it is not.

    It is one if it has the summary of an earlier run, and any note with an earlier version; or
    if many notes, and most of the changed ones, have an earlier version. If each of these only
    lacks the user's last change of it, and no note appeared or disappeared, they are edits.
    """
    exempt = work.request.exempt_from_guard
    cases = [case for case in work.cases if case.fact_id not in exempt]
    edited = [
        (case, case.base.fact, case.vault.fact)
        for case in cases
        if case.base and case.vault.fact and case.vault.change is VaultChange.MODIFIED
    ]
    missing_kinds = (VaultChange.GONE, VaultChange.DELETED)
    missing = [case for case in cases if case.base and case.vault.change in missing_kinds]
    back = [case for case in cases if _is_back(case)]
    if not (edited or missing or back):
        return OlderCopy()
    at = older_summary_time(work.ctx)
    if at is None and len(edited) < MIN_OLDER_NOTES:
        return OlderCopy()
    is_proven = at is not None
    until: dict[str, str] = {}
    older = []
    for case, before, now in edited:
        replaced = former_until(before, now, work.ctx.archive.history(fact_id=case.fact_id))
        # Without a summary, a reopened task proves nothing.
        if replaced and (
            at or _TEXTS & differing_user_fields(before, now) or _is_older_file(work, case)
        ):
            until[case.fact_id] = replaced
            older.append(case)
    if at is None:
        if len(older) < MIN_OLDER_NOTES or len(older) <= MIN_OLDER_SHARE * len(edited):
            return OlderCopy()
        at = min(until.values())
    made_since = [case for case in missing if _created_at(work.ctx, case.fact_id) > at]
    removed = work.ctx.archive.note_tombstones(case.fact_id for case in back)
    deleted_since = [x for x in back if x.fact_id in removed and removed[x.fact_id].at > at]
    if not (is_proven or made_since or deleted_since) and all(_is_undo(work, x) for x in older):
        return OlderCopy()
    return OlderCopy(_paths(older), _paths(made_since), _paths(deleted_since))


def _is_back(case: Case) -> bool:
    """Whether the note of a deleted fact exists again."""
    new = (VaultChange.CREATED, VaultChange.FOREIGN)
    return case.vault.change in new and case.store.change is StoreChange.TOMBSTONE


def _is_undo(work: SyncRun, case: Case) -> bool:
    """Whether an editor may have undone the last change of a fact, which came from its note."""
    changes = [each for each in work.ctx.archive.history(fact_id=case.fact_id) if each.key]
    last = [each for each in changes if each.run == changes[-1].run]
    before, now = case.base, case.vault.fact
    return (
        all(each.side == VAULT_SIDE for each in last)
        and bool(before and now and is_former(before.fact, now, last))
        and not _is_older_file(work, case)
    )


def _is_older_file(work: SyncRun, case: Case) -> bool:
    """Whether the file is older than the one that it replaced, which no editor causes."""
    seen = work.snapshot.seen.get(case.vault.path or VaultPath(""))
    stamp = case.base.stamp if case.base else None
    return bool(seen and stamp and seen.file.stamp.mtime_ns < stamp.mtime_ns)


def _paths(cases: Sequence[Case]) -> tuple[VaultPath, ...]:
    paths = (case.vault.path or (case.base.path if case.base else None) for case in cases)
    return tuple(path for path in paths if path)


def _created_at(ctx: SyncContext, fact_id: str) -> str:
    """When the note of a fact was created; empty if unknown."""
    events = [x for x in ctx.archive.history(fact_id=fact_id) if x.field in ("fact", "note")]
    return next((each.at for each in reversed(events) if each.after is not None), "")


def find_older_store(ctx: SyncContext) -> OlderCopy:
    """What the store would undo, if a sync applied its state."""
    older: list[VaultPath] = []
    missing: list[VaultPath] = []
    rows = {row.fact_id: row.revision for row in ctx.store.feed()}
    for base in ctx.archive.iter_bases():
        revision = rows.pop(base.fact.id, None)
        if revision is None:
            missing.append(base.path)
        elif revision != base.fact.revision:
            fact = ctx.store.find_many([base.fact.id]).get(base.fact.id)
            history = ctx.archive.history(fact_id=base.fact.id)
            older += [base.path] if fact and is_former(base.fact, fact, history) else []
    return OlderCopy(older, missing, [*deleted_before(ctx, ctx.store.find_many(rows).values())])


def deleted_before(ctx: SyncContext, facts: Collection[Fact]) -> Iterator[VaultPath]:
    """The former paths of notes whose facts were deleted and have no newer values."""
    removed = ctx.archive.note_tombstones(fact.id for fact in facts)
    for fact in facts:
        entry = removed.get(fact.id)
        path = tombstone_path(entry)
        if entry is None or path is None or not isinstance(entry.before, dict):
            continue
        last = fact_from_json(str(entry.before["fact"]))
        history = ctx.archive.history(fact_id=fact.id)
        if not differing_user_fields(last, fact) or is_former(last, fact, history):
            yield path
