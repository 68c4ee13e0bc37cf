"""The observations that a daemon classifies while it has nothing else to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import to_builtins

from vaultsync.api.memory import Memory
from vaultsync.errors import VaultsyncError
from vaultsync.model.schema import Value
from vaultsync.sync.context import SyncContext

RETRY_INTERVAL = 60.0
"""Seconds until the classifier is asked again for what it did not answer, or what failed."""


class ObservationWatch:
    """Classifies pending observations once the store was written to."""

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
        self._seen = -1
        self._retry_at = float("inf")

    def tick(self, now: float) -> None:
        """Classify what waits, if anything was written since the last look, or on a retry."""
        try:
            seq = self._ctx().store.state().seq
            if seq == self._seen and now < self._retry_at:
                return
            report = self._memory.process_observations(is_synced=True)
            self._seen = self._ctx().store.state().seq if report.classified else seq
        except (VaultsyncError, OSError) as error:
            self._record_error(error)
            self._retry_at = now + RETRY_INTERVAL
            return
        self._retry_at = now + RETRY_INTERVAL if report.pending else float("inf")
        if not report.quiet:
            self._publish("pass", to_builtins(report))
