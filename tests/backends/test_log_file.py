from __future__ import annotations

import stat
from pathlib import Path

import pytest

from vaultsync.backends.state.log_file import LOG_FILE, LOG_FOLDER, append_to_log


def test_a_log_file_is_bounded_and_keeps_one_older_file(tmp_path: Path) -> None:
    for number in range(100):
        append_to_log(tmp_path, f"line {number}", max_bytes=100)
    folder = tmp_path / LOG_FOLDER
    files = sorted(folder.iterdir())
    assert [each.name for each in files] == ["vaultsync.log", "vaultsync.log.1"]
    lines = [line for each in reversed(files) for line in each.read_text().splitlines()]
    assert lines == [f"line {number}" for number in range(100 - len(lines), 100)]
    assert all(each.stat().st_size <= 110 for each in files)
    assert {stat.S_IMODE(each.stat().st_mode) for each in files} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_log_that_is_a_link_or_a_pipe_is_not_followed_and_does_not_hang(tmp_path: Path) -> None:
    import os

    append_to_log(tmp_path, "a")
    path = tmp_path / LOG_FOLDER / LOG_FILE
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(OSError, match="No such device"):
        append_to_log(tmp_path, "b")
    path.unlink()
    path.symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic"):
        append_to_log(tmp_path, "b")
