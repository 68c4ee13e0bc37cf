from __future__ import annotations

from pathlib import Path

import pytest

from vaultsync.backends.state.telemetry_file import TelemetryFile
from vaultsync.sync.telemetry import SavedTelemetry, SavedTimes

NOW = "2026-02-14T13:45:00.000Z"


def test_what_was_measured_is_kept(tmp_path: Path) -> None:
    saved = SavedTelemetry(NOW, starts=2, running=True, recall={"index": SavedTimes(1, [0.5])})
    TelemetryFile(tmp_path).write(saved)
    assert TelemetryFile(tmp_path).read(now="later") == saved


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"since": 3}', b'{"since": "", "recall": 1}'])
def test_a_damaged_file_begins_again(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "telemetry.json").write_bytes(data)
    assert TelemetryFile(tmp_path).read(now=NOW) == SavedTelemetry(NOW)


def test_what_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    TelemetryFile(tmp_path / "gone").write(SavedTelemetry(NOW))
    assert TelemetryFile(tmp_path / "gone").read(now=NOW) == SavedTelemetry(NOW)
