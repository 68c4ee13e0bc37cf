"""Cases -> the plan: what to do about each fact, decided before anything is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from vaultsync.model.compare import differing
from vaultsync.model.fact import Fact
from vaultsync.model.paths import (
    VaultPath,
    file_name,
    folder_for,
    free_path,
    key_of,
    name_of,
    parent,
    place,
)
from vaultsync.model.schema import DEFAULT_PRIORITY, FIELDS, TIERS, TYPES, Owner, Value
from vaultsync.model.serialization import to_values
from vaultsync.notes.conflict_note import CHANGED, DELETED, NOTE, FieldConflict
from vaultsync.notes.parse import TYPE_FOLDERS, Note, tier_folder, type_of_folder
from vaultsync.notes.render import stale
from vaultsync.notes.view import CLEAR, Lens
from vaultsync.storage.archive import Attention
from vaultsync.sync.changes import VaultChange, moved_scope
from vaultsync.sync.decision_table import Action, Do, decide
from vaultsync.sync.identity import Case
from vaultsync.sync.merge import merge


@dataclass(slots=True)
class Plan:
    """The frozen list of actions, and what a person should know."""

    actions: list[Action] = field(default_factory=list)
    notices: list[Attention] = field(default_factory=list)
    unchanged: int = 0


@dataclass(frozen=True, slots=True)
class Rules:
    """What the caller of a pass allowed."""

    allow_scope_moves: bool = False
    adopt: frozenset[VaultPath] = frozenset()
    """Notes to be taken even when they carry ids that this store never gave."""
    default_scope: str = "public"
    created_at: str = ""
    """The time of creation of notes that do not say one."""
    type_name: str = "note"
    lens: Lens = CLEAR
    """What the name of a file may show."""


class Taken:
    """The keys of the paths that no new note may have, gathered when first asked for."""

    def __init__(self, gather: Callable[[], set[str]]) -> None:
        self._gather = gather
        self._keys: set[str] | None = None

    def _gathered(self) -> set[str]:
        if self._keys is None:
            self._keys = self._gather()
        return self._keys

    def __contains__(self, key: object) -> bool:
        """Whether a path of that key is taken."""
        return key in self._gathered()

    def add(self, key: str) -> None:
        """Take a path."""
        self._gathered().add(key)


_UNPLANNED = Action(Do.NOTHING, "", "")
"""To copy it takes half as long as to make an action: one is made of each fact."""


def plan_case(case: Case, taken: Taken, rules: Rules) -> Action:
    """What to do about one fact."""
    vault, store = case.vault, case.store
    change = vault.change
    if change is VaultChange.FOREIGN and vault.path in rules.adopt:
        change = VaultChange.CREATED
    row = decide(change, store.change, base=case.base is not None)
    do, reason = row
    if do is Do.ATTEND and change is VaultChange.FOREIGN and case.elsewhere:
        do, reason = Do.NOTHING, "a note outside of what was adopted"
    base = case.base.fact if case.base else None
    action = _UNPLANNED.but(
        do=do,
        fact_id=case.fact_id,
        reason=reason,
        path=vault.path,
        sha=vault.sha,
        revision=store.revision,
        note=vault.note,
        vault=vault.fact,
        store=store.fact,
        base=base,
        actor=store.actor,
        new_id=case.new_id,
    )
    match do:
        case Do.RECORD | Do.UPDATE_STORE | Do.UPDATE_VAULT | Do.MERGE:
            return _plan_merge(action, vault.scope, taken, rules)
        case Do.CREATE_NOTE:
            return plan_note(action, taken, lens=rules.lens, was_at=case.was_at)
        case Do.RECREATE_NOTE:
            both = FieldConflict(NOTE, store.revision, DELETED, CHANGED)
            return plan_note(action, taken, lens=rules.lens).but(conflicts=(both,))
        case Do.CREATE_FACT:
            fact = vault.fact or laid_over(None, action, rules)
            return action.but(vault=fact, merged=fact, fields=_said(fact))
        case Do.REVIVE_FACT:
            both = FieldConflict(NOTE, store.revision, CHANGED, DELETED)
            return _plan_revival(action, vault.fact).but(conflicts=(both,))
        case Do.RESTORE_FACT:
            fact = laid_over(store.fact, action, rules)
            assert vault.note is not None  # noqa: S101 - these rows have a note
            return _plan_revival(action, fact).but(vault=shown_by(fact, vault.note))
        case _:
            return action


def _said(fact: Fact) -> tuple[str, ...]:
    return tuple(key for key in to_values(fact) if key != "id")


def laid_over(under: Fact | None, action: Action, rules: Rules) -> Fact:
    """What a note without a base means: what it shows, the rest as `under` has it."""
    note = action.note
    assert note is not None  # noqa: S101 - these rows have a note
    if under is not None:
        fact = under.laid_over(note.values, note.properties)
        return fact.but(path=note.path, revision=under.revision)
    tier = note.place.tier
    shown: dict[str, Value] = {
        "type": type_of_folder(note.place) or rules.type_name,
        "createdAt": rules.created_at,
        "priority": TIERS[tier][0] if tier else DEFAULT_PRIORITY,
        **note.values,
    }
    scope = note.place.scope or rules.default_scope
    fact = Fact(action.fact_id, scope=scope, path=note.path)
    return fact.laid_over(shown, note.properties)


_MAY_BE_SHOWN = tuple(
    row
    for row in FIELDS
    if row.owner in (Owner.SHARED, Owner.MACHINE) and row.key != "type"
)
"""What a note shows when its fact has it, as it does own fields and properties; a type
may be its folder's, or was given by whoever adopted it."""
_SHOWN_KEYS = tuple(row.key for row in _MAY_BE_SHOWN)
_GET_SHOWN = attrgetter(*(row.attr for row in _MAY_BE_SHOWN))


def shown_by(fact: Fact, note: Note) -> Fact:
    """What a note without a base says, and nothing that only the store knows.

    In notes that agree with their facts nothing is missing, but for what folders and
    links tell and what cannot be read.
    """
    told = {*note.values, *note.properties, *(each.key for each in note.problems)}
    if note.place.tier and fact.priority in TIERS[note.place.tier]:
        told.add("priority")
    if note.body.entities:
        told.add("entities")
    if note.body.related:
        told.add("relatedFactIds")
    held = dict(zip(_SHOWN_KEYS, _GET_SHOWN(fact), strict=True))
    hidden = [
        key
        for key, value in {**held, **fact.own, **fact.properties}.items()
        if key not in told and value not in (None, (), "")
    ]
    return fact.changed(dict.fromkeys(hidden)) if hidden else fact


def _plan_revival(action: Action, fact: Fact | None) -> Action:
    assert fact is not None  # noqa: S101 - these rows have a note
    return action.but(vault=fact, merged=fact, fields=("note",))


def _plan_merge(
    action: Action, scope: str | None, taken: Taken, rules: Rules
) -> Action:
    """Both sides are there: merge, and see which of them has to be written."""
    note, store, base = action.note, action.store, action.base
    assert note is not None and store is not None  # noqa: S101, PT018 - narrows
    vault = action.vault
    if base is None:
        vault = shown_by(laid_over(store, action, rules), note)
        if note.place.scope not in (None, store.scope):
            scope = note.place.scope
    assert vault is not None  # noqa: S101 - narrows
    if base is None and scope is None and not differing(vault, store):
        same = store.but(path=note.path)
        return action.but(do=Do.RECORD, vault=vault, merged=same)
    done = merge(base, vault, store)
    fact, from_vault = done.fact, done.from_vault
    if scope is not None and rules.allow_scope_moves and scope != store.scope:
        fact, from_vault = fact.but(scope=scope), (*from_vault, "scope")
    to = None
    if base is not None and not moved_scope(base, note):
        to = _relocation(base, fact, note, taken)
    if to is not None:
        fact = fact.but(path=to)
    keys = stale(note, vault, fact)
    moved = base is not None and note.path != base.path
    writes_vault = bool(keys) or to is not None
    do = {
        (True, True): Do.MERGE,
        (True, False): Do.UPDATE_STORE,
        (False, True): Do.UPDATE_VAULT,
        (False, False): Do.RECORD,
    }[bool(from_vault), writes_vault]
    held = {problem.key for problem in note.problems}
    theirs = [key for key in done.from_store if key not in held]
    fields = dict.fromkeys([*from_vault, *theirs, *keys])
    put_back = done.put_back
    if base is not None and note.id != base.id:
        put_back = ("id", *put_back)
    reason = action.reason
    if "scope" in from_vault:
        reason = "moved to another scope"
    return action.but(
        do=do,
        reason=reason,
        vault=vault,
        merged=fact,
        to=to,
        fields=tuple(fields),
        conflicts=done.conflicts,
        put_back=put_back,
        moved=moved or to is not None,
    )


def _relocation(base: Fact, fact: Fact, note: Note, taken: Taken) -> VaultPath | None:
    """Where a note goes when the store changed its type, tier or scope.

    Only from the folder where such a note belongs: a place a person chose is theirs.
    """
    old = home_of(base)
    new = home_of(fact)
    if old == new or parent(note.path) != old:
        return None
    return _free(new, name_of(note.path), fact.id, taken)


def home_of(fact: Fact) -> VaultPath:
    """The folder in which the note of a fact belongs."""
    return folder_for(
        scope=fact.scope, folder=TYPES[fact.type].folder, tier=tier_folder(fact)
    )


def _free(folder: VaultPath, name: str, fact_id: str, taken: Taken) -> VaultPath:
    path = free_path(folder, name, taken, fact_id=fact_id)
    taken.add(key_of(path))
    return path


def plan_note(
    action: Action, taken: Taken, *, lens: Lens, was_at: VaultPath | None = None
) -> Action:
    """A fact gets a note: where it was when that is free, else where it belongs."""
    fact = action.store
    assert fact is not None  # noqa: S101 - these rows have a fact
    shown = lens.shown(fact)
    old = action.base.path if action.base else was_at
    if old and place(old, TYPE_FOLDERS).scope not in (None, fact.scope):
        old = None
    if old and key_of(old) not in taken:
        taken.add(key_of(old))
        path = old
    else:
        path = new_path(shown, taken)
    merged = fact.but(path=path)
    said = _said(fact)
    return action.but(path=path, merged=merged, shown=shown, sha=None, fields=said)


def new_path(fact: Fact, taken: Taken) -> VaultPath:
    """Where the note of a fact belongs that has none; the fact as its note shows it."""
    row = TYPES[fact.type]
    name = file_name(
        title=fact.title,
        type_name=fact.type,
        created_at=fact.created_at,
        fact_id=fact.id,
        named=row.named,
    )
    return _free(home_of(fact), name, fact.id, taken)


def waits(actions: Sequence[Action]) -> list[str]:
    """The facts that the next pass has to look at again."""
    return [
        action.fact_id
        for action in actions
        if (action.do is Do.WAIT and not action.new_id)
        or (action.do is Do.ATTEND and (action.base, action.store) != (None, None))
    ]
