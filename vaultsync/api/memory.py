"""The Python API: each method is one call into the engine."""

from __future__ import annotations

from vaultsync.api.graphing import GraphMethods
from vaultsync.api.keeping import MaintenanceMethods
from vaultsync.api.memory_files import MemoryFileMethods
from vaultsync.api.packing import ContextMethods
from vaultsync.api.remembering import FactMethods


class Memory(FactMethods, GraphMethods, MaintenanceMethods, MemoryFileMethods, ContextMethods):
    """The memory that people and agents share: facts in a store, notes in a vault.

    To be used as a context manager, or closed: what was remembered is in the store and
    visible as a note at once, but the last bookkeeping happens in `close()`.
    """
