"""A memory file with what lies beside it, and the queue of what agents write into such files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from vaultsync.model.schema import Value


class MemoryFile(Protocol):
    """One file that people and agents edit, and the state beside it.

    People save it at any moment, in place or by renaming another file to its name, and
    know of no lock. The lock is between agents and what reads the file for them.
    """

    @property
    def name(self) -> str:
        """What it is known by, on this machine and in facts: `~/work/MEMORY.md`."""
        ...

    @property
    def key(self) -> str:
        """Its name in its folder, under which the state beside it keeps it."""
        ...

    def read(self, limit: int) -> bytes | None:
        """All of it, as it was at one moment; None when its folder is there and it is not.

        Raises:
            UnreadableMemoryFileError: it cannot be read, is no file, or is larger.
        """
        ...

    def lock(self, seconds: float) -> AbstractContextManager[None]:
        """Nobody else who asks for it works with the files of this folder meanwhile.

        Where nothing can be written there is nothing to lock.

        Raises:
            MemoryFileBusyError: somebody has had it for so long.
        """
        ...

    def replace(self, data: bytes, expect: bytes | None) -> None:
        """Put `data` in the place of `expect`, durably; None makes a new file.

        What was saved meanwhile is put back, so that a person's save always stands.

        Raises:
            MemoryFileChangedError: it held, or now holds, something else. What it held
                in between and holds no more is in the error.
            UnreadableMemoryFileError: it cannot be written.
        """
        ...

    def leftovers(self) -> Sequence[bytes]:
        """What a crash left of `replace`: new bytes not put, or bytes that were displaced."""
        ...

    def drop_leftovers(self) -> None:
        """Remove them; harmless when repeated."""
        ...

    def state(self) -> bytes | None:
        """What was kept beside the files of this folder; None when there is nothing."""
        ...

    def put_state(self, data: bytes) -> bool:
        """Keep it, whole or not at all; False when nothing can be written there."""
        ...


@dataclass(frozen=True, slots=True)
class QueuedText:
    """Something that an agent writes into a memory file."""

    op: str
    """An id; later ones are greater."""
    name: str
    """Of the file."""
    section: str
    text: str
    replace: bool
    agent: str | None
    at: str
    before: str | None = None
    """The sha of the file that it was about to replace; None while it was not."""
    after: str | None = None
    """The sha of what it was about to put there."""


class WriteQueue(Protocol):
    """What agents write into memory files: what waits, and a log of everything.

    Any number of processes may use it at once.
    """

    def put(self, item: QueuedText) -> None:
        """Keep it durably, instead of what has the same op."""
        ...

    def drop(self, op: str) -> None:
        """Forget it; harmless when repeated."""
        ...

    def waiting(self, name: str | None = None) -> list[QueuedText]:
        """What waits for a file, or for any, oldest first."""
        ...

    def log(self, entry: Mapping[str, Value]) -> None:
        """Append a line to the log, durably."""
        ...

    def keep(self, data: bytes) -> str:
        """Keep bytes for good; returns the name they have in the log."""
        ...


class MetadataReader(Protocol):
    """The reader of a memory file's frontmatter."""

    def read(self, text: str, name: str) -> Mapping[str, Value] | None:
        """The properties of a text that begins with frontmatter; None if it is no map.

        Raises:
            UnreadableMemoryFileError: it is no YAML, or no reader is installed.
        """
        ...
