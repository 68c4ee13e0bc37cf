"""What a daemon does once a day: the upkeep that `maintain` does by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import to_builtins

from vaultsync.errors import VaultsyncError
from vaultsync.model.schema import Value

if TYPE_CHECKING:
    from vaultsync.api.keeping import MaintenanceMethods
    from vaultsync.sync.context import SyncContext

CHECK_INTERVAL = 600.0
"""Seconds between two looks at the calendar."""
LAST_MAINTENANCE = "maintained"
"""The setting of the archive that says on which day it was done."""


class DailyMaintenance:
    """Maintains a memory once a day; the day it is first seen counts as done."""

    def __init__(
        self,
        memory: MaintenanceMethods,
        ctx: Callable[[], SyncContext],
        tell: Callable[[str, Mapping[str, Value]], None],
        trouble: Callable[[Exception], None],
    ) -> None:
        """What is maintained, who is told of what was done, and who of what failed."""
        self._memory = memory
        self._ctx = ctx
        self._tell = tell
        self._trouble = trouble
        self._next = 0.0

    def tick(self, now: float) -> None:
        """Do it when it is another day than when it was done."""
        if now < self._next:
            return
        self._next = now + CHECK_INTERVAL
        self._memory.count_recalls()
        ctx = self._ctx()
        day = ctx.today()[:10]
        done = ctx.archive.setting(LAST_MAINTENANCE)
        if done == day:
            return
        if done is not None:
            try:
                report = self._memory.maintain()
            except (VaultsyncError, OSError) as error:
                self._trouble(error)
            else:
                if not report.quiet:
                    self._tell("pass", to_builtins(report))
        with ctx.archive.transaction():
            ctx.archive.set_setting(LAST_MAINTENANCE, day)
