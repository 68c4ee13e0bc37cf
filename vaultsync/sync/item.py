"""One action being carried out, and what came of a plan."""

from __future__ import annotations

from dataclasses import dataclass, field

from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.notes.conflict_note import Conflict
from vaultsync.notes.parse import Note
from vaultsync.storage.archive import Notice
from vaultsync.storage.vault import FileStamp
from vaultsync.sync.decision_table import ActionKind, PlannedAction

WRITES_STORE = frozenset(
    {
        ActionKind.UPDATE_STORE,
        ActionKind.MERGE,
        ActionKind.CREATE_FACT,
        ActionKind.DELETE_FACT,
        ActionKind.REVIVE_FACT,
        ActionKind.RESTORE_FACT,
    }
)
CREATES_NOTE = frozenset({ActionKind.CREATE_NOTE, ActionKind.RECREATE_NOTE})
EXCHANGES = frozenset({ActionKind.UPDATE_VAULT, ActionKind.MERGE})
DROPS_BASE = frozenset({ActionKind.DELETE_NOTE, ActionKind.DELETE_FACT, ActionKind.DROP_BASE})
FEW_DISPLACED = 200
"""So many displaced files are looked into at every pass; more of them when due."""
DISPLACED_WAIT_SETTING = "lingers_wait_until"
"""The setting that says until when."""


@dataclass(slots=True)
class PendingAction:
    """One action being carried out."""

    action: PlannedAction
    op: str
    fact: Fact
    """What both sides shall say."""
    data: bytes | None = None
    """The bytes the note shall have; None when it is to go, or is not written."""
    sha: str = ""
    conflict: Conflict | None = None
    history_written: bool = False
    """Its history is written already."""
    failed: bool = False
    store_written: bool = False
    stamp: FileStamp | None = None

    @property
    def new_bytes(self) -> bool:
        """Whether the note gets other bytes."""
        return self.data is not None and self.sha != self.action.sha

    @property
    def writes_store(self) -> bool:
        """Whether the fact is written, or taken away."""
        return self.action.do in WRITES_STORE

    @property
    def writes_vault(self) -> bool:
        """Whether the note is written, moved or taken away."""
        moved = self.action.to is not None
        return self.new_bytes or moved or self.action.do is ActionKind.DELETE_NOTE


@dataclass(slots=True)
class ApplyOutcome:
    """What came of a plan."""

    done: list[PlannedAction] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    """Facts for the next pass: something changed while they were worked on."""
    notices: list[Notice] = field(default_factory=list)
    touched: set[VaultPath] = field(default_factory=set)
    """Folders in which something was written."""
    conflicts: list[Conflict] = field(default_factory=list)
    stamps: dict[VaultPath, FileStamp | None] = field(default_factory=dict)
    """The stamps under which the notes are known now; None: not for sure."""
    revisions: set[str] = field(default_factory=set)
    """What the store made of our own writes."""
    removed: set[VaultPath] = field(default_factory=set)
    """Where notes were that this pass moved or took away."""


def actor_of_action(action: PlannedAction) -> str:
    """Whose values the store's are; the mirror itself is nobody."""
    if action.actor != "vault":
        return action.actor
    return (action.store.agent_id if action.store else None) or ""


def original_bytes(note: Note) -> bytes:
    """The bytes of a note as it was read."""
    return note.parts.text.encode()
