"""Rebuild one side and the base from the other. What is replaced stays in the archive."""

from __future__ import annotations

from dataclasses import replace

from vaultsync.model.compare import differing, plain
from vaultsync.notes.render import stale
from vaultsync.storage.archive import Base
from vaultsync.sync.changes import StoreChange, VaultChange, VaultSide
from vaultsync.sync.context import Mirror
from vaultsync.sync.decision_table import Action, Do
from vaultsync.sync.identity import Case, base_note
from vaultsync.sync.pass_types import Request
from vaultsync.sync.planning import Rules, laid_over, shown_by
from vaultsync.sync.report import Progress, Report
from vaultsync.sync.run import ByTheTable, sync_with
from vaultsync.sync.snapshot import path_in

_TOMBSTONE = (StoreChange.DELETED, StoreChange.BURIED)
_ABSENT = (StoreChange.NONE, StoreChange.MISSING)
_NO_NOTE = (VaultChange.NONE, VaultChange.GONE, VaultChange.DELETED)
_HANDS_OFF = (
    VaultChange.UNREADABLE,
    VaultChange.UNSETTLED,
    VaultChange.UNKNOWN,
    VaultChange.COPIED,
)


def rebuild(
    mirror: Mirror,
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
    state = mirror.store.state()
    with mirror.archive.transaction():
        # The store may be another one than before: from here on it is the one. The
        # cursor stays until all is done: should it end before, an older store is noticed.
        mirror.archive.set_setting("store_id", state.store_id)
    scan = mirror.vault.scan()
    everything = frozenset(
        path_in(folder.path, name)
        for folder in scan.folders.values()
        for name in folder.files
    )
    request = Request(
        kind=f"rebuild-from-{source}",
        look_again=everything,
        named=tuple(base.fact.id for base in mirror.archive.iter_bases()),
        actor=actor,
        trust_store=True,
        deliver=source != "vault",
    )
    planner = FromVault(mirror) if source == "vault" else FromStore()
    return sync_with(mirror, request, planner, progress=progress)


def _action(case: Case, do: Do, reason: str) -> Action:
    return Action(
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


def _left_alone(case: Case, why: str) -> Action:
    """What one side does not have: the pass that follows decides by the table."""
    return _action(case, Do.WAIT if case.base else Do.NOTHING, why)


class FromVault(ByTheTable):
    """Plans that the store says what the notes say."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror

    def plan(self, case: Case, rules: Rules) -> Action:
        """What to do about one fact."""
        change, how = case.vault.change, "from its note"
        if change in _HANDS_OFF:
            if case.base is None or not self._is_past(case, case.base):
                why = "the note cannot be read; it is left alone"
                return _action(case, Do.ATTEND, why)
            # Else what the note has moved on from would overrule it in the next pass.
            case, how = self._as_last_read(case, case.base), "as its note was read last"
        action = _left_alone(case, "it has no note")
        if change is VaultChange.NONE and case.store.change is StoreChange.CREATED:
            return replace(
                self.plan_note(action, case), do=Do.CREATE_NOTE, reason="a new fact"
            )
        if change in _NO_NOTE:
            return action
        action = action.but(do=Do.RECORD, reason="both say the same")
        gone = case.store.change in (*_ABSENT, *_TOMBSTONE)
        fact = case.vault.fact or laid_over(
            None if gone else case.store.fact, action, rules
        )
        store = case.store.fact
        if store is not None and case.vault.fact is None:
            fact = fact.but(scope=store.scope)  # nobody else may see it for its folder
        if gone:
            do = Do.CREATE_FACT if case.store.change in _ABSENT else Do.RESTORE_FACT
            return action.but(do=do, vault=fact, merged=fact, reason=how)
        assert store is not None  # noqa: S101 - it exists
        keys = differing(fact, store)
        if keys:
            action = action.but(do=Do.UPDATE_STORE, reason=how, replaces=True)
        note, vault = action.note, fact
        assert note is not None  # noqa: S101 - there is one
        if case.vault.fact is None:
            vault = shown_by(fact, note)
        if change not in _HANDS_OFF and stale(note, vault, fact):
            # Its id was not written yet, or taken out, or only the store knows a field.
            action = action.but(do=Do.MERGE if keys else Do.UPDATE_VAULT, reason=how)
        return action.but(vault=vault, merged=fact, fields=keys)

    def _is_past(self, case: Case, base: Base) -> bool:
        """Whether the store, an older one, lost the fact or says what it said before.

        That it is deleted was seen before, too, if its note ever was.
        """
        store = case.store.fact or base.fact
        entries = self._mirror.archive.history(fact_id=case.fact_id)
        if case.store.change is StoreChange.DELETED and any(
            each.field == "note" and each.after is None for each in entries
        ):
            return True
        said = [
            (each.field, old) for each in entries for old in (each.before, each.after)
        ]
        return all(
            (key, plain(store.value(key))) in said
            for key in differing(base.fact, store)
        )

    def _as_last_read(self, case: Case, base: Base) -> Case:
        note = base_note(self._mirror, base)
        side = VaultSide(VaultChange.UNCHANGED, base.path, base.sha, note, base.fact)
        return case._replace(vault=side)


class FromStore(ByTheTable):
    """Plans that the notes say what the store says."""

    def plan(self, case: Case, rules: Rules) -> Action:
        """What to do about one fact."""
        change = case.vault.change
        if change in _HANDS_OFF:
            return _action(case, Do.ATTEND, "the note cannot be read; it is left alone")
        action = _left_alone(case, "the store does not know it")
        if case.store.change in _ABSENT:
            return action
        if case.store.change in _TOMBSTONE:
            if change in _NO_NOTE:
                do = Do.DROP_BASE if case.base else Do.NOTHING
                return action.but(do=do, reason="deleted on both sides")
            action = _overruling(action, rules)
            return action.but(do=Do.DELETE_NOTE, reason="deleted in the store")
        if change in _NO_NOTE:
            made = self.plan_note(action, case)
            return made.but(do=Do.CREATE_NOTE, reason="from the store")
        action = _overruling(action, rules)
        note, vault, store = action.note, action.vault, action.store
        assert note and vault and store  # noqa: S101, PT018 - both sides are there
        merged = replace(store, path=note.path)
        keys = stale(note, vault, merged)
        do = Do.UPDATE_VAULT if keys else Do.RECORD
        return action.but(do=do, merged=merged, fields=keys, reason="from the store")


def _overruling(action: Action, rules: Rules) -> Action:
    """The action with what the note is taken to mean, and what of that is lost to it."""
    store, base = action.store, action.base
    assert store is not None  # noqa: S101 - it exists, or is buried
    vault = action.vault or laid_over(store, action, rules)
    edits = None if base is None else differing(base, vault)
    lost = (x for x in differing(vault, store) if edits is None or x in edits)
    return action.but(vault=vault, overruled=tuple(lost))
