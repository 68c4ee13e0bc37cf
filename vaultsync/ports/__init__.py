"""What the engine needs of the world. Each Protocol is a contract in prose.

One suite in `tests/contracts` holds every adapter to these words.
"""

from __future__ import annotations

from vaultsync.ports.archive import Archive
from vaultsync.ports.clock import Clock
from vaultsync.ports.embedder import Embedder, Identity
from vaultsync.ports.link_index import LinkIndex, Reference
from vaultsync.ports.memory_file import (
    MemoryFile,
    MetadataReader,
    Waiting,
    WriteQueue,
)
from vaultsync.ports.note_index import Entry, Filters, Match, NoteIndex
from vaultsync.ports.records import (
    Attention,
    Base,
    HistoryEntry,
    Intent,
    Linger,
    Outgoing,
    Run,
)
from vaultsync.ports.reranker import Reranker
from vaultsync.ports.store import RevisionMismatch, Store, StoreState, Write, Written
from vaultsync.ports.tokens import TokenCounter
from vaultsync.ports.vault import Folder, NoteFile, Scan, Stamp, Vault
from vaultsync.ports.vector_index import Near, VectorIndex, VectorRow
from vaultsync.ports.watcher import Heard, Watcher

__all__ = [
    "Archive",
    "Attention",
    "Base",
    "Clock",
    "Embedder",
    "Entry",
    "Filters",
    "Folder",
    "Heard",
    "HistoryEntry",
    "Identity",
    "Intent",
    "Linger",
    "LinkIndex",
    "Match",
    "MemoryFile",
    "MetadataReader",
    "Near",
    "NoteFile",
    "NoteIndex",
    "Outgoing",
    "Reference",
    "Reranker",
    "RevisionMismatch",
    "Run",
    "Scan",
    "Stamp",
    "Store",
    "StoreState",
    "TokenCounter",
    "Vault",
    "VectorIndex",
    "VectorRow",
    "Waiting",
    "Watcher",
    "Write",
    "WriteQueue",
    "Written",
]
