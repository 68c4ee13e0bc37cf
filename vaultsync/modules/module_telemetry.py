"""Telemetry of the mirror: an alert for the user, and counters for Prometheus."""

from __future__ import annotations

from collections.abc import Mapping

from vaultsync.model.paths import VaultPath
from vaultsync.modules.report import ModuleStatus
from vaultsync.storage.archive import Notice

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
