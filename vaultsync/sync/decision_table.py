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
    ActionKind.WAIT, "its folder cannot be read, so the state of the note is unknown"
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
_STORE_UNAVAILABLE = Decision(ActionKind.WAIT, "the store is unavailable")
_LOST = Decision(
    ActionKind.CREATE_FACT, "missing from the store without a tombstone: not a deletion"
)
_GONE_BOTH = Decision(ActionKind.DROP_BASE, REASON_GONE_BOTH)
_AGENT_DELETED = Decision(ActionKind.DELETE_NOTE, "deleted in the store")

DECISIONS_WITH_BASE: Mapping[tuple[VaultChange, StoreChange], Decision] = MappingProxyType(
    {
        (_V.UNCHANGED, _S.UNCHANGED): Decision(ActionKind.NOTHING, "unchanged"),
        (_V.UNCHANGED, _S.TOUCHED): _SAME,
        (_V.UNCHANGED, _S.MODIFIED): Decision(ActionKind.UPDATE_VAULT, "changed in the store"),
        (_V.UNCHANGED, _S.DELETED): _AGENT_DELETED,
        (_V.UNCHANGED, _S.MISSING): _LOST,
        (_V.UNCHANGED, _S.UNAVAILABLE): Decision(ActionKind.NOTHING, "unchanged"),
        (_V.REFORMATTED, _S.UNCHANGED): _SAME,
        (_V.REFORMATTED, _S.TOUCHED): _SAME,
        (_V.REFORMATTED, _S.MODIFIED): Decision(ActionKind.UPDATE_VAULT, "changed in the store"),
        (_V.REFORMATTED, _S.DELETED): _AGENT_DELETED,
        (_V.REFORMATTED, _S.MISSING): _LOST,
        (_V.REFORMATTED, _S.UNAVAILABLE): _STORE_UNAVAILABLE,
        (_V.MOVED, _S.UNCHANGED): Decision(ActionKind.RECORD, REASON_MOVED),
        (_V.MOVED, _S.TOUCHED): Decision(ActionKind.RECORD, REASON_MOVED),
        (_V.MOVED, _S.MODIFIED): Decision(
            ActionKind.MERGE, "moved in the vault, changed in the store"
        ),
        (_V.MOVED, _S.DELETED): _AGENT_DELETED,
        (_V.MOVED, _S.MISSING): _LOST,
        (_V.MOVED, _S.UNAVAILABLE): _STORE_UNAVAILABLE,
        (_V.MODIFIED, _S.UNCHANGED): Decision(ActionKind.UPDATE_STORE, "changed in the vault"),
        (_V.MODIFIED, _S.TOUCHED): Decision(ActionKind.UPDATE_STORE, "changed in the vault"),
        (_V.MODIFIED, _S.MODIFIED): Decision(ActionKind.MERGE, "changed on both sides"),
        (_V.MODIFIED, _S.DELETED): Decision(
            ActionKind.REVIVE_FACT, "changed in the vault, deleted in the store: the edit is kept"
        ),
        (_V.MODIFIED, _S.MISSING): _LOST,
        (_V.MODIFIED, _S.UNAVAILABLE): _STORE_UNAVAILABLE,
        (_V.GONE, _S.UNCHANGED): _RECHECK,
        (_V.GONE, _S.TOUCHED): _RECHECK,
        (_V.GONE, _S.MODIFIED): _RECHECK_CHANGED,
        (_V.GONE, _S.DELETED): _GONE_BOTH,
        (_V.GONE, _S.MISSING): _RECHECK,
        (_V.GONE, _S.UNAVAILABLE): _RECHECK,
        (_V.DELETED, _S.UNCHANGED): Decision(ActionKind.DELETE_FACT, "deleted in the vault"),
        (_V.DELETED, _S.TOUCHED): Decision(ActionKind.DELETE_FACT, "deleted in the vault"),
        (_V.DELETED, _S.MODIFIED): Decision(
            ActionKind.RECREATE_NOTE, "deleted in the vault, changed in the store: the edit is kept"
        ),
        (_V.DELETED, _S.DELETED): _GONE_BOTH,
        (_V.DELETED, _S.MISSING): _GONE_BOTH,
        (_V.DELETED, _S.UNAVAILABLE): _STORE_UNAVAILABLE,
        **{
            (change, store): row
            for change, row in (
                (_V.UNREADABLE, _BLOCKED),
                (_V.UNSETTLED, _HALF),
                (_V.UNKNOWN, _FOLDER_UNREADABLE),
                (_V.COPIED, _DUPLICATE_IDS),
            )
            for store in (
                _S.UNCHANGED,
                _S.TOUCHED,
                _S.MODIFIED,
                _S.DELETED,
                _S.MISSING,
                _S.UNAVAILABLE,
            )
        },
    }
)
"""Facts that have a base."""

DECISIONS_WITHOUT_BASE: Mapping[tuple[VaultChange, StoreChange], Decision] = MappingProxyType(
    {
        (_V.NONE, _S.NONE): Decision(ActionKind.NOTHING, "nothing to do"),
        (_V.NONE, _S.CREATED): Decision(ActionKind.CREATE_NOTE, "new in the store"),
        (_V.NONE, _S.TOMBSTONE): Decision(ActionKind.NOTHING, "deleted before it had a note"),
        (_V.NONE, _S.UNAVAILABLE): Decision(ActionKind.NOTHING, "nothing to do"),
        (_V.CREATED, _S.NONE): Decision(ActionKind.CREATE_FACT, "new in the vault"),
        (_V.CREATED, _S.CREATED): Decision(ActionKind.MERGE, "on both sides, without a base"),
        (_V.CREATED, _S.TOMBSTONE): Decision(
            ActionKind.RESTORE_FACT, "the note came back after its fact was deleted"
        ),
        (_V.CREATED, _S.UNAVAILABLE): _STORE_UNAVAILABLE,
        (_V.FOREIGN, _S.NONE): Decision(
            ActionKind.NEEDS_REVIEW, "the note has an id that this store does not know"
        ),
        (_V.FOREIGN, _S.CREATED): Decision(ActionKind.MERGE, "on both sides, without a base"),
        (_V.FOREIGN, _S.TOMBSTONE): Decision(
            ActionKind.RESTORE_FACT, "the note came back after its fact was deleted"
        ),
        (_V.FOREIGN, _S.UNAVAILABLE): _STORE_UNAVAILABLE,
        (_V.EQUAL, _S.CREATED): Decision(ActionKind.RECORD, "on both sides, without a base"),
        (_V.UNREADABLE, _S.NONE): Decision(
            ActionKind.NOTHING, "a note with an unknown id that cannot be read"
        ),
        (_V.UNREADABLE, _S.CREATED): _BLOCKED,
        (_V.UNREADABLE, _S.TOMBSTONE): _BLOCKED,
        (_V.UNREADABLE, _S.UNAVAILABLE): _STORE_UNAVAILABLE,
        (_V.UNSETTLED, _S.NONE): _HALF,
        (_V.UNSETTLED, _S.CREATED): _HALF,
        (_V.UNSETTLED, _S.TOMBSTONE): _HALF,
        (_V.UNSETTLED, _S.UNAVAILABLE): _HALF,
    }
)
"""Facts without a base."""


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
    """The note as a fact."""
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
    def is_brief(self) -> bool:
        """Whether it creates a note, and the fact is read again when the note is written."""
        return self.do is ActionKind.CREATE_NOTE and self.store is None

    def without_facts(self) -> PlannedAction:
        """The action without the texts on which it was decided."""
        return self.evolve(
            note=None,
            vault=None,
            store=None,
            merged=None,
            base=None,
            text=None,
            shown=None,
            unseen=None,
        )
