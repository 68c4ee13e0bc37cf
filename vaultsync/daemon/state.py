"""The state that the daemon reports about itself."""

from __future__ import annotations

from dataclasses import dataclass

from vaultsync.errors import VaultsyncError
from vaultsync.model.schema import Value
from vaultsync.privacy.error_json import error_values


def error_summary(error: Exception) -> dict[str, Value]:
    """An error as JSON: its kind, message and hint."""
    hint = error.hint if isinstance(error, VaultsyncError) else ""
    return error_values(type(error).__name__, str(error), hint)


@dataclass(slots=True)
class DaemonState:
    """What `status` and the bridge show of the daemon."""

    since: str
    watcher: str = ""
    """The watcher that runs; empty when none does."""
    trouble: str = ""
    """Why the last watcher failed."""
    away: str = ""
    """Why the store does not answer; empty when it does."""
    lag: float = 0.0
    """Age in seconds of the oldest change that is not synced yet."""
    passes: int = 0
    waiting: int = 0
    """Number of facts that the next run tries again."""
    conflicts: int = 0
    attention: int = 0
    """Number of notices, without conflicts."""
    last_error: dict[str, Value] | None = None
    failing: bool = False
    """Whether the last run failed."""

    def fail(self, error: Exception, at: str) -> dict[str, Value]:
        """Record the error of a failed run; returns it as JSON."""
        self.failing = True
        return self.note(error, at)

    def note(self, error: Exception, at: str) -> dict[str, Value]:
        """Record an error; returns it as JSON."""
        self.last_error = {"at": at, **error_summary(error)}
        return dict(self.last_error)

    def as_json(self) -> dict[str, Value]:
        """The state as JSON."""
        return {
            "since": self.since,
            "watcher": self.watcher,
            "watcher_trouble": self.trouble,
            "store_away": self.away,
            "lag_seconds": round(self.lag, 3),
            "passes": self.passes,
            "waiting": self.waiting,
            "conflicts": self.conflicts,
            "attention": self.attention,
            "failing": self.failing,
            "last_error": self.last_error,
        }
