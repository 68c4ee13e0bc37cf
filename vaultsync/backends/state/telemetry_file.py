"""The telemetry of a vault's daemons, in a file of its state folder."""

from __future__ import annotations

from pathlib import Path

from msgspec import json

from vaultsync.backends.replace_file import read_records, try_replace
from vaultsync.sync.telemetry import SavedTelemetry


class TelemetryFile:
    """Numbers for `status`; nothing depends on them, so a damaged file is reset."""

    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / "telemetry.json"

    def read(self, *, now: str) -> SavedTelemetry:
        """The measurements; new ones, beginning now, if there are none."""
        return next(read_records([self._path], SavedTelemetry), SavedTelemetry(now))

    def write(self, saved: SavedTelemetry) -> None:
        """Write the measurements; a full disk must not stop the daemon."""
        try_replace(self._path, json.encode(saved) + b"\n")
