"""The contract of a watcher, which reports the paths of a vault that may have changed.

An event is only a hint that something happened at a path, never what. Events may be
redundant, repeated, late, or caused by our own writes; a missed change is found by the next
rescan. A watcher must not fail silently.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from vaultsync.model.paths import VaultPath


@dataclass(frozen=True, slots=True)
class WatchEvents:
    """The events since the last call."""

    notes: frozenset[VaultPath] = frozenset()
    """Paths that end in `.md`, outside hidden folders."""
    others: frozenset[VaultPath] = frozenset()
    """Folders, and deleted paths that may have been folders, outside hidden folders."""
    lost: str = ""
    """Why events may have been lost; empty if none were."""
    probes: int = 0
    """Number of probes seen."""
    store: bool = False
    """Whether another process of this machine signalled a write to the store. A polling
    watcher does not notice it."""

    def __bool__(self) -> bool:
        """Whether there are any events."""
        return bool(self.notes or self.others or self.lost or self.store)


class Watcher(Protocol):
    """Watches a vault from `start` to `stop`, in its own threads or whenever it is drained.

    Each path that changes after `start` returned is reported within a second (by a polling
    watcher: within three of its intervals), or `lost` states why events were lost: the
    system's queue was full, there were too many to report singly, or the system says so. For
    a folder that is moved in, or filled right after it is created, either its files are
    reported, or the folder as one of `others`; later changes in it are reported.
    """

    name: str
    """A name for users, which states how it works."""
    polls: bool
    """Whether it works by polling."""

    def start(self) -> None:
        """Start watching. Must be called only once.

        Raises:
            OSError: the root does not exist, or the system's limit on watches is reached.
        """
        ...

    def drain(self) -> WatchEvents:
        """The events since the last call; never blocks, never raises."""
        ...

    def failure(self) -> str:
        """Why it is no longer reliable; empty while it is.

        Reasons are a thread that ended or failed, and a root that was removed or replaced by
        another folder. Cheap enough to be called every second.
        """
        ...

    def probe(self) -> None:
        """Cause an event outside the vault that a working watcher counts in `probes`.

        A polling watcher does not need it.

        Raises:
            OSError: the event could not be caused; this is not a failure of the watcher.
        """
        ...

    def stop(self) -> None:
        """Stop watching and end all threads; idempotent."""
        ...
