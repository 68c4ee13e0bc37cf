"""The Python API: each method is one call into the engine."""

from __future__ import annotations

from vaultsync.api.graphing import Graphing
from vaultsync.api.keeping import Keeping
from vaultsync.api.memory_files import MemoryFiles
from vaultsync.api.packing import Packing
from vaultsync.api.remembering import Remembering


class Memory(Remembering, Graphing, Keeping, MemoryFiles, Packing):
    """The memory that people and agents share: facts in a store, notes in a vault.

    To be used as a context manager, or closed: what was remembered is in the store and
    visible as a note at once, but the last bookkeeping happens in `close()`.
    """
