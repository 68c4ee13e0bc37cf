from __future__ import annotations

import stat
from pathlib import Path

import pytest

from vaultsync.backends.state.log_file import LogFile


def test_a_log_file_is_bounded_and_keeps_one_older_file(tmp_path: Path) -> None:
    log = LogFile(tmp_path, max_bytes=100)
    for number in range(100):
        log.append(f"line {number}")
    files = sorted(log.path.parent.iterdir())
    assert [each.name for each in files] == ["vaultsync.log", "vaultsync.log.1"]
    lines = [line for each in reversed(files) for line in each.read_text().splitlines()]
    assert lines == [f"line {number}" for number in range(100 - len(lines), 100)]
    assert all(each.stat().st_size <= 110 for each in files)
    assert {stat.S_IMODE(each.stat().st_mode) for each in files} == {0o600}
    assert stat.S_IMODE(log.path.parent.stat().st_mode) == 0o700


def test_a_log_that_is_a_link_or_a_pipe_is_not_followed_and_does_not_hang(tmp_path: Path) -> None:
    import os

    log = LogFile(tmp_path)
    log.append("a")
    log.path.unlink()
    os.mkfifo(log.path)
    with pytest.raises(OSError, match="No such device"):
        log.append("b")
    log.path.unlink()
    log.path.symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic"):
        log.append("b")
