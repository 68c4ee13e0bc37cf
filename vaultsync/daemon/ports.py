"""The contract of a watcher, which reports the paths of a vault that may have changed.

An event is only a hint: that something happened at a path, never what. Events may be
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
    """Paths that end in `.md`, outside of dot-folders."""
    others: frozenset[VaultPath] = frozenset()
    """Folders, and deleted paths that may have been folders; outside of dot-folders."""
    lost: str = ""
    """Why events may have been lost; empty when none were."""
    probes: int = 0
    """Number of probes that were seen."""
    store: bool = False
    """Whether another process of this machine says that it wrote to the store. A polling
    watcher does not hear it."""

    def __bool__(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.notes or self.others or self.lost or self.store)


class Watcher(Protocol):
    """Watches one vault, from `start` to `stop`, in threads of its own or when it is drained.

    Each path that changes after `start` returned is reported within a second (by a polling
    watcher: within three of its intervals), or `lost` says why events were lost: the queue
    of the system was full, there were too many to report singly, or the system says so. For
    a folder that is moved in, or filled right after it is created, either its files are
    reported or the folder is, as one of `others`; later changes in it are reported.
    """

    name: str
    """A name for users: which watcher it is, and how it works."""
    polls: bool
    """Whether it polls."""

    def start(self) -> None:
        """Start watching. To be called once.

        Raises:
            OSError: the root does not exist, or the system has no more watches.
        """
        ...

    def drain(self) -> WatchEvents:
        """The events since the last call; never blocks, never raises."""
        ...

    def failure(self) -> str:
        """Why it is not reliable any more; empty while it is.

        Reasons are a thread that ended, an error in it, and a root that is gone or another
        folder than the one that is watched. Cheap enough to be called every second.
        """
        ...

    def probe(self) -> None:
        """Cause an event outside the vault that a working watcher counts in `probes`.

        A polling watcher does not need it.

        Raises:
            OSError: the event could not be caused; that says nothing about the watcher.
        """
        ...

    def stop(self) -> None:
        """Stop watching and end all threads; idempotent."""
        ...
