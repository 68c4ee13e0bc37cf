"""Which paths have come to rest: a path settles when nothing was heard of it for a while.

A state machine without a clock: whoever uses it says what time it is.
"""

from __future__ import annotations

from collections.abc import Iterable

from vaultsync.model.paths import VaultPath


class Debouncer:
    """Paths something was heard of, until they settle.

    A path settles `quiet` seconds after it was heard of last, and `longest` seconds after
    it was heard of first at the latest: who saves without end is heard all the same.
    """

    def __init__(self, *, quiet: float, longest: float) -> None:
        self._quiet = quiet
        self._longest = max(quiet, longest)
        self._first: dict[VaultPath, float] = {}
        self._last: dict[VaultPath, float] = {}

    def add(self, paths: Iterable[VaultPath], now: float) -> None:
        """Something was heard of some paths."""
        for path in paths:
            self._first.setdefault(path, now)
            self._last[path] = now

    def pop_due(self, now: float) -> frozenset[VaultPath]:
        """The paths that have settled; they leave the table."""
        due = frozenset(path for path in self._first if self._due(path) <= now)
        for path in due:
            del self._first[path], self._last[path]
        return due

    def pending(self) -> frozenset[VaultPath]:
        """The paths that have not settled yet."""
        return frozenset(self._first)

    def next_due(self) -> float | None:
        """When the next path settles, if nothing more is heard of it; None when none."""
        return min(map(self._due, self._first), default=None)

    def oldest(self) -> float | None:
        """Since when the oldest of them waits; None when none does."""
        return min(self._first.values(), default=None)

    def _due(self, path: VaultPath) -> float:
        quiet = self._last[path] + self._quiet
        return min(quiet, self._first[path] + self._longest)
