"""Logs to which whole lines are appended, and files that are read whole."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from vaultsync.backends.replace_file import append_bytes, read_file


@pytest.mark.parametrize("appended", [b"", b"other"], ids=["alone", "with another process"])
def test_a_line_that_does_not_fit_on_the_disk_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, appended: bytes
) -> None:
    path, write = tmp_path / "log", os.write
    append_bytes(path, b"first\n")

    def full(fd: int, data: bytes) -> int:
        done = write(fd, data[:3])
        with path.open("ab") as other:
            other.write(appended)
        return done

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="space") as raised:
            append_bytes(path, b"second\n")
    assert raised.value.errno == errno.ENOSPC
    assert path.read_bytes() == (b"first\nsecother" if appended else b"first\n")


@pytest.mark.parametrize("kind", ["a folder", "a pipe", "a link"])
def test_only_a_regular_file_is_read_and_nothing_stays_open(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "state.json"
    if kind == "a folder":
        path.mkdir()
    elif kind == "a pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(tmp_path)
    before = {*os.listdir("/proc/self/fd")}  # noqa: PTH208 - as below
    with pytest.raises(OSError, match=r"regular file|symbolic links"):
        read_file(path)
    # The listing itself has one; those that other tests left are closed at any time.
    assert {*os.listdir("/proc/self/fd")} <= before  # noqa: PTH208
