"""Daily maintenance by a daemon: what `vaultsync maintain` does."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import to_builtins

from vaultsync.api.memory import Memory
from vaultsync.errors import VaultsyncError
from vaultsync.model.schema import Value
from vaultsync.sync.context import SyncContext

CHECK_INTERVAL = 600.0
"""Seconds between two checks of the date."""
LAST_MAINTENANCE = "maintained"
"""The setting of the archive that has the day of the last maintenance."""


class DailyMaintenance:
    """Maintains a memory once a day; the day it is first seen counts as done."""

    def __init__(
        self,
        memory: Memory,
        ctx: Callable[[], SyncContext],
        publish: Callable[[str, Mapping[str, Value]], None],
        record_error: Callable[[Exception], None],
    ) -> None:
        """Prepare it; `publish` receives reports as `pass` events."""
        self._memory = memory
        self._ctx = ctx
        self._publish = publish
        self._record_error = record_error
        self._next = 0.0

    def tick(self, now: float) -> None:
        """Maintain the memory when the last time was on another day."""
        if now < self._next:
            return
        self._next = now + CHECK_INTERVAL
        try:
            self._memory.count_recalls()
        except (VaultsyncError, OSError) as error:
            self._record_error(error)  # they stay in the log
        ctx = self._ctx()
        day = ctx.today()[:10]
        done = ctx.archive.setting(LAST_MAINTENANCE)
        if done == day:
            return
        if done is not None:
            try:
                report = self._memory.maintain()
            except (VaultsyncError, OSError) as error:
                self._record_error(error)
            else:
                if not report.quiet:
                    self._publish("pass", to_builtins(report))
        with ctx.archive.transaction():
            ctx.archive.set_setting(LAST_MAINTENANCE, day)
