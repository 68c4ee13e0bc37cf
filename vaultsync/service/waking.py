"""Waiting that a signal may end."""

from __future__ import annotations

import queue


class WakeEvent:
    """What one thread waits by, and any other, or a signal, wakes it by.

    A signal is handled in the thread that waits, between any two of its steps. There an
    event of `threading` may find its own lock held by what it interrupted, and wait for
    ever; a simple queue holds none.
    """

    def __init__(self) -> None:
        self._told: queue.SimpleQueue[None] = queue.SimpleQueue()

    def set(self) -> None:
        """Have whoever waits, or waits next, go on."""
        if self._told.empty():
            self._told.put(None)

    def wait(self, seconds: float) -> bool:
        """Wait until somebody said so; False when nobody did."""
        try:
            self._told.get(timeout=seconds)
        except queue.Empty:
            return False
        return True

    def clear(self) -> None:
        """Forget what was said so far."""
        while self.wait(0):
            pass
