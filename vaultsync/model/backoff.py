"""Exponential back-off with equal jitter."""

from __future__ import annotations

from collections.abc import Callable


class BackOff:
    """Computes waits that double with each failure, up to a maximum.

    Half of each wait is fixed and half is random (equal jitter), so that clients that
    failed at the same moment do not retry at the same moment.

    Args:
        first: the first wait in seconds, without jitter.
        longest: the longest wait in seconds.
        jitter: returns a number from 0 to 1, such as `random.random`.
    """

    def __init__(self, *, first: float, longest: float, jitter: Callable[[], float]) -> None:
        self._first = first
        self._longest = longest
        self._jitter = jitter
        self._failures = 0

    def next(self) -> float:
        """Count a failure, and return the seconds to wait after it."""
        whole = min(self._first * (1 << self._failures), self._longest)
        self._failures = min(self._failures + 1, 30)
        return whole * (0.5 + 0.5 * self._jitter())

    def reset(self) -> None:
        """Begin with the first wait again, after a success."""
        self._failures = 0
