"""Reports of the commands about modules; each struct is its JSON."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from vaultsync.sync.report import ReportedNotice


class ModuleWritten(Struct, frozen=True):
    """A module that was written."""

    chunk_id: str
    sync_status: str
    """`synced`, `pending` or `failed`."""
    remote_id: str | None
    """Its id at the remote; None until the remote has it."""
    path: str
    """Of the module, from the repository's root."""
    checksum: str
    """SHA-256 of the module's file."""
    fact_id: str | None = None
    reason: str = ""
    """Why the remote does not have it."""
    attention: Sequence[ReportedNotice] = ()


class ModuleAnswer(Struct, frozen=True):
    """The text of a topic, or of one of its modules."""

    source: str
    """`remote` or `files`."""
    confidence: float | None
    """The confidence of the remote; None if it was not asked or had nothing."""
    text: str
    chunks: Sequence[str] = ()
    paths: Sequence[str] = ()
    """The files that were read for it."""
    checksum: str | None = None
    """Of a single module, for `expect`."""
    reason: str = ""
    """Why the remote's answer was not used."""


class ModuleSyncReport(Struct, frozen=True):
    """The result of a `module sync`."""

    synced: int
    """Modules that were mirrored."""
    failed: int
    """Attempts that failed."""
    pending: int
    """Modules that still wait."""
    removed: int = 0
    """Modules that were removed from the remote."""
    facts: int = 0
    """Facts that were written."""
    attention: Sequence[ReportedNotice] = ()
    run: str | None = None
    """The run that brought the notes up to date, for `undo`."""

    @property
    def quiet(self) -> bool:
        """Whether nothing was done."""
        return not (self.synced or self.failed or self.removed or self.facts)


class ModuleStatus(Struct, frozen=True):
    """How far the mirror of a folder is."""

    pending: int
    oldest_hours: float
    """How long the oldest of them has been waiting."""
    alert: bool
    """Whether that is too many, or too long."""
    failed: int
    """How many of them the remote refused."""
    folder: str
    space: str
    remote: str
    """The remote; empty if the settings name none."""
    sync_success_total: int
    sync_failure_total: int
    attention: Sequence[ReportedNotice] = ()
