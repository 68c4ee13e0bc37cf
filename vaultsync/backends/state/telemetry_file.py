"""The telemetry of a vault's daemons, in a file of its state folder."""

from __future__ import annotations

import logging
from pathlib import Path

from msgspec import ValidationError, convert, json

from vaultsync.backends.replace_file import read_json, try_replace
from vaultsync.sync.telemetry import SavedTelemetry

_log = logging.getLogger(__name__)


class TelemetryFile:
    """Numbers for `status`; nothing depends on them, so a damaged file is reset."""

    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / "telemetry.json"

    def read(self, *, now: str) -> SavedTelemetry:
        """The measurements; new ones, beginning now, if there are none."""
        try:
            return convert(read_json(self._path), SavedTelemetry)
        except (OSError, ValueError, ValidationError) as error:
            _log.debug("the telemetry is reset: %s", error)
            return SavedTelemetry(now)

    def write(self, saved: SavedTelemetry) -> None:
        """Write the measurements; a full disk must not stop the daemon."""
        try_replace(self._path, json.encode(saved) + b"\n")
