"""The modules that a daemon keeps up to date and mirrors while it has nothing else to do."""

from __future__ import annotations

from collections.abc import Callable

from vaultsync.api.memory import Memory
from vaultsync.errors import VaultsyncError

SYNC_INTERVAL = 60.0
"""Seconds between two syncs; what the remote does not take waits longer each time."""


class ModuleWatch:
    """Syncs the folders of modules that the vault has worked with."""

    def __init__(self, memory: Memory, record_error: Callable[[Exception], None]) -> None:
        self._memory = memory
        self._record_error = record_error
        self._next = 0.0

    def tick(self, now: float) -> None:
        """Sync them, if the last time was long enough ago."""
        if now < self._next:
            return
        self._next = now + SYNC_INTERVAL
        try:
            self._memory.modules.sync_known()
        except (VaultsyncError, OSError) as error:
            self._record_error(error)
