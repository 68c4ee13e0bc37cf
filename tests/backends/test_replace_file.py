"""Logs to which whole lines are appended."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from vaultsync.backends.replace_file import append_bytes


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
