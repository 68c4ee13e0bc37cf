"""The system clock and new ids. Nothing else in vaultsync reads a clock."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from datetime import UTC, date, datetime

from vaultsync.storage.clock import time_text

_COUNTER_BITS = 12
_START_BITS = 11
"""The first id of a millisecond leaves half of the counter free (RFC 9562 §6.2)."""
_RANDOM_BITS = 62
_VERSION = 7 << 76
_VARIANT = 0b10 << 62


class IdSource:
    """Generates UUIDv7s, each greater than the last, whatever the clock does.

    An id has the milliseconds, then a counter for ids of the same millisecond, then random
    bits (RFC 9562 §5.7, §6.2 method 1). If the clock goes back, the last time is used again; if
    the counter is full, a time one millisecond ahead.
    """

    def __init__(self, millis: Callable[[], int], random_bits: Callable[[int], int]) -> None:
        self._millis = millis
        self._random_bits = random_bits
        self._lock = threading.Lock()
        self._at = -1
        self._count = 0

    def new(self) -> str:
        with self._lock:
            now = self._millis()
            self._count += 1
            if now <= self._at and self._count >> _COUNTER_BITS:
                now = self._at + 1
            if now > self._at:
                self._at = now
                self._count = self._random_bits(_START_BITS)
            head = (self._at << 80) | _VERSION | (self._count << 64)
            digits = f"{head | _VARIANT | self._random_bits(_RANDOM_BITS):032x}"
        # The format of `str(UUID(…))`, in a quarter of its time.
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _random_bits(count: int) -> int:
    """Like `secrets.randbits()`, whose module is slow to load."""
    return int.from_bytes(os.urandom(8)) >> (64 - count)


class SystemClock:
    """The clock of this machine."""

    def __init__(self) -> None:
        self.new_id = IdSource(lambda: time.time_ns() // 1_000_000, _random_bits).new

    def now(self) -> datetime:
        return datetime.now(UTC)

    def local_day(self, time: datetime) -> date:
        """The day of a time in the time zone of this machine."""
        try:
            return time.astimezone().date()
        except (OverflowError, ValueError, OSError):  # at the ends of the calendar
            return time.date()

    def start_of_day(self, day: str) -> str:
        """The time in UTC at which a day begins here, with the offset of that day."""
        midnight = datetime.fromisoformat(day)
        try:
            time = midnight.astimezone().astimezone(UTC)
        except (OverflowError, ValueError, OSError):
            return day
        return day if time.replace(tzinfo=None) == midnight else time_text(time)

    monotonic = staticmethod(time.monotonic)

    processor_seconds = staticmethod(time.process_time)
    """Seconds of CPU time of all threads of this process."""

    def sleep(self, seconds: float) -> None:
        """Sleep; return immediately if `seconds` is zero or negative."""
        if seconds > 0:
            time.sleep(seconds)
