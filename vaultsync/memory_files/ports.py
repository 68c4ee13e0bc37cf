"""Contracts: a memory file with its state file, and the queue of texts that agents add."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from vaultsync.model.schema import Value


class MemoryFile(Protocol):
    """One file that users and agents edit, and the state beside it.

    Users save it at any moment, in place or by renaming another file to its name, and take no
    lock. The lock is between agents, and the syncs that read the file for them.
    """

    name: str
    """The name in facts and messages: `~/work/MEMORY.md`."""

    @property
    def key(self) -> str:
        """Its name in its folder, the key of its state."""
        ...

    def read(self, limit: int) -> bytes | None:
        """The whole file as it was at one moment; None when only its folder exists.

        Raises:
            UnreadableMemoryFileError: it cannot be read, is not a regular file, or is larger
                than `limit` bytes.
        """
        ...

    def lock(self, seconds: float) -> AbstractContextManager[None]:
        """Lock the files of this folder; does nothing where the folder is read-only.

        Raises:
            MemoryFileBusyError: another process held the lock for that many seconds.
        """
        ...

    def replace(self, data: bytes, expect: bytes | None) -> None:
        """Replace the content `expect` by `data`, durably; None creates a file.

        A version that the user saves meanwhile is put back: the user's save always stands.

        Raises:
            MemoryFileChangedError: the file had, or has now, another content. The error carries
                versions that it had in between and has no more; until they are kept elsewhere,
                the last of them is among the leftovers.
            UnreadableMemoryFileError: it cannot be written.
        """
        ...

    def has_leftovers(self) -> bool:
        """Whether a crash left something of a `replace`, or another process is in one."""
        ...

    def displaced(self) -> Sequence[tuple[bytes, bytes | None]]:
        """The versions of the file that a crashed `replace` displaced, unless they are in it again.

        So is one into which a program wrote that had the file open during a `replace`. Each with
        what was put in its place, if the file still has that. Requires the lock.

        Raises:
            UnreadableMemoryFileError: there is something that `replace` did not leave.
        """
        ...

    def drop_leftovers(self) -> None:
        """Remove what a crash left of `replace`; idempotent. Requires the lock."""
        ...

    def state(self) -> bytes | None:
        """The state of the files of this folder; None when there is none."""
        ...

    def put_state(self, data: bytes) -> None:
        """Replace the state atomically, unless the folder is read-only."""
        ...


@dataclass(frozen=True, slots=True)
class QueuedText:
    """A text that an agent adds to a memory file."""

    op: str
    """An id; ids are ordered by time."""
    name: str
    """Of the file."""
    section: str
    text: str
    replace: bool
    agent: str | None
    at: str
    creates: bool = False
    """Whether there was no file when the text was queued, so that it makes one."""


class WriteQueue(Protocol):
    """The texts that agents add to memory files, and a log of all.

    Any number of processes may use it at once.
    """

    def put(self, item: QueuedText) -> None:
        """Add an item durably, or replace the one with the same op."""
        ...

    def drop(self, op: str) -> None:
        """Remove an item; idempotent."""
        ...

    def waiting(self, name: str | None = None) -> list[QueuedText]:
        """The items for one file, or for all, oldest first."""
        ...

    def log(self, *entries: Mapping[str, Value]) -> None:
        """Append lines to the log, durably."""
        ...

    def keep(self, data: bytes) -> str:
        """Store bytes permanently; returns their name in the log."""
        ...
