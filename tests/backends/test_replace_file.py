"""Logs to which whole lines are appended, and files that are read whole."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from vaultsync.backends.replace_file import append_bytes, read_file, replace_file


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


@pytest.mark.parametrize("call", ["fsync", "fchmod"])
def test_an_error_names_the_file_that_was_to_be_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, full)
    with pytest.raises(OSError, match="space") as raised:
        replace_file(tmp_path / "state.json", b"{}")
    assert raised.value.filename == str(tmp_path / "state.json")
    assert list(tmp_path.iterdir()) == []


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
