"""Stand-ins for the world that tests can steer."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

from vaultsync.backends.system.system_clock import IdSource

START = datetime(2026, 2, 14, 13, 45, tzinfo=UTC)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


class FakeClock:
    """Stands still until a test moves it; its ids repeat from run to run."""

    def __init__(self, start: datetime = START, *, seed: int = 0) -> None:
        self._start = start
        self._passed = 0.0
        self._set_by = timedelta(0)
        self._ids = IdSource(
            lambda: (self.now() - _EPOCH) // _MILLISECOND, random.Random(seed).getrandbits
        )

    def now(self) -> datetime:
        return self._start + self._set_by + timedelta(seconds=self._passed)

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        return self._passed

    def sleep(self, seconds: float) -> None:
        """Let the time pass at once."""
        self.advance(max(0.0, seconds))

    def new_id(self) -> str:
        """The next id; the same in every run that does the same."""
        return self._ids.new()

    def advance(self, seconds: float) -> None:
        self._passed += seconds

    def set_back(self, seconds: float) -> None:
        """Set the wall clock back, as a person or NTP does; `monotonic` goes on."""
        self._set_by -= timedelta(seconds=seconds)
