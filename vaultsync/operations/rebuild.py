"""Rebuild one side and the base from the other; the archive keeps what is replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice

from vaultsync.model.compare import differing_keys
from vaultsync.model.counts import count_noun
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import equal_as_json
from vaultsync.notes.render import stale_keys
from vaultsync.storage.archive import Base
from vaultsync.sync.changes import StoreChange, VaultChange, VaultSide
from vaultsync.sync.context import SyncContext
from vaultsync.sync.decision_table import ActionKind, PlannedAction
from vaultsync.sync.history import is_former
from vaultsync.sync.identity import CASES_IN_MEMORY, Case, base_note
from vaultsync.sync.planning import (
    DAMAGED_REASON,
    PURGED_REASON,
    SyncRun,
    make_action,
    overlay_note,
    plan_note,
    values_shown,
)
from vaultsync.sync.plausibility import (
    MAX_EXAMPLES,
    Implausible,
    OlderCopy,
    deleted_before,
    find_older_vault,
)
from vaultsync.sync.preconditions import accept_store, store_went_back
from vaultsync.sync.report import Progress, Report
from vaultsync.sync.run import Guard, Planner, sync_once
from vaultsync.sync.sync_request import SyncRequest

_TOMBSTONE = (StoreChange.DELETED, StoreChange.TOMBSTONE)
_ABSENT = (StoreChange.NONE, StoreChange.MISSING)
_NO_NOTE = (VaultChange.NONE, VaultChange.GONE, VaultChange.DELETED)
_NOT_READ = (VaultChange.UNREADABLE, VaultChange.UNSETTLED, VaultChange.UNKNOWN, VaultChange.COPIED)

_UNREADABLE_REASON = "the note cannot be read, and is not changed"


def rebuild(
    ctx: SyncContext,
    source: str,
    *,
    confirm: str | None = None,
    actor: str = "person",
    prepare: Callable[[], None] = lambda: None,
    progress: Progress | None = None,
) -> Report:
    """Make the other side, and the base, equal to `source`: `vault` or `store`.

    From the vault: each fact becomes what its note says, with machine fields from the base where
    notes do not show them. A note that cannot be read now counts as last read if the store has only
    older values. Facts without a note are kept, unless the store went back in time and they were
    deleted since, and so is the outbox: the next run merges it. Notes of purged facts are left
    alone. From the store: each note becomes
    what its fact says; notes that the store does not know are left alone.

    Unsynced changes of the other side, and versions newer than those of `source`, are only
    overwritten if `confirm` names the rebuild that the guard stopped. `prepare` is called once
    nothing can stop the rebuild, and before it changes anything.

    Raises:
        StoreUnavailableError: both sides are needed.
        GuardError: it would overwrite what only the other side has; nothing was done.
    """
    is_store_older = store_went_back(ctx)
    # The store may be a new one. The cursor is set at the end, so that an older store is still
    # detected if this is interrupted.
    accept_store(ctx)
    request = SyncRequest(
        kind=f"rebuild-from-{source}",
        reread=frozenset(path for path, _ in ctx.vault.scan().notes()),
        fact_ids=tuple(_unequal_facts(ctx)),
        actor=actor,
        confirm=confirm,
        trust_store=True,
        drain_outbox_first=source != "vault",
    )
    if source == "vault":
        plan: Planner = partial(plan_from_vault, is_store_older=is_store_older)
        guard: Guard = guard_store
    else:
        plan, guard = plan_from_store, partial(guard_notes, is_store_older=is_store_older)
    return sync_once(ctx, request, plan=plan, guard=guard, prepare=prepare, progress=progress)


def _unequal_facts(ctx: SyncContext) -> Iterator[str]:
    """The facts that are not in the store as their bases have them.

    Notes that are not as the bases have them are found by the scan, so that a rebuild holds in
    memory only what differs.
    """
    fact_ids = iter(ctx.archive.revisions())
    while batch := list(islice(fact_ids, CASES_IN_MEMORY)):
        bases, facts = ctx.archive.find_bases(batch), ctx.store.find_many(batch)
        for fact_id in batch:
            base, fact = bases[fact_id].fact, facts.get(fact_id)
            if fact != base or fact.revision != base.revision:
                yield fact_id


def _leave_to_next_run(case: Case, why: str) -> PlannedAction:
    """No action for a fact that the source lacks: the next run decides by the table."""
    if case.vault.change is VaultChange.FOREIGN and case.store.is_purged:
        return make_action(case, ActionKind.NEEDS_REVIEW, PURGED_REASON)
    return make_action(case, ActionKind.WAIT if case.base else ActionKind.NOTHING, why)


def plan_from_vault(case: Case, work: SyncRun, *, is_store_older: bool = False) -> PlannedAction:
    """Make one fact equal to its note."""
    change, reason = case.vault.change, "from its note"
    if change in _NOT_READ:
        if case.base is None or not _is_outdated(work.ctx, case, case.base):
            return make_action(case, ActionKind.NEEDS_REVIEW, _UNREADABLE_REASON)
        # Otherwise the outdated fact would overwrite the note in the next run.
        base = case.base
        read = base_note(work.ctx, base)
        vault_side = VaultSide(VaultChange.UNCHANGED, base.path, base.sha, read, base.fact)
        case, reason = case._replace(vault=vault_side), "as its note was last read"
    action = _leave_to_next_run(case, "it has no note")
    if change is VaultChange.NONE and case.store.change is StoreChange.CREATED:
        return _plan_without_note(action, case, work, is_store_older=is_store_older)
    if change in _NO_NOTE or case.store.is_purged:
        return action
    action = action.evolve(do=ActionKind.RECORD, reason="both are equal")
    # A damaged row is replaced, and so is what was deleted.
    replaced = (*_TOMBSTONE, StoreChange.UNAVAILABLE)
    missing = case.store.change in (*_ABSENT, *replaced)
    fact = case.vault.fact or overlay_note(None if missing else case.store.fact, action, work)
    store = case.store.fact
    if store is not None and case.vault.fact is None:
        fact = fact.evolve(scope=store.scope)  # an unreadable note must not widen the scope
    if missing:
        do = ActionKind.CREATE_FACT if case.store.change in _ABSENT else ActionKind.RESTORE_FACT
        return action.evolve(do=do, vault=fact, merged=fact, reason=reason)
    assert store is not None  # noqa: S101 - it exists
    keys = differing_keys(fact, store)
    if keys:
        action = action.evolve(do=ActionKind.UPDATE_STORE, reason=reason, replaces=True)
    note, vault = action.note, fact
    assert note is not None  # noqa: S101 - there is one
    if case.vault.fact is None:
        vault = values_shown(fact, note)
    if change not in _NOT_READ and stale_keys(note, vault, fact):
        # Its id is missing, or only the store has the value of a field.
        do = ActionKind.MERGE if keys else ActionKind.UPDATE_VAULT
        action = action.evolve(do=do, reason=reason)
    return action.evolve(vault=vault, merged=fact, fields=keys)


def _is_outdated(ctx: SyncContext, case: Case, base: Base) -> bool:
    """Whether the store only has former values of the fact, by the history.

    A deletion is a former value if the note was deleted at some time.
    """
    store = case.store.fact or base.fact
    entries = ctx.archive.history(fact_id=case.fact_id)
    if case.store.change is StoreChange.DELETED:
        return any(each.field == "note" and each.after is None for each in entries)
    former_values = [(each.key, old) for each in entries for old in (each.before, each.after)]
    return all(
        any(field == key and equal_as_json(old, store.plain(key)) for field, old in former_values)
        for key in differing_keys(base.fact, store)
    )


def _plan_without_note(
    action: PlannedAction, case: Case, work: SyncRun, *, is_store_older: bool
) -> PlannedAction:
    """Give a new fact a note, unless an older store brought it back: it was deleted since."""
    fact = action.store
    assert fact is not None  # noqa: S101 - it is in the store
    if is_store_older and any(deleted_before(work.ctx, [fact])):
        reason = "it was deleted since, and the store is older"
        deleted = fact.evolve(path=case.last_path)
        return action.evolve(do=ActionKind.DELETE_FACT, vault=deleted, reason=reason)
    action = plan_note(action, work, was_at=case.last_path)
    return action.evolve(do=ActionKind.CREATE_NOTE, reason="a new fact")


def plan_from_store(case: Case, work: SyncRun) -> PlannedAction:
    """Make one note equal to its fact."""
    change = case.vault.change
    if change in _NOT_READ:
        return make_action(case, ActionKind.NEEDS_REVIEW, _UNREADABLE_REASON)
    action = _leave_to_next_run(case, "the store does not have it")
    if case.store.change is StoreChange.UNAVAILABLE:
        return make_action(case, ActionKind.WAIT, DAMAGED_REASON)
    if case.store.change in _ABSENT:
        return action
    if case.store.change in _TOMBSTONE:
        if change in _NO_NOTE:
            do = ActionKind.DROP_BASE if case.base else ActionKind.NOTHING
            return action.evolve(do=do, reason="deleted on both sides")
        action = _with_overruled_values(action, work)
        return action.evolve(do=ActionKind.DELETE_NOTE, reason="deleted in the store")
    if change in _NO_NOTE:
        return plan_note(action, work, was_at=case.last_path).evolve(
            do=ActionKind.CREATE_NOTE, reason="from the store"
        )
    action = _with_overruled_values(action, work)
    note, vault, store = action.note, action.vault, action.store
    assert note and vault and store  # noqa: S101, PT018 - both sides are there
    merged = store.evolve(path=note.path)
    keys = stale_keys(note, vault, merged)
    do = ActionKind.UPDATE_VAULT if keys else ActionKind.RECORD
    return action.evolve(do=do, merged=merged, fields=keys, reason="from the store")


def _with_overruled_values(action: PlannedAction, work: SyncRun) -> PlannedAction:
    """The action with the values of the note, and with those that the store overrules."""
    store, base = action.store, action.base
    assert store is not None  # noqa: S101 - it exists, or has a tombstone
    vault = action.vault or overlay_note(store, action, work)
    edits = None if base is None else differing_keys(base, vault)
    discarded = (x for x in differing_keys(vault, store) if edits is None or x in edits)
    return action.evolve(vault=vault, discarded_fields=tuple(discarded))


# -------------------------------------------------------------------------- the guards

_OVERRULES_NOTE = (ActionKind.UPDATE_VAULT, ActionKind.DELETE_NOTE)
_OVERRULES_FACT = (ActionKind.UPDATE_STORE, ActionKind.MERGE, ActionKind.RESTORE_FACT)


def guard_notes(work: SyncRun, *, is_store_older: bool) -> Implausible | None:
    """What a rebuild from the store would undo: edits that only notes have, and newer notes."""
    ctx = work.ctx
    overwritten: list[VaultPath] = []
    older: list[VaultPath] = []
    for case, action in zip(work.cases, work.actions, strict=True):
        path, now, vault = action.path, action.base or action.store, action.vault
        if action.do not in _OVERRULES_NOTE or path is None or now is None or vault is None:
            continue
        history = ctx.archive.history(fact_id=case.fact_id)
        if action.discarded_fields and not is_former(now, vault, history):
            overwritten.append(path)
        elif is_store_older and case.base is not None and _is_outdated(ctx, case, case.base):
            older.append(path)
    new = [a.fact_id for a in work.actions if a.do is ActionKind.CREATE_NOTE and is_store_older]
    deleted = ctx.store.find_many(ctx.archive.note_tombstones(new)).values()
    back = tuple(deleted_before(ctx, deleted))
    return _implausible("store", overwritten, OlderCopy(older, (), back))


def guard_store(work: SyncRun) -> Implausible | None:
    """What a rebuild from the vault would undo: changes that only the store has, newer facts."""
    overwritten = [
        action.path
        for case, action in zip(work.cases, work.actions, strict=True)
        if action.path and action.do in _OVERRULES_FACT and _is_unsynced(work.ctx, case)
    ]
    return _implausible("vault", overwritten, find_older_vault(work))


def _is_unsynced(ctx: SyncContext, case: Case) -> bool:
    """Whether the store has a change that neither the note nor the history knows."""
    if case.base is None:
        return case.store.change is StoreChange.CREATED
    changed = case.store.change in (StoreChange.MODIFIED, StoreChange.DELETED)
    return changed and not _is_outdated(ctx, case, case.base)


def _implausible(
    source: str, overwritten: Sequence[VaultPath], older: OlderCopy
) -> Implausible | None:
    """Why a rebuild is not plausible: what it would overwrite, or that its source is older."""
    other_side = "vault" if source == "store" else "store"
    if older:
        of = "facts" if source == "store" else "notes"
        why = f"the {source} looks like an older copy: of its {of} {older}"
        first = f"`vaultsync rebuild --from {other_side}` keeps what is newer"
    elif overwritten:
        number = count_noun(len(overwritten), "note" if source == "store" else "fact")
        why = f"it would overwrite {number} with edits never synced"
        first = "`vaultsync sync` merges both sides without losing anything"
    else:
        return None
    hint = (
        f"{first}; to rebuild anyway, run `vaultsync rebuild --from {source}"
        " --confirm RUN`, which `vaultsync undo RUN` reverts"
    )
    return Implausible(why, hint, older.examples() or tuple(map(str, overwritten[:MAX_EXAMPLES])))
