"""New ids, from the milliseconds of a clock."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

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
        """The next id."""
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


def id_maker(millis: Callable[[], int]) -> Callable[[], str]:
    """What makes ids from a clock and the random numbers of the system."""
    return IdSource(millis, _random_bits).new
