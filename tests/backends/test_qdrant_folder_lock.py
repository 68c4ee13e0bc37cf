"""The lock of a local folder of Qdrant."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path
from typing import Never

import pytest

from tests.fakes import FakeClock
from tests.qdrants import PLACE
from vaultsync.backends.qdrant.folder_lock import FolderLock
from vaultsync.backends.qdrant.retry import RetryPolicy


def test_the_lock_is_released_if_its_holder_cannot_be_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, clock = replace(PLACE, kind="local", path=tmp_path), FakeClock()
    retry = RetryPolicy(clock, lambda _: None, seconds=0)
    one, other = FolderLock(place, clock), FolderLock(place, clock)

    def full(*_: object) -> Never:
        raise OSError(errno.ENOSPC, "no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(OSError, match="no space"):
            one.hold(retry)
    other.hold(retry)
    other.release()
