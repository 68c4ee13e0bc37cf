"""How long data is kept that only undo and restore need."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from vaultsync.storage.clock import time_text

HISTORY_SINCE_SETTING = "history_since"
"""The setting of the archive with the time before which the history was pruned."""


class KeepSince(NamedTuple):
    """The time from which on each kind is kept, ISO 8601 in UTC; empty keeps all of it."""

    now: str
    history: str = ""
    runs: str = ""
    blobs: str = ""
    tombstones: str = ""

    @classmethod
    def of(
        cls, now: datetime, *, history: float, runs: float, blobs: float, tombstones: float
    ) -> KeepSince:
        """What is kept for some days; 0 days keep everything, for ever."""

        def since(days: float) -> str:
            try:
                return time_text(now - timedelta(days=days)) if days else ""
            except OverflowError:  # before the year 1
                return ""

        return cls(time_text(now), since(history), since(runs), since(blobs), since(tombstones))
