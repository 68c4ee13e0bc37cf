"""The system clock and new ids. Nothing else in vaultsync reads a clock."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, date, datetime

from vaultsync.storage.clock import time_text


class SystemClock:
    """The clock of this machine."""

    def __init__(self) -> None:
        self._make_id: Callable[[], str] | None = None
        self._lock = threading.Lock()

    def new_id(self) -> str:
        """A fresh UUIDv7; a question needs none."""
        with self._lock:
            if self._make_id is None:
                from vaultsync.backends.system.id_source import id_maker

                self._make_id = id_maker(lambda: time.time_ns() // 1_000_000)
        return self._make_id()

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
