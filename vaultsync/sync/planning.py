"""Plan what to do about each case, before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter

from vaultsync.model.compare import differing_keys
from vaultsync.model.fact import Fact
from vaultsync.model.file_names import file_name, free_path
from vaultsync.model.paths import VaultPath, file_name_of, parent_folder, path_info, path_key
from vaultsync.model.schema import (
    DEFAULT_PRIORITY,
    FIELDS,
    RELATED_KEY,
    TIERS,
    TYPES,
    FieldOwner,
    Value,
)
from vaultsync.model.serialization import fact_to_values
from vaultsync.notes.conflict_note import CHANGED_SIDE, DELETED_SIDE, NOTE_FIELD, FieldConflict
from vaultsync.notes.parse import Note, home_folder, type_of_folder
from vaultsync.notes.render import stale_keys
from vaultsync.notes.view import NoteView
from vaultsync.storage.archive import Notice
from vaultsync.sync.changes import StoreChange, StoreFeed, VaultChange, moved_scope
from vaultsync.sync.context import SyncContext
from vaultsync.sync.decision_table import REASON_GONE, ActionKind, Decision, PlannedAction, decide
from vaultsync.sync.identity import Case, NoteIdentities, TakenKeys, base_note
from vaultsync.sync.merge import merge
from vaultsync.sync.report import ActionTaken
from vaultsync.sync.snapshot import ScannedFile, VaultSnapshot, is_managed_path
from vaultsync.sync.sync_request import SyncRequest

DAMAGED_REASON = "its row in the store is damaged"
PURGED_REASON = "its fact was erased by `vaultsync purge`"
SECOND_NOTE_REASON = "a second note of a fact that was deleted"
_ELSEWHERE_REASON = (
    "the note is gone, or where nothing is read now; its fact is kept until that is read"
)


@dataclass
class SyncRun:
    """A run in progress: what it found, and its plan."""

    ctx: SyncContext
    request: SyncRequest
    run: str
    snapshot: VaultSnapshot
    identities: NoteIdentities
    cases: list[Case]
    unchanged: Sequence[ScannedFile]
    """New notes that equal their facts, so that only their bases are missing."""
    feed: StoreFeed
    actions: list[PlannedAction] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    """The notices about the scan and the plan."""
    settled: Sequence[ActionTaken] = ()
    """The conflicts that the user settled in their notes."""

    @cached_property
    def taken(self) -> TakenKeys:
        """The keys of the paths in use and of planned ones."""
        return TakenKeys(self.identities)

    @cached_property
    def queued(self) -> AbstractSet[str]:
        """The facts of which a write is in the outbox."""
        return {entry.fact_id for entry in self.ctx.archive.outbox()}

    def release_cases(self) -> None:
        """Free the memory of what only the plan and its guard need."""
        self.cases = []
        vars(self).pop("taken", None)


def make_action(case: Case, do: ActionKind, reason: str) -> PlannedAction:
    """An action for a case, with all values of the case."""
    vault, store = case.vault, case.store
    return PlannedAction(
        do=do,
        fact_id=case.fact_id,
        reason=reason,
        path=vault.path,
        sha=vault.sha,
        revision=store.revision,
        note=vault.note,
        vault=vault.fact,
        store=store.fact,
        base=case.base.fact if case.base else None,
        actor=store.actor,
        acknowledged=store.acknowledged,
        new_id=case.new_id,
    )


def plan_case(case: Case, work: SyncRun) -> PlannedAction:
    """The planned action for one fact, from its row of the table."""
    vault, store = case.vault, case.store
    do, reason = _decide(case, work)
    action = make_action(case, do, reason)
    match do:
        case (
            ActionKind.RECORD | ActionKind.UPDATE_STORE | ActionKind.UPDATE_VAULT | ActionKind.MERGE
        ):
            return _plan_merge(action, case, work)
        case ActionKind.CREATE_NOTE:
            return plan_note(action, work, was_at=case.last_path)
        case ActionKind.RECREATE_NOTE:
            both = FieldConflict(NOTE_FIELD, store.revision, DELETED_SIDE, CHANGED_SIDE)
            return plan_note(action, work).evolve(conflicts=(both,))
        case ActionKind.CREATE_FACT:
            fact = vault.fact or overlay_note(None, action, work)
            return action.evolve(vault=fact, merged=fact, fields=_store_values(fact))
        case ActionKind.REVIVE_FACT:
            both = FieldConflict(NOTE_FIELD, store.revision, CHANGED_SIDE, DELETED_SIDE)
            return action.evolve(merged=vault.fact, fields=("note",), conflicts=(both,))
        case ActionKind.RESTORE_FACT:
            fact = overlay_note(store.fact, action, work)
            assert vault.note is not None  # noqa: S101 - these rows have a note
            return action.evolve(
                vault=values_shown(fact, vault.note), merged=fact, fields=("note",)
            )
        case _:
            return action


def _decide(case: Case, work: SyncRun) -> Decision:
    """The row of the table, unless the decision depends on something else."""
    change = case.vault.change
    if change is VaultChange.FOREIGN and case.vault.path in work.request.adopt:
        change = VaultChange.CREATED
    decision = decide(change, case.store.change, base=case.base is not None)
    if case.store.change is StoreChange.UNAVAILABLE and work.feed.is_available:
        return Decision(ActionKind.WAIT, DAMAGED_REASON)
    if decision.do is ActionKind.NEEDS_REVIEW and change is VaultChange.FOREIGN:
        if case.fact_id in work.queued:
            return Decision(ActionKind.WAIT, "its fact is in the outbox")
        path = case.vault.path or VaultPath("")
        if not is_managed_path(path, work.snapshot.adopted):
            return Decision(ActionKind.NOTHING, "a note outside the adopted folders")
        if case.store.is_purged:
            return Decision(ActionKind.NEEDS_REVIEW, PURGED_REASON)
    if decision.do is ActionKind.RESTORE_FACT and change is VaultChange.FOREIGN:
        notices = work.ctx.archive.notices()
        if any(x.kind == "twins" and x.path == case.vault.path for x in notices):
            return Decision(ActionKind.NEEDS_REVIEW, SECOND_NOTE_REASON)  # it never went away
    if change is VaultChange.GONE and work.identities.may_be_elsewhere:
        return _while_not_found(decision, case)
    return decision


def _while_not_found(decision: Decision, case: Case) -> Decision:
    """The decision about a note that may be where nothing is read: neither side is deleted."""
    if decision.do is ActionKind.DROP_BASE:
        return decide(VaultChange.UNKNOWN, case.store.change, base=True)
    if decision.reason == REASON_GONE:
        return Decision(ActionKind.WAIT, _ELSEWHERE_REASON)
    return decision


def _store_values(fact: Fact) -> tuple[str, ...]:
    values = fact_to_values(fact)
    del values["id"]
    return tuple(values)


def overlay_note(under: Fact | None, action: PlannedAction, work: SyncRun) -> Fact:
    """The fact of a note without a base: the note's values, and the others from `under`."""
    note = action.note
    assert note is not None  # noqa: S101 - these rows have a note
    if under is not None:
        fact = under.overlay(note.values, note.properties)
        return fact.evolve(path=note.path, revision=under.revision)
    from vaultsync.sync.creation_time import creation_time  # noqa: PLC0415 - few runs find notes

    tier, policy, request = note.place.tier, work.ctx.policy, work.request
    shown: dict[str, Value] = {
        "type": type_of_folder(note.place) or request.adopt_type or policy.default_type,
        "createdAt": creation_time(note, work.snapshot.stamp_of(note.path), work.ctx.clock.now()),
        "priority": TIERS[tier][0] if tier else DEFAULT_PRIORITY,
        **note.values,
    }
    scope = note.place.scope or request.adopt_scope or policy.default_scope
    fact = Fact(action.fact_id, scope=scope, path=note.path)
    return fact.overlay(shown, note.properties)


_MAY_BE_SHOWN = tuple(
    row
    for row in FIELDS
    if row.owner in (FieldOwner.SHARED, FieldOwner.MACHINE) and row.key != "type"
)
"""Fields that a note shows if its fact has them, like own fields and properties. A type may come
from the folder or the adoption instead."""
_SHOWN_KEYS = tuple(row.key for row in _MAY_BE_SHOWN)
_GET_SHOWN = attrgetter(*(row.attr for row in _MAY_BE_SHOWN))


def values_shown(fact: Fact, note: Note) -> Fact:
    """The fact with only the values that its note shows.

    A note that equals its fact shows everything, except values that follow from folders and
    links, and invalid ones.
    """
    shown = {*note.values, *note.properties, *(each.key for each in note.problems)}
    if note.place.tier and fact.priority in TIERS[note.place.tier]:
        shown.add("priority")
    if note.body.entities:
        shown.add("entities")
    if note.body.related:
        shown.add(RELATED_KEY)
    fields = dict(zip(_SHOWN_KEYS, _GET_SHOWN(fact), strict=True))
    hidden = [
        key
        for key, value in {**fields, **fact.own, **fact.properties}.items()
        if key not in shown and value not in (None, (), "")
    ]
    return fact.replace(dict.fromkeys(hidden)) if hidden else fact


def _plan_merge(action: PlannedAction, case: Case, work: SyncRun) -> PlannedAction:
    """Merge two existing sides, and determine which of them has to be written."""
    note, store, base, scope = action.note, action.store, action.base, case.vault.scope
    assert note is not None and store is not None  # noqa: S101, PT018 - narrows
    vault = action.vault
    if base is None:
        vault = values_shown(overlay_note(store, action, work), note)
        if note.place.scope not in (None, store.scope):
            scope = note.place.scope
    assert vault is not None  # noqa: S101 - narrows
    if base is None and scope is None and not differing_keys(vault, store):
        return action.evolve(do=ActionKind.RECORD, vault=vault, merged=store.evolve(path=note.path))
    result = merge(base, vault, store)
    fact, from_vault = result.fact, result.from_vault
    if scope is not None and work.request.allow_scope_moves and scope != store.scope:
        fact, from_vault = fact.evolve(scope=scope), (*from_vault, "scope")
    to = None
    if base is not None and not moved_scope(base, note):
        to = _relocation(base, fact, note, work)
    if to is not None:
        fact = fact.evolve(path=to)
    keys = stale_keys(note, vault, fact)
    moved = base is not None and note.path != base.path
    writes_vault = bool(keys) or to is not None
    do = {
        (True, True): ActionKind.MERGE,
        (True, False): ActionKind.UPDATE_STORE,
        (False, True): ActionKind.UPDATE_VAULT,
        (False, False): ActionKind.RECORD,
    }[bool(from_vault), writes_vault]
    invalid = {problem.key for problem in note.problems}
    from_store = [key for key in result.from_store if key not in invalid]
    fields = dict.fromkeys([*from_vault, *from_store, *keys])
    put_back = result.reverted
    if case.base is not None and note.id != case.fact_id:
        # The id of a read-only note may never have been written.
        text = work.identities.unrecorded.get(case.fact_id)
        was_removed = note.id != base_note(work.ctx, case.base, text).id
        put_back = ("id",) * was_removed + put_back
    reason = action.reason
    if "scope" in from_vault:
        reason = "moved to another scope"
    return action.evolve(
        do=do,
        reason=reason,
        vault=vault,
        merged=fact,
        to=to,
        fields=tuple(fields),
        conflicts=result.conflicts,
        reverted=put_back,
        moved=moved or to is not None,
    )


def _relocation(base: Fact, fact: Fact, note: Note, work: SyncRun) -> VaultPath | None:
    """The new path of a note whose type, tier or scope was changed in the store.

    None if it is not in its default folder, because the user may have moved it.
    """
    old = home_folder(base)
    new = home_folder(fact)
    if old == new or parent_folder(note.path) != old:
        return None
    return _reserve_free_path(new, file_name_of(note.path), fact.id, work.taken)


def _reserve_free_path(
    folder: VaultPath, name: str, fact_id: str, taken: set[str] | TakenKeys
) -> VaultPath:
    path = free_path(folder, name, taken, fact_id=fact_id)
    taken.add(path_key(path))
    return path


def plan_note(
    action: PlannedAction, work: SyncRun, *, was_at: VaultPath | None = None
) -> PlannedAction:
    """Plan a note for a fact: at its last path if that is free, otherwise in its default folder."""
    fact = action.store
    assert fact is not None  # noqa: S101 - these rows have a fact
    shown, taken = work.ctx.view.to_note(fact), work.taken
    old = action.base.path if action.base else was_at
    if old and path_info(old).scope not in (None, fact.scope):
        old = None
    if old and path_key(old) not in taken:
        path = old
        taken.add(path_key(path))
    else:
        path = path_for_new_note(shown, taken)
    keys = _store_values(fact)
    merged = fact.evolve(path=path)
    return action.evolve(path=path, merged=merged, shown=shown, sha=None, fields=keys)


def with_fact(action: PlannedAction, fact: Fact, view: NoteView) -> PlannedAction:
    """A brief action with its fact; unchanged if the fact is not the planned one."""
    if fact.revision != action.revision:
        return action
    return action.evolve(store=fact, merged=fact.evolve(path=action.path), shown=view.to_note(fact))


def path_for_new_note(fact: Fact, taken: set[str] | TakenKeys) -> VaultPath:
    """The path for a new note of a fact; its key is added to `taken`.

    `fact` is the fact as its note shows it.
    """
    row = TYPES[fact.type]
    name = file_name(
        title=fact.title,
        type_name=fact.type,
        created_at=fact.created_at,
        fact_id=fact.id,
        named=row.named,
    )
    return _reserve_free_path(home_folder(fact), name, fact.id, taken)
