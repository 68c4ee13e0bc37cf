"""The clock: time and new ids."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from msgspec import Struct


def time_text(time: datetime, precision: str = "seconds") -> str:
    """A time in UTC as facts and archives hold it: ISO 8601, with a `Z`.

    Args:
        time: in UTC.
        precision: as `timespec` of `datetime.isoformat()`.
    """
    return time.isoformat(timespec=precision).replace("+00:00", "Z")


class Clock(Protocol):
    """The source of time and ids, and of nothing else that differs from run to run."""

    def now(self) -> datetime:
        """The time, in UTC."""

    def monotonic(self) -> float:
        """Seconds that never go back."""

    def sleep(self, seconds: float) -> None:
        """Wait."""

    def new_id(self) -> str:
        """A fresh UUIDv7 (RFC 9562), greater than all earlier ones of this clock."""


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

    def new_id(self) -> str:
        """A fresh id."""
        return self.clock.new_id()
