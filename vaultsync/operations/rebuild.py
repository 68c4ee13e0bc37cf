"""Rebuild one side and the base from the other. What is replaced stays in the archive."""

from __future__ import annotations

from dataclasses import replace

from vaultsync.model.compare import differing_keys, plain_value
from vaultsync.notes.render import stale_keys
from vaultsync.storage.archive import Base
from vaultsync.sync.changes import StoreChange, VaultChange, VaultSide
from vaultsync.sync.context import SyncContext
from vaultsync.sync.decision_table import ActionKind, PlannedAction
from vaultsync.sync.identity import Case, base_note
from vaultsync.sync.planning import PlanRules, overlay_note, values_shown
from vaultsync.sync.report import Progress, Report
from vaultsync.sync.request import SyncRequest
from vaultsync.sync.run import TablePlanner, sync_with
from vaultsync.sync.snapshot import path_in

_TOMBSTONE = (StoreChange.DELETED, StoreChange.TOMBSTONE)
_ABSENT = (StoreChange.NONE, StoreChange.MISSING)
_NO_NOTE = (VaultChange.NONE, VaultChange.GONE, VaultChange.DELETED)
_HANDS_OFF = (
    VaultChange.UNREADABLE,
    VaultChange.UNSETTLED,
    VaultChange.UNKNOWN,
    VaultChange.COPIED,
)


def rebuild(
    ctx: SyncContext,
    source: str,
    *,
    actor: str = "person",
    progress: Progress | None = None,
) -> Report:
    """Make the other side say what `source` (`vault` or `store`) says, and the base too.

    From the vault: each note becomes what its fact says, with machine fields from the
    base where notes do not show them; a note that cannot be read now counts as it was read
    last where the store only says what was said before that; facts without a note are
    kept, and so is what waits in the outbox: the next pass merges it. From the store: each
    fact becomes what its note says; notes that the store does not know are left alone.

    Raises:
        StoreUnavailableError: both sides are needed.
    """
    state = ctx.store.state()
    with ctx.archive.transaction():
        # The store may be another one than before: from here on it is the one. The
        # cursor stays until all is done: should it end before, an older store is noticed.
        ctx.archive.set_setting("store_id", state.store_id)
    scan = ctx.vault.scan()
    everything = frozenset(
        path_in(folder.path, name) for folder in scan.folders.values() for name in folder.files
    )
    request = SyncRequest(
        kind=f"rebuild-from-{source}",
        reread=everything,
        fact_ids=tuple(base.fact.id for base in ctx.archive.iter_bases()),
        actor=actor,
        trust_store=True,
        drain_outbox_first=source != "vault",
    )
    planner = VaultRebuildPlanner(ctx) if source == "vault" else StoreRebuildPlanner()
    return sync_with(ctx, request, planner, progress=progress)


def _action(case: Case, do: ActionKind, reason: str) -> PlannedAction:
    return PlannedAction(
        do,
        case.fact_id,
        reason,
        path=case.vault.path,
        sha=case.vault.sha,
        revision=case.store.revision,
        note=case.vault.note,
        vault=case.vault.fact,
        store=case.store.fact,
        base=case.base.fact if case.base else None,
        actor=case.store.actor,
        new_id=case.new_id,
    )


def _left_alone(case: Case, why: str) -> PlannedAction:
    """What one side does not have: the pass that follows decides by the table."""
    return _action(case, ActionKind.WAIT if case.base else ActionKind.NOTHING, why)


class VaultRebuildPlanner(TablePlanner):
    """Plans that the store says what the notes say."""

    def __init__(self, ctx: SyncContext) -> None:
        self._ctx = ctx

    def plan(self, case: Case, rules: PlanRules) -> PlannedAction:
        """What to do about one fact."""
        change, how = case.vault.change, "from its note"
        if change in _HANDS_OFF:
            if case.base is None or not self._is_past(case, case.base):
                why = "the note cannot be read; it is left alone"
                return _action(case, ActionKind.NEEDS_REVIEW, why)
            # Else what the note has moved on from would overrule it in the next pass.
            case, how = self._as_last_read(case, case.base), "as its note was read last"
        action = _left_alone(case, "it has no note")
        if change is VaultChange.NONE and case.store.change is StoreChange.CREATED:
            action = self.plan_note(action, case)
            return action.evolve(do=ActionKind.CREATE_NOTE, reason="a new fact")
        if change in _NO_NOTE:
            return action
        action = action.evolve(do=ActionKind.RECORD, reason="both say the same")
        gone = case.store.change in (*_ABSENT, *_TOMBSTONE)
        fact = case.vault.fact or overlay_note(None if gone else case.store.fact, action, rules)
        store = case.store.fact
        if store is not None and case.vault.fact is None:
            fact = fact.evolve(scope=store.scope)  # nobody else may see it for its folder
        if gone:
            do = ActionKind.CREATE_FACT if case.store.change in _ABSENT else ActionKind.RESTORE_FACT
            return action.evolve(do=do, vault=fact, merged=fact, reason=how)
        assert store is not None  # noqa: S101 - it exists
        keys = differing_keys(fact, store)
        if keys:
            action = action.evolve(do=ActionKind.UPDATE_STORE, reason=how, replaces=True)
        note, vault = action.note, fact
        assert note is not None  # noqa: S101 - there is one
        if case.vault.fact is None:
            vault = values_shown(fact, note)
        if change not in _HANDS_OFF and stale_keys(note, vault, fact):
            # Its id was not written yet, or taken out, or only the store knows a field.
            action = action.evolve(
                do=ActionKind.MERGE if keys else ActionKind.UPDATE_VAULT, reason=how
            )
        return action.evolve(vault=vault, merged=fact, fields=keys)

    def _is_past(self, case: Case, base: Base) -> bool:
        """Whether the store, an older one, lost the fact or says what it said before.

        That it is deleted was seen before, too, if its note ever was.
        """
        store = case.store.fact or base.fact
        entries = self._ctx.archive.history(fact_id=case.fact_id)
        if case.store.change is StoreChange.DELETED and any(
            each.field == "note" and each.after is None for each in entries
        ):
            return True
        said = [(each.field, old) for each in entries for old in (each.before, each.after)]
        return all(
            (key, plain_value(store.value(key))) in said for key in differing_keys(base.fact, store)
        )

    def _as_last_read(self, case: Case, base: Base) -> Case:
        note = base_note(self._ctx, base)
        side = VaultSide(VaultChange.UNCHANGED, base.path, base.sha, note, base.fact)
        return case._replace(vault=side)


class StoreRebuildPlanner(TablePlanner):
    """Plans that the notes say what the store says."""

    def plan(self, case: Case, rules: PlanRules) -> PlannedAction:
        """What to do about one fact."""
        change = case.vault.change
        if change in _HANDS_OFF:
            return _action(
                case,
                ActionKind.NEEDS_REVIEW,
                "the note cannot be read; it is left alone",
            )
        action = _left_alone(case, "the store does not know it")
        if case.store.change in _ABSENT:
            return action
        if case.store.change in _TOMBSTONE:
            if change in _NO_NOTE:
                do = ActionKind.DROP_BASE if case.base else ActionKind.NOTHING
                return action.evolve(do=do, reason="deleted on both sides")
            action = _overruling(action, rules)
            return action.evolve(do=ActionKind.DELETE_NOTE, reason="deleted in the store")
        if change in _NO_NOTE:
            made = self.plan_note(action, case)
            return made.evolve(do=ActionKind.CREATE_NOTE, reason="from the store")
        action = _overruling(action, rules)
        note, vault, store = action.note, action.vault, action.store
        assert note and vault and store  # noqa: S101, PT018 - both sides are there
        merged = replace(store, path=note.path)
        keys = stale_keys(note, vault, merged)
        do = ActionKind.UPDATE_VAULT if keys else ActionKind.RECORD
        return action.evolve(do=do, merged=merged, fields=keys, reason="from the store")


def _overruling(action: PlannedAction, rules: PlanRules) -> PlannedAction:
    """The action with what the note is taken to mean, and what of that is lost to it."""
    store, base = action.store, action.base
    assert store is not None  # noqa: S101 - it exists, or is buried
    vault = action.vault or overlay_note(store, action, rules)
    edits = None if base is None else differing_keys(base, vault)
    lost = (x for x in differing_keys(vault, store) if edits is None or x in edits)
    return action.evolve(vault=vault, discarded_fields=tuple(lost))
