"""Reports about modules: of the commands, where each struct is its JSON, and of the mirror.

The telemetry of the mirror is an alert for the user, and counters for Prometheus.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from vaultsync.model.paths import VaultPath
from vaultsync.storage.archive import Notice
from vaultsync.sync.report import ReportedNotice


class ModuleWritten(Struct, frozen=True):
    """A module that was written."""

    chunk_id: str
    sync_status: str
    """`synced`, `pending` or `failed`."""
    remote_id: str | None
    """Its id at the remote; None until it is mirrored."""
    path: str
    """Its path, relative to the repository's root."""
    checksum: str
    """SHA-256 of the module's file."""
    fact_id: str | None = None
    reason: str = ""
    """Why it is not mirrored; empty if it is."""
    attention: Sequence[ReportedNotice] = ()


class ModuleAnswer(Struct, frozen=True):
    """The text of a topic, or of one of its modules."""

    source: str
    """`remote` or `files`."""
    confidence: float | None
    """The remote's confidence, 0 to 1; None if it was not asked or had nothing."""
    text: str
    chunks: Sequence[str] = ()
    paths: Sequence[str] = ()
    """The files that were read for the answer."""
    checksum: str | None = None
    """Checksum of a single module, for `expect`."""
    reason: str = ""
    """Why the remote's answer was not used."""


class ModuleSyncReport(Struct, frozen=True):
    """The result of a `module sync`."""

    synced: int
    """Modules that were mirrored."""
    failed: int
    """Attempts that failed."""
    pending: int
    """Modules that are not mirrored yet."""
    removed: int = 0
    """Modules that were removed from the remote."""
    facts: int = 0
    """Facts that were written."""
    files: int = 0
    """Files to which an edit of their fact was written."""
    attention: Sequence[ReportedNotice] = ()
    run: str | None = None
    """The run that updated the notes, for `undo`."""

    @property
    def quiet(self) -> bool:
        """Whether there was nothing to do."""
        return not (self.synced or self.failed or self.removed or self.facts or self.files)


class ModuleStatus(Struct, frozen=True):
    """The state of the mirror of a folder."""

    pending: int
    oldest_hours: float
    """Hours that the oldest of them has been waiting."""
    alert: bool
    """Whether too many wait, or one has waited too long."""
    failed: int
    """How many of them the remote refused."""
    folder: str
    space: str
    remote: str
    """The remote; empty if the settings name none."""
    sync_success_total: int
    sync_failure_total: int
    attention: Sequence[ReportedNotice] = ()


SUCCESS, FAILURE, PENDING = "sync_success_total", "sync_failure_total", "pending_chunks"
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def backlog_notice(status: ModuleStatus) -> Notice:
    """A notice that too many modules of a folder wait, or that one has waited too long."""
    count = f"{status.pending} module{'s wait' if status.pending != 1 else ' waits'}"
    why = f"{count} for the remote, the oldest for {status.oldest_hours:.0f} hours"
    hint = "`vaultsync module sync` there sends them; its backlog says why they wait"
    return Notice("ModuleBacklog", VaultPath(f"{status.space}: {status.folder}"), why, hint)


def render_metrics(success: int, failure: int, pending: Mapping[str, int]) -> str:
    """The counters in the text format of Prometheus.

    They count attempts to mirror a module, and in `pending` the modules that wait, by space.
    """
    lines = [
        f"# HELP {SUCCESS} Successful attempts to mirror a module.",
        f"# TYPE {SUCCESS} counter",
        f"{SUCCESS} {success}",
        f"# HELP {FAILURE} Failed attempts to mirror a module.",
        f"# TYPE {FAILURE} counter",
        f"{FAILURE} {failure}",
        f"# HELP {PENDING} Modules that wait for the remote.",
        f"# TYPE {PENDING} gauge",
        *(f'{PENDING}{{space="{_label(name)}"}} {n}' for name, n in sorted(pending.items())),
    ]
    return "\n".join(lines) + "\n"


def _label(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
