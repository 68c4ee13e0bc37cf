from __future__ import annotations

import ctypes
import platform
import resource
from pathlib import Path

import pytest

from vaultsync.backends.system import address_space
from vaultsync.backends.system.address_space import (
    MODEL_BYTES,
    check_room_for_model,
    limit_heaps,
    return_free_memory,
)
from vaultsync.errors import EmbedderError

NO_LIMIT = resource.RLIM_INFINITY


def limited(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, NO_LIMIT))


def test_without_a_limit_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, NO_LIMIT)
    check_room_for_model()


def test_a_limit_that_leaves_too_little_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, 1 << 20)
    with pytest.raises(EmbedderError, match="only 0 MiB more memory") as caught:
        check_room_for_model()
    assert "ulimit -v" in caught.value.hint


def test_what_is_used_already_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = resource.getpagesize()
    statm = tmp_path / "statm"
    limited(monkeypatch, MODEL_BYTES)
    assert address_space.address_space_left(statm=statm) is None
    statm.write_text("10 1 1", encoding="ascii")
    assert address_space.address_space_left(statm=statm) == MODEL_BYTES - 10 * page


def test_the_heaps_of_threads_are_limited_where_the_c_library_can() -> None:
    assert limit_heaps() is (platform.libc_ver()[0] == "glibc")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_what_was_freed_is_returned_where_the_c_library_can() -> None:
    kept = [bytes(1000) for _ in range(100_000)]
    del kept[:-1]  # the last one keeps the end of the heap
    before = _anonymous()
    assert return_free_memory()
    assert _anonymous() < before - 50_000


def test_a_c_library_without_such_functions_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    address_space._c_function.cache_clear()
    try:
        assert not limit_heaps()
        assert not return_free_memory()
    finally:
        address_space._c_function.cache_clear()


def _anonymous() -> int:
    """Anonymous memory of this process, in kB."""
    with Path("/proc/self/status").open(encoding="ascii") as lines:
        return next(int(each.split()[1]) for each in lines if each.startswith("RssAnon"))
