"""A clock that tests control."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta, tzinfo

from vaultsync.backends.system.system_clock import IdSource
from vaultsync.storage.clock import time_text

START = datetime(2026, 2, 14, 13, 45, tzinfo=UTC)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


class FakeClock:
    """A clock that stands still until a test moves it; its ids are the same in every run."""

    def __init__(self, start: datetime = START, *, seed: int = 0) -> None:
        self.zone: tzinfo = UTC
        """The time zone of its days."""
        self._start = start
        self._passed = 0.0
        self._set_by = timedelta(0)
        self._ids = IdSource(
            lambda: (self.now() - _EPOCH) // _MILLISECOND, random.Random(seed).getrandbits
        )

    def now(self) -> datetime:
        return self._start + self._set_by + timedelta(seconds=self._passed)

    def local_day(self, time: datetime) -> date:
        return time.astimezone(self.zone).date()

    def start_of_day(self, day: str) -> str:
        begins = datetime.fromisoformat(day).replace(tzinfo=self.zone).astimezone(UTC)
        return day if self.zone is UTC else time_text(begins)

    def monotonic(self) -> float:
        """Seconds since the clock was created."""
        return self._passed

    def sleep(self, seconds: float) -> None:
        """Advance the time at once."""
        self.advance(max(0.0, seconds))

    def new_id(self) -> str:
        """The next id of a fixed sequence."""
        return self._ids.new()

    def advance(self, seconds: float) -> None:
        self._passed += seconds

    def set_back(self, seconds: float) -> None:
        """Set the wall clock back, as a user or NTP may; `monotonic` continues."""
        self._set_by -= timedelta(seconds=seconds)
