"""The decision table: changes in the vault and in the store -> what to do.

It is total: each pair of changes has a row. The tables in the docs are generated from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.notes.conflict_note import FieldConflict
from vaultsync.notes.parse import Note
from vaultsync.sync.changes import StoreChange, VaultChange


class ActionKind(Enum):
    """The action in a row of the table."""

    NOTHING = "nothing"
    RECORD = "record base"
    UPDATE_STORE = "update store"
    UPDATE_VAULT = "update vault"
    MERGE = "merge"
    CREATE_NOTE = "create note"
    CREATE_FACT = "create fact"
    DELETE_NOTE = "delete note"
    DELETE_FACT = "delete fact"
    RECREATE_NOTE = "create note again"
    REVIVE_FACT = "create fact again"
    RESTORE_FACT = "restore fact"
    DROP_BASE = "drop base"
    WAIT = "wait"
    NEEDS_REVIEW = "ask a person"


RESTORES_FACT = frozenset({ActionKind.REVIVE_FACT, ActionKind.RESTORE_FACT})
CREATES_FACT = frozenset({ActionKind.CREATE_FACT, *RESTORES_FACT})
WRITES_STORE = frozenset(
    {ActionKind.UPDATE_STORE, ActionKind.MERGE, ActionKind.DELETE_FACT, *CREATES_FACT}
)
CREATES_NOTE = frozenset({ActionKind.CREATE_NOTE, ActionKind.RECREATE_NOTE})
EXCHANGES = frozenset({ActionKind.UPDATE_VAULT, ActionKind.MERGE})
DROPS_BASE = frozenset({ActionKind.DELETE_NOTE, ActionKind.DELETE_FACT, ActionKind.DROP_BASE})
LEAVES_ALONE = frozenset({ActionKind.NOTHING, ActionKind.NEEDS_REVIEW})
IDLE = LEAVES_ALONE | {ActionKind.WAIT}
CHANGES_NEITHER = LEAVES_ALONE | {ActionKind.RECORD, ActionKind.DROP_BASE}
"""These change neither side, and are not pending."""


_COUNTED: Mapping[ActionKind, tuple[str, ...]] = MappingProxyType(
    {
        ActionKind.UPDATE_STORE: ("updated_in_store",),
        ActionKind.UPDATE_VAULT: ("updated_in_vault",),
        ActionKind.MERGE: ("updated_in_store", "updated_in_vault"),
        ActionKind.CREATE_NOTE: ("created_in_vault",),
        ActionKind.RECREATE_NOTE: ("created_in_vault",),
        ActionKind.CREATE_FACT: ("created_in_store",),
        ActionKind.REVIVE_FACT: ("created_in_store",),
        ActionKind.RESTORE_FACT: ("created_in_store",),
        ActionKind.DELETE_NOTE: ("deleted_in_vault",),
        ActionKind.DELETE_FACT: ("deleted_in_store",),
    }
)


class Decision(NamedTuple):
    """The action, and the reason that reports show."""

    do: ActionKind
    reason: str


_V, _S = VaultChange, StoreChange

REASON_BASE_ONLY = "same values; only the base is updated"
_SAME = Decision(ActionKind.RECORD, REASON_BASE_ONLY)
_BLOCKED = Decision(ActionKind.NEEDS_REVIEW, "the note cannot be read, and is not changed")
REASON_PARTLY_SAVED = (
    "the note seems to be partly saved; it counts as an edit if it stays so for `settle_seconds`"
)
_HALF = Decision(ActionKind.WAIT, REASON_PARTLY_SAVED)
_FOLDER_UNREADABLE = Decision(
    ActionKind.WAIT, "its folder is not read, so the state of the note is unknown"
)
_DUPLICATE_IDS = Decision(
    ActionKind.NEEDS_REVIEW, "two notes have its id, and neither is at its path"
)
REASON_MOVED = "moved in the vault"
REASON_GONE_BOTH = "deleted on both sides"
REASON_GONE = "the note is gone; the next sync deletes its fact, unless it is back by then"
REASON_CHANGED_DURING_RUN = "changed during this run; the next one syncs it"
_RECHECK = Decision(ActionKind.WAIT, REASON_GONE)
_RECHECK_CHANGED = Decision(
    ActionKind.WAIT,
    "the note is gone, but its fact was changed in the store; the next sync writes the note"
    " again, unless it is back by then",
)
_AWAY = Decision(ActionKind.WAIT, "the store is unavailable")
_LOST = Decision(
    ActionKind.CREATE_FACT, "missing from the store without a tombstone: not a deletion"
)
_GONE_BOTH = Decision(ActionKind.DROP_BASE, REASON_GONE_BOTH)
_AGENT_DELETED = Decision(ActionKind.DELETE_NOTE, "deleted in the store")
_UNCHANGED = Decision(ActionKind.NOTHING, "unchanged")
_TO_VAULT = Decision(ActionKind.UPDATE_VAULT, "changed in the store")
_MOVED = Decision(ActionKind.RECORD, REASON_MOVED)
_MOVED_AND_CHANGED = Decision(ActionKind.MERGE, "moved in the vault, changed in the store")
_TO_STORE = Decision(ActionKind.UPDATE_STORE, "changed in the vault")
_MERGE = Decision(ActionKind.MERGE, "changed on both sides")
_REVIVE = Decision(
    ActionKind.REVIVE_FACT, "changed in the vault, deleted in the store: the edit is kept"
)
_USER_DELETED = Decision(ActionKind.DELETE_FACT, "deleted in the vault")
_RECREATE = Decision(
    ActionKind.RECREATE_NOTE, "deleted in the vault, changed in the store: the edit is kept"
)

_STORE_OF_KNOWN = (
    *(_S.UNCHANGED, _S.TOUCHED, _S.MODIFIED),
    *(_S.DELETED, _S.MISSING, _S.UNAVAILABLE),
)
DECISIONS_WITH_BASE: Mapping[tuple[VaultChange, StoreChange], Decision] = MappingProxyType(
    {
        (vault, store): row
        for vault, rows in (
            (_V.UNCHANGED, (_UNCHANGED, _SAME, _TO_VAULT, _AGENT_DELETED, _LOST, _UNCHANGED)),
            (_V.REFORMATTED, (_SAME, _SAME, _TO_VAULT, _AGENT_DELETED, _LOST, _AWAY)),
            (_V.MOVED, (_MOVED, _MOVED, _MOVED_AND_CHANGED, _AGENT_DELETED, _LOST, _AWAY)),
            (_V.MODIFIED, (_TO_STORE, _TO_STORE, _MERGE, _REVIVE, _LOST, _AWAY)),
            (_V.GONE, (_RECHECK, _RECHECK, _RECHECK_CHANGED, _GONE_BOTH, _RECHECK, _RECHECK)),
            (_V.DELETED, (_USER_DELETED, _USER_DELETED, _RECREATE, _GONE_BOTH, _GONE_BOTH, _AWAY)),
            (_V.UNREADABLE, (_BLOCKED,) * 6),
            (_V.UNSETTLED, (_HALF,) * 6),
            (_V.UNKNOWN, (_FOLDER_UNREADABLE,) * 6),
            (_V.COPIED, (_DUPLICATE_IDS,) * 6),
        )
        for store, row in zip(_STORE_OF_KNOWN, rows, strict=True)
    }
)
"""For facts that have a base, by what changed in the vault, and in the store."""

_NOTHING = Decision(ActionKind.NOTHING, "nothing to do")
_NEW = Decision(ActionKind.CREATE_NOTE, "new in the store")
_NEVER_SHOWN = Decision(ActionKind.NOTHING, "deleted before it had a note")
_FROM_VAULT = Decision(ActionKind.CREATE_FACT, "new in the vault")
_WITHOUT_BASE = "on both sides, without a base"
_MERGE_NEW = Decision(ActionKind.MERGE, _WITHOUT_BASE)
_CAME_BACK = Decision(ActionKind.RESTORE_FACT, "the note came back after its fact was deleted")
_FOREIGN = Decision(ActionKind.NEEDS_REVIEW, "the note has an id that this store does not know")
_STRANGE = Decision(ActionKind.NOTHING, "a note with an unknown id that cannot be read")

_STORE_OF_NEW = (_S.NONE, _S.CREATED, _S.TOMBSTONE, _S.UNAVAILABLE)
DECISIONS_WITHOUT_BASE: Mapping[tuple[VaultChange, StoreChange], Decision] = MappingProxyType(
    {
        (vault, store): row
        for vault, rows in (
            (_V.NONE, (_NOTHING, _NEW, _NEVER_SHOWN, _NOTHING)),
            (_V.CREATED, (_FROM_VAULT, _MERGE_NEW, _CAME_BACK, _AWAY)),
            (_V.FOREIGN, (_FOREIGN, _MERGE_NEW, _CAME_BACK, _AWAY)),
            (_V.EQUAL, (None, Decision(ActionKind.RECORD, _WITHOUT_BASE), None, None)),
            (_V.UNREADABLE, (_STRANGE, _BLOCKED, _BLOCKED, _AWAY)),
            (_V.UNSETTLED, (_HALF,) * 4),
        )
        for store, row in zip(_STORE_OF_NEW, rows, strict=True)
        if row is not None
    }
)


def decide(vault: VaultChange, store: StoreChange, *, base: bool) -> Decision:
    """The row of the table for a pair of changes."""
    return (DECISIONS_WITH_BASE if base else DECISIONS_WITHOUT_BASE)[vault, store]


class PlannedAction(msgspec.Struct, frozen=True):
    """One line of a plan: what to do about a fact, and the state on which this was decided."""

    do: ActionKind
    fact_id: str
    reason: str
    path: VaultPath | None = None
    """The path of the note, or its planned path."""
    to: VaultPath | None = None
    """The path to which the note will be moved."""
    sha: str | None = None
    """The hash of the note on which this was decided; None without a note."""
    revision: str | None = None
    """The store's revision on which this was decided; None if the store lacks the fact."""
    note: Note | None = None
    vault: Fact | None = None
    store: Fact | None = None
    merged: Fact | None = None
    """The version that both sides will have."""
    base: Fact | None = None
    fields: tuple[str, ...] = ()
    conflicts: tuple[FieldConflict, ...] = ()
    reverted: tuple[str, ...] = ()
    """Fields that the user changed in the note but may not change."""
    discarded_fields: tuple[str, ...] = ()
    """Fields whose values only the note had, and which are lost."""
    replaces: bool = False
    """Whether a rebuild replaces values that only the store has."""
    actor: str = ""
    """The agent that wrote the store's version."""
    acknowledged: bool = False
    """Whether the store's change is a write that was acknowledged to an agent."""
    moved: bool = False
    new_id: bool = False
    """Whether the id is written into the note."""
    text: bytes | None = None
    """The exact bytes of the note, if the plan determines them."""
    shown: Fact | None = None
    """The fact as a new note shows it."""
    unseen: Fact | None = None
    """For the history: the version that the store replaced before any run saw it."""

    def evolve(self, **attrs: object) -> PlannedAction:
        """The action with other attributes."""
        return msgspec.structs.replace(self, **attrs)

    @property
    def counted(self) -> tuple[str, ...]:
        """The keys in a report's `counts` in which it is counted."""
        keys = _COUNTED.get(self.do, ())
        if self.reason in (_MERGE.reason, _WITHOUT_BASE) and self.do is not ActionKind.RECORD:
            keys += ("merged",)
        if self.moved:
            keys += ("moved",)
        if self.conflicts:
            keys += ("conflicts",)
        return keys

    @property
    def is_brief(self) -> bool:
        """Whether it creates a note, and the fact is read again when the note is written."""
        return self.do is ActionKind.CREATE_NOTE and self.store is None

    def without_facts(self) -> PlannedAction:
        """The action without the texts on which it was decided."""
        texts = ("note", "vault", "store", "merged", "base", "text", "shown", "unseen")
        return self.evolve(**dict.fromkeys(texts))
