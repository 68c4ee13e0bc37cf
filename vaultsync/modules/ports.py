"""Contracts: the folder of the modules, and its state outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from msgspec import Struct

from vaultsync.model.schema import Value

MAX_MODULE_BYTES = 1 << 20
"""Bytes of a file in the folder; larger ones are not read."""


class ModuleListing(Struct, frozen=True):
    """The Markdown files of a folder, and the manifests."""

    documents: tuple[str, ...] = ()
    """Files of the folder itself."""
    topics: Mapping[str, tuple[str, ...]] = {}
    """Names of files by folder below it."""


class ModuleFolder(Protocol):
    """The folder of modules, which users and other programs change at any moment.

    Paths begin at the folder and use `/`. A link is never followed, and nothing outside the
    folder is read or written: anyone who can write to a repository could put links into it.
    """

    @property
    def name(self) -> str:
        """Its path in the repository, such as `docs/memories`."""
        ...

    @property
    def key(self) -> str:
        """Identifies the folder on this machine."""
        ...

    def listing(self) -> ModuleListing:
        """Its content; empty if it does not exist."""
        ...

    def read(self, path: str) -> bytes | None:
        """A whole file as it was at one moment; None when there is none.

        Raises:
            UnreadableModuleError: it cannot be read, is a link, or is too large.
        """
        ...

    def replace(self, path: str, data: bytes, expect: bytes | None) -> None:
        """Replace the content `expect` by `data`, durably; None creates a file and its folder.

        Raises:
            ModuleChangedError: the file has another content now, which stands.
            UnreadableModuleError: it cannot be written.
        """
        ...

    def lock(self, seconds: float) -> AbstractContextManager[None]:
        """Lock the folder against other processes of vaultsync.

        Raises:
            ModulesBusyError: another process held the lock for that many seconds.
        """
        ...


class ModuleIntent(Struct, frozen=True):
    """A write of an agent that has begun, so that a crash leaves nothing half done."""

    op: str
    """An id; ids are ordered by time."""
    topic: str
    chunk_id: str
    path: str
    """Of the module, from the folder."""
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


class MirrorRecord(Struct, frozen=True):
    """The state of a module when it was last mirrored."""

    topic: str
    digest: str
    """Of what was sent; empty while it is not known whether the remote took any version."""
    text_sha256: str
    """Of what was sent."""


class FolderRecord(Struct, frozen=True):
    """The record of a folder; it can be rebuilt from the files."""

    facts: dict[str, FactRecord] = {}
    """By path, from the folder; modules by `topic/chunk`."""
    mirror: dict[str, MirrorRecord] = {}
    """By chunk id."""
    proposed: dict[str, str] = {}
    """`topic/chunk` of what agents proposed -> the checksum of the module then, or `new`."""
    index: str = ""
    """SHA-256 of the index that was generated last."""
    failures: int = 0
    """The number of consecutive failures of the remote."""
    next_try: str = ""
    """The time of the next automatic attempt."""
    remote_key: str = ""
    """Of the remote with which the manifests were synced; empty if unknown."""
    space: str = ""
    folder: str = ""
    """The folder's path on this machine."""


class ModuleState(Protocol):
    """The state of one folder of modules, in the state folder."""

    def read(self) -> FolderRecord:
        """The record; an empty one when it is missing or damaged."""
        ...

    def write(self, record: FolderRecord) -> None:
        """Replace the record atomically."""
        ...

    def intents(self) -> Sequence[ModuleIntent]:
        """The writes that have begun and not ended, oldest first."""
        ...

    def put_intent(self, intent: ModuleIntent) -> None:
        """Keep a write durably, or replace the one with the same op."""
        ...

    def drop_intent(self, op: str) -> None:
        """Forget a write that has ended; idempotent."""
        ...

    def keep(self, data: bytes) -> str:
        """Store bytes permanently; returns their name in the log."""
        ...

    def log(self, entry: Mapping[str, Value]) -> None:
        """Append a line of telemetry; a full disk stops nothing."""
        ...

    def count(self, *, success: int = 0, failure: int = 0) -> tuple[int, int]:
        """Count attempts to mirror; returns both totals."""
        ...
