"""One action being carried out, and what came of a plan."""

from __future__ import annotations

from dataclasses import dataclass, field

from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.notes.conflict_note import Conflict
from vaultsync.notes.parse import Note
from vaultsync.storage.archive import Attention
from vaultsync.storage.vault import Stamp
from vaultsync.sync.decision_table import Action, Do

WRITES_STORE = frozenset(
    {
        Do.UPDATE_STORE,
        Do.MERGE,
        Do.CREATE_FACT,
        Do.DELETE_FACT,
        Do.REVIVE_FACT,
        Do.RESTORE_FACT,
    }
)
CREATES_NOTE = frozenset({Do.CREATE_NOTE, Do.RECREATE_NOTE})
EXCHANGES = frozenset({Do.UPDATE_VAULT, Do.MERGE})
DROPS_BASE = frozenset({Do.DELETE_NOTE, Do.DELETE_FACT, Do.DROP_BASE})
FEW_LINGERS = 200
"""So many displaced files are looked into at every pass; more of them when due."""
MANY_UNTIL = "lingers_wait_until"
"""The setting that says until when."""


@dataclass(slots=True)
class Item:
    """One action being carried out."""

    action: Action
    op: str
    fact: Fact
    """What both sides shall say."""
    data: bytes | None = None
    """The bytes the note shall have; None when it is to go, or is not written."""
    sha: str = ""
    conflict: Conflict | None = None
    told: bool = False
    """Its history is written already."""
    failed: bool = False
    store_done: bool = False
    stamp: Stamp | None = None

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
        return self.new_bytes or moved or self.action.do is Do.DELETE_NOTE


@dataclass(slots=True)
class Outcome:
    """What came of a plan."""

    done: list[Action] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    """Facts for the next pass: something changed while they were worked on."""
    notices: list[Attention] = field(default_factory=list)
    touched: set[VaultPath] = field(default_factory=set)
    """Folders in which something was written."""
    conflicts: list[Conflict] = field(default_factory=list)
    stamps: dict[VaultPath, Stamp | None] = field(default_factory=dict)
    """The stamps under which the notes are known now; None: not for sure."""
    revisions: set[str] = field(default_factory=set)
    """What the store made of our own writes."""
    removed: set[VaultPath] = field(default_factory=set)
    """Where notes were that this pass moved or took away."""


def agent_of(action: Action) -> str:
    """Whose values the store's are; the mirror itself is nobody."""
    if action.actor != "vault":
        return action.actor
    return (action.store.agent_id if action.store else None) or ""


def text_of(note: Note) -> bytes:
    """The bytes of a note as it was read."""
    return note.parts.text.encode()
