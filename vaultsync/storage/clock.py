"""The clock: time and ids."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Time and ids: the only things that differ from run to run."""

    def now(self) -> datetime:
        """The time, in UTC."""

    def monotonic(self) -> float:
        """Seconds that never go back."""

    def sleep(self, seconds: float) -> None:
        """Wait."""

    def new_id(self) -> str:
        """A fresh UUIDv7 (RFC 9562), greater than all earlier ones of this clock."""
