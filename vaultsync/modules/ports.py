"""Contracts for the folder of modules, and for its state in the state folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from msgspec import Struct

from vaultsync.model.schema import Value
from vaultsync.storage.archive import Notice

DISPLACED, CONFLICT, INDEX_EDITED = "ModuleDisplaced", "ModuleConflict", "IndexEdited"
"""Kinds of notices."""
MAX_MODULE_BYTES = 1 << 20
"""Maximum size of a file in bytes; larger files are not read."""


class ModuleListing(Struct, frozen=True):
    """The Markdown files of a folder, and the manifests."""

    documents: tuple[str, ...] = ()
    """Files of the folder itself."""
    topics: Mapping[str, tuple[str, ...]] = {}
    """Subfolder -> the names of its files."""


class DisplacedVersion(NamedTuple):
    """A version of a file that a write displaced before a crash cut it off.

    The user had saved it at that very moment.
    """

    data: bytes
    put: bytes | None
    """What the write put in its place; None if the file has another content now."""
    place: str
    """The folder where it is, for messages."""


class ModuleFolder(Protocol):
    """The folder of modules, which users and other programs may change at any moment.

    Paths are relative to the folder and use `/`. Links are never followed, and nothing outside the
    folder is read or written: anyone who can write to a repository could put links into it.
    """

    name: str
    """Its path in the repository, such as `docs/memories`."""
    key: str
    """Identifies the folder on this machine."""

    def listing(self) -> ModuleListing:
        """Its content; empty if it does not exist."""
        ...

    def read(self, path: str) -> bytes | None:
        """A consistent copy of a file; None if it does not exist.

        Raises:
            UnreadableModuleError: it cannot be read, is a link, or is too large.
        """
        ...

    def replace(self, path: str, data: bytes, expect: bytes | None) -> None:
        """Durably replace the content `expect` by `data`; None creates a file and its folder.

        Raises:
            ModuleChangedError: the file has another content, which is kept.
            UnreadableModuleError: it cannot be written.
        """
        ...

    def has_leftovers(self) -> bool:
        """Whether a crash left something of a `replace`, or another process is in one."""
        ...

    def displaced(self, path: str) -> Sequence[DisplacedVersion]:
        """The versions of a file that crashed writes displaced, and that are not in it again.

        Requires the lock.

        Raises:
            UnreadableModuleError: there is something that `replace` did not leave.
        """
        ...

    def drop_displaced(self, path: str, data: bytes) -> None:
        """Forget a version that was displaced, and is kept elsewhere or put back; idempotent."""
        ...

    def lock(self, seconds: float) -> AbstractContextManager[None]:
        """Lock the folder against other processes of vaultsync.

        Raises:
            ModulesBusyError: another process held the lock for the whole time.
        """
        ...


class ModuleIntent(Struct, frozen=True):
    """An agent's write in progress, recorded so that it can be completed after a crash."""

    op: str
    """Its id; ids are ordered by time."""
    topic: str
    chunk_id: str
    path: str
    """The module's path, relative to the folder."""
    text: str
    """The new text."""
    before: str | None
    """The former text; None for a new module."""
    title: str
    was_title: str
    tags: tuple[str, ...]
    agent: str
    at: str


class FactRecord(Struct, frozen=True):
    """The state of a document when its fact was last updated."""

    fact_id: str
    title: str
    content: str


REMOVED = "removed"


class MirrorRecord(Struct, frozen=True):
    """The state of a module when it was last mirrored."""

    topic: str
    digest: str
    """Hash of what was sent; empty while it is unknown whether the remote has any version, and
    `REMOVED` once it has none: the module may come back with a branch."""
    text_sha256: str
    """SHA-256 of the text that was sent."""


class FolderRecord(Struct, frozen=True):
    """The record of a folder; it can be rebuilt from the files."""

    facts: dict[str, FactRecord] = {}
    """By path relative to the folder; modules by `topic/chunk`."""
    mirror: dict[str, MirrorRecord] = {}
    """By chunk id."""
    proposed: dict[str, str] = {}
    """`topic/chunk` of proposed modules -> the checksum at that time, or `new`."""
    index: str = ""
    """SHA-256 of the index that was generated last."""
    failures: int = 0
    """The number of consecutive failures of the remote."""
    next_try: str = ""
    """The time of the next automatic attempt."""
    remote_key: str = ""
    """The remote with which the manifests were synced; empty if unknown."""
    space: str = ""
    folder: str = ""
    """The folder's path on this machine."""
    unread: tuple[Notice, ...] = ()
    """Of syncs whose reports the user does not read: notices that no later sync repeats."""


class ModuleState(Protocol):
    """The state of one folder of modules, in the state folder."""

    def read(self) -> FolderRecord:
        """Read the record; an empty one if it is missing or damaged."""
        ...

    def write(self, record: FolderRecord) -> None:
        """Replace the record atomically."""
        ...

    def intents(self) -> Sequence[ModuleIntent]:
        """The unfinished writes, oldest first."""
        ...

    def put_intent(self, intent: ModuleIntent) -> None:
        """Record a write durably, replacing one with the same `op`."""
        ...

    def drop_intent(self, op: str) -> None:
        """Remove a finished write; idempotent."""
        ...

    def keep(self, data: bytes) -> str:
        """Store bytes permanently; returns their name in the log."""
        ...

    def log(self, entry: Mapping[str, Value]) -> None:
        """Append a line of telemetry; ignores a full disk."""
        ...

    def count(self, *, success: int = 0, failure: int = 0) -> tuple[int, int]:
        """Count attempts to mirror; returns both totals."""
        ...
