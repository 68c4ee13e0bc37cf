"""A clock for questions about the past."""

from __future__ import annotations

from datetime import date, datetime

from msgspec import Struct

from vaultsync.storage.clock import Clock


class FixedClock(Struct, frozen=True):
    """A clock that always shows one time. Implements `Clock`."""

    clock: Clock
    """What it waits and makes ids with."""
    at: datetime

    def now(self) -> datetime:
        """The time that it shows."""
        return self.at

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return self.clock.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        self.clock.sleep(seconds)

    def local_day(self, time: datetime) -> date:
        """The day of a time where it is."""
        return self.clock.local_day(time)

    def start_of_day(self, day: str) -> str:
        """The time at which a day begins where it is."""
        return self.clock.start_of_day(day)

    def new_id(self) -> str:
        """A fresh id."""
        return self.clock.new_id()
