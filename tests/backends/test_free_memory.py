"""Memory that was freed goes back to the system."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from vaultsync.backends.system import free_memory


@pytest.mark.skipif(sys.platform != "linux", reason="tells its memory in another way")
def test_what_was_freed_is_returned_where_the_library_can() -> None:
    if free_memory._TRIM is None:
        pytest.skip("another C library than that of GNU")
    kept = [bytes(1000) for _ in range(100_000)]
    del kept[:-1]  # the last one keeps the end of the heap
    before = _anonymous()
    free_memory.return_free_memory()
    assert _anonymous() < before - 50_000


def test_a_library_that_cannot_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(free_memory, "_TRIM", None)
    free_memory.return_free_memory()


def _anonymous() -> int:
    """Anonymous memory of this process, in kB."""
    with Path("/proc/self/status").open(encoding="ascii") as lines:
        return next(int(each.split()[1]) for each in lines if each.startswith("RssAnon"))
