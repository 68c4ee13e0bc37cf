"""The clock: time and new ids."""

from __future__ import annotations

from datetime import date, datetime
from typing import Protocol


def time_text(time: datetime, precision: str = "seconds") -> str:
    """A time in UTC as facts and archives hold it: ISO 8601 to the `precision`, with a `Z`."""
    return time.isoformat(timespec=precision).replace("+00:00", "Z")


class Clock(Protocol):
    """The source of time and ids, and of nothing else that differs from run to run."""

    def now(self) -> datetime:
        """The time, in UTC."""

    def monotonic(self) -> float:
        """Seconds that never go back."""

    def sleep(self, seconds: float) -> None:
        """Wait."""

    def local_day(self, time: datetime) -> date:
        """The day of a time where this clock is."""

    def start_of_day(self, day: str) -> str:
        """When an ISO date begins where this clock is, in UTC; at midnight, the date itself."""

    def new_id(self) -> str:
        """A fresh UUIDv7 (RFC 9562), greater than all earlier ones of this clock."""
