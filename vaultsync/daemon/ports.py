"""The watcher: tells which paths of a vault may have changed.

What it tells is a hint and nothing else: that somebody did something at a path, never
what. It may tell too much, twice, late, and of our own writes; what it missed is found
by the next rescan. What it must not do is fail in silence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from vaultsync.model.paths import VaultPath


@dataclass(frozen=True, slots=True)
class WatchEvents:
    """What a watcher heard since it was asked last."""

    notes: frozenset[VaultPath] = frozenset()
    """Paths that end in `.md`, in no dot-folder."""
    others: frozenset[VaultPath] = frozenset()
    """Folders, and what is gone and may have been one; in no dot-folder."""
    lost: str = ""
    """Why events may have been lost since then; empty when none were."""
    probes: int = 0
    """How many probes were heard."""

    def __bool__(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.notes or self.others or self.lost)


class Watcher(Protocol):
    """Listens to one vault, from `start` to `stop`, in threads of its own.

    Each path that changes after `start` returned is heard within a second (a polling
    watcher: within three of its intervals), or `lost` says that something was lost:
    because the system's queue was full, because there was more than can be told one by
    one, or because the system says so. The files that are in a folder when it is moved in,
    or put there in its first moments, are heard, or the folder is, as one of `others`;
    what happens in them later is heard.
    """

    name: str
    """For people: which one, and how it listens."""
    polls: bool
    """Whether it looks again and again instead of being told."""

    def start(self) -> None:
        """Begin to listen. To be called once.

        Raises:
            OSError: it cannot: the root is not there, or the system has no more watches.
        """
        ...

    def drain(self) -> WatchEvents:
        """What was heard since the last call; never blocks, never raises."""
        ...

    def trouble(self) -> str:
        """Why it cannot be trusted any more; empty while it can.

        A thread that ended, an error inside it, a root that is another folder now than
        the one that is watched, or gone. Cheap enough to be asked every second.
        """
        ...

    def probe(self) -> None:
        """Do something that only a living watcher hears; it is counted in `probes`.

        It is done outside the vault. A polling watcher has no use for it.

        Raises:
            OSError: it cannot be done; that says nothing about the watcher.
        """
        ...

    def stop(self) -> None:
        """Stop listening; no thread of it is left. Harmless when repeated."""
        ...
