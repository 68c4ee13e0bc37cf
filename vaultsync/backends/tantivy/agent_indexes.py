"""The note indexes of agents from which some facts are hidden; a few of them are open."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from vaultsync.backends.tantivy.index import TantivyIndex
from vaultsync.model.permissions import Reader
from vaultsync.storage.erasure import Traces

MAX_OPEN = 8
"""Maximum number of indexes that stay open, each with its files in memory."""


class AgentIndexes:
    """One index per reader, in folders that may be deleted at any time."""

    def __init__(self, parent: Path, open_index: Callable[[Path], TantivyIndex]) -> None:
        self._parent = parent
        self._open_index = open_index
        self._open: dict[str, TantivyIndex] = {}
        """The most recently used is the last one."""

    def of(self, reader: Reader) -> TantivyIndex:
        """The index of what one agent may see, or all agents with the same permissions."""
        digest = sha256((reader.agent or reader.key).encode()).hexdigest()[:16]
        name = f"words-{digest}"
        folder = self._parent / name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(OSError):  # the time of its last use, for `prune()`
            os.utime(folder)
        self._open[name] = index = self._open.pop(name, None) or self._open_index(folder)
        if len(self._open) > MAX_OPEN:
            self._open.pop(next(iter(self._open))).close()
        return index

    def prune(self, before: float) -> None:
        """Remove those that were last used before a time, in seconds since 1970.

        Also removes indexes of questions about the past, which a crash leaves.

        Raises:
            IndexBusyError: another process is writing one.
            OSError: one cannot be removed.
        """
        for pattern in ("words-*/", "past-*/"):
            for folder in self._parent.glob(pattern):
                if folder.stat().st_mtime < before:
                    TantivyIndex(folder).clear()
                    Path(f"{folder}.lock").unlink(missing_ok=True)

    def erase(self, traces: Traces) -> dict[str, int]:  # noqa: ARG002 - the contract
        """Discard all of them, as an `Erasable`; the main note index counts what it contained."""
        self.close()
        self.prune(float("inf"))
        return {}

    def close(self) -> None:
        """Close the open ones."""
        while self._open:
            self._open.popitem()[1].close()
