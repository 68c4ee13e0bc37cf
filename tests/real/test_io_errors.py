"""The N-th call that touches files fails, N = 1, 2, 3 … until the work completes.

Once, and from then on for ever until the fault is gone. Afterwards both sides are equal,
nothing is lost, and a further pass writes nothing. The calls of `os` are made to fail in
this process, each in turn; those of SQLite, and of libc, by strace in another one.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.real.home import Home, say
from tests.real.strace import needs_strace
from tests.real.test_kill import Calls, check, spread, strike_at
from vaultsync.backends.filesystem import file_reading, syscalls, tree
from vaultsync.errors import VaultsyncError

pytestmark = pytest.mark.long(5)

FOR_EVER = 1_000_000
CALLS = (
    *("open", "write", "read", "fsync", "replace", "unlink", "link"),
    *("mkdir", "stat", "fstat", "scandir", "dup", "fchmod", "utime"),
)
"""What the adapter of the vault asks of `os`."""
SAMPLE = 3
CODES = (errno.ENOSPC, errno.EIO, errno.EACCES)


class Faults:
    """Counts the calls that the adapter of the vault makes, and lets some fail."""

    def __init__(self, *, first: int, times: int, code: int) -> None:
        self.calls = 0
        self._failing = range(first, first + times)
        self._code = code

    def wrap(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **named: Any) -> Any:  # noqa: ANN401 - any call of os
            self.calls += 1
            if self.calls in self._failing:
                raise OSError(self._code, os.strerror(self._code))
            return call(*args, **named)

        return counted

    @property
    def reached(self) -> bool:
        return self.calls >= self._failing.start


@contextlib.contextmanager
def failing(faults: Faults) -> Iterator[None]:
    """Let calls of the adapter of the vault fail, while it lasts."""
    faulty = SimpleNamespace(**vars(os))
    for name in CALLS:
        setattr(faulty, name, faults.wrap(getattr(os, name)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(syscalls, "os", faulty)
        patch.setattr(file_reading, "os", faulty)
        patch.setattr(tree, "os", faulty)
        for name in ("_RENAME", "_SYNCFS"):
            real = getattr(syscalls, name)
            patch.setattr(syscalls, name, _libc(faults, real))
        yield


def _libc(faults: Faults, real: Callable[..., int]) -> Callable[..., int]:
    import ctypes

    counted = faults.wrap(real)

    def call(*args: object) -> int:
        try:
            done: int = counted(*args)
        except OSError as error:
            ctypes.set_errno(error.errno or 0)
            return -1
        return done

    return call


def fail_at(template: Home, where: Path, faults: Faults, *, go_on: bool) -> None:
    """A pass with faults; then without, by the same engine or by another one."""
    home = template.copy(where)
    try:
        with home.open() as memory:
            with failing(faults), contextlib.suppress(VaultsyncError, OSError):
                memory.sync()
            if go_on:
                with contextlib.suppress(VaultsyncError, OSError):
                    memory.sync()
        check(home)
    except BaseException as error:
        error.add_note(f"{faults.__dict__}")
        raise
    shutil.rmtree(where)


def _count(template: Home, where: Path) -> int:
    faults = Faults(first=FOR_EVER, times=1, code=errno.EIO)
    fail_at(template, where, faults, go_on=False)
    return faults.calls


@pytest.mark.parametrize("times", [1, FOR_EVER])
@pytest.mark.long(2)
def test_a_pass_repairs_what_a_fault_leaves(times: int, template: Home, tmp_path: Path) -> None:
    count = _count(template, tmp_path / "whole")
    assert count > 200
    for i in range(SAMPLE):
        faults = Faults(first=1 + i * count // SAMPLE, times=times, code=CODES[i % len(CODES)])
        fail_at(template, tmp_path / "home", faults, go_on=i % 2 == 0)
        assert faults.reached


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("code", "times"), [(errno.EIO, 1), (errno.ENOSPC, FOR_EVER)])
def test_a_pass_repairs_any_failure(code: int, times: int, template: Home, tmp_path: Path) -> None:
    n = 0
    while True:
        n += 1
        faults = Faults(first=n, times=times, code=code)
        fail_at(template, tmp_path / "home", faults, go_on=n % 2 == 0)
        if not faults.reached:
            break
    say(f"{os.strerror(code)}: {n - 1} calls failed, {times} times")
    assert n > 200


STRIKES = [("error=ENOSPC", "+"), ("error=EIO", "")]


@needs_strace
@pytest.mark.parametrize("turn", range(len(STRIKES)))
@pytest.mark.long(2)
def test_a_pass_repairs_what_a_failing_system_call_leaves(
    turn: int, template: Home, calls: Calls, tmp_path: Path
) -> None:
    how, on = STRIKES[turn]
    chosen = spread(calls("pass"), 2, turn + 2)
    struck = strike_at(chosen, chosen, template, "pass", tmp_path, how=how, on=on)
    assert any(each.refused for each in struck)


@needs_strace
@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("how", "on"), STRIKES)
def test_a_pass_repairs_whichever_system_call_fails(
    how: str, on: str, template: Home, calls: Calls, tmp_path: Path
) -> None:
    found = calls("pass")
    struck = strike_at(found, found, template, "pass", tmp_path, how=how, on=on)
    refused = sum(bool(each.refused) for each in struck)
    say(f"{how}{on}: {len(found)} system calls, {refused} passes refused")
    assert refused > len(found) // 4
