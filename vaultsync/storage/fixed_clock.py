"""A clock for questions about the past."""

from __future__ import annotations

from datetime import datetime

from vaultsync.storage.clock import Clock


class FixedClock:
    """A clock that always shows one time, and does all else as another. Implements `Clock`."""

    def __init__(self, clock: Clock, at: datetime) -> None:
        """Show the time `at`; wait and make ids with `clock`."""
        self._at = at
        self.monotonic = clock.monotonic
        self.sleep = clock.sleep
        self.local_day = clock.local_day
        self.start_of_day = clock.start_of_day
        self.new_id = clock.new_id

    def now(self) -> datetime:
        """The time that it shows."""
        return self._at
