"""What the engine needs of the world. Each Protocol is a contract in prose.

One suite in `tests/contracts` holds every adapter to these words. What is behind a name
is loaded when it is first used: a question needs few of them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vaultsync.context_packs.ports import TokenCounter
    from vaultsync.daemon.ports import Heard, Watcher
    from vaultsync.indexing.embedder import Embedder, Identity
    from vaultsync.indexing.ports import Entry, Filters, Match, NoteIndex
    from vaultsync.indexing.vector_index import Near, VectorIndex, VectorRow
    from vaultsync.links.ports import LinkIndex, Reference
    from vaultsync.memory_files.ports import (
        MemoryFile,
        MetadataReader,
        Waiting,
        WriteQueue,
    )
    from vaultsync.recall.ports import Reranker
    from vaultsync.recall.recall_log import Recalled, RecallLog
    from vaultsync.storage.archive import Archive
    from vaultsync.storage.clock import Clock
    from vaultsync.storage.records import (
        Attention,
        Base,
        HistoryEntry,
        Intent,
        Linger,
        Outgoing,
        Run,
    )
    from vaultsync.storage.store import (
        RevisionMismatch,
        Store,
        StoreState,
        Write,
        Written,
    )
    from vaultsync.storage.vault import Folder, NoteFile, Scan, Stamp, Vault

_NAMES = {
    "archive": "Archive",
    "clock": "Clock",
    "embedder": "Embedder Identity",
    "link_index": "LinkIndex Reference",
    "memory_file": "MemoryFile MetadataReader Waiting WriteQueue",
    "note_index": "Entry Filters Match NoteIndex",
    "recall_log": "RecallLog Recalled",
    "records": "Attention Base HistoryEntry Intent Linger Outgoing Run",
    "reranker": "Reranker",
    "store": "RevisionMismatch Store StoreState Write Written",
    "tokens": "TokenCounter",
    "vault": "Folder NoteFile Scan Stamp Vault",
    "vector_index": "Near VectorIndex VectorRow",
    "watcher": "Heard Watcher",
}
"""Module -> the names that it holds."""
_WHERE = {name: module for module, names in _NAMES.items() for name in names.split()}

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
    "RecallLog",
    "Recalled",
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


def __getattr__(name: str) -> object:
    """Load what is behind a name."""
    if name in _WHERE:
        return getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
    raise AttributeError(name)
