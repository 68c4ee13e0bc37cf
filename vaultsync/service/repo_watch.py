"""The repositories that a daemon looks after while it has nothing else to do."""

from __future__ import annotations

from collections.abc import Callable

from vaultsync.api.memory import Memory
from vaultsync.errors import RepositoryError, VaultsyncError

INTERVAL = 60.0
"""Seconds between two looks at all repositories that were used."""


class RepoWatch:
    """Promotes what was merged, folds old summaries, asks about branches that were deleted."""

    def __init__(self, memory: Memory, record_error: Callable[[Exception], None]) -> None:
        self._memory = memory
        self._record_error = record_error
        self._due = 0.0

    def tick(self, now: float) -> None:
        """Look at the repositories, if it is time to."""
        if now < self._due:
            return
        self._due = now + INTERVAL
        if not self._memory.settings.repos_dir.is_dir():
            return
        for root in self._memory.repos.known_roots():
            try:
                self._memory.repos.maintain(root)
            except RepositoryError:
                continue  # it is being changed, or no repository any more
            except (VaultsyncError, OSError) as error:
                self._record_error(error)
                return
