"""What the engine needs of the world. Each Protocol is a contract in prose.

One suite in `tests/contracts` holds every adapter to these words.
"""

from __future__ import annotations

from vaultsync.ports.archive import Archive
from vaultsync.ports.clock import Clock
from vaultsync.ports.records import (
    Attention,
    Base,
    HistoryEntry,
    Intent,
    Linger,
    Outgoing,
    Run,
)
from vaultsync.ports.store import RevisionMismatch, Store, StoreState, Write, Written
from vaultsync.ports.vault import Folder, NoteFile, Scan, Stamp, Vault

__all__ = [
    "Archive",
    "Attention",
    "Base",
    "Clock",
    "Folder",
    "HistoryEntry",
    "Intent",
    "Linger",
    "NoteFile",
    "Outgoing",
    "RevisionMismatch",
    "Run",
    "Scan",
    "Stamp",
    "Store",
    "StoreState",
    "Vault",
    "Write",
    "Written",
]
