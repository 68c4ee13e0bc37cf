"""Who has the engine of a vault can be asked without taking it."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import filelock
import pytest

from vaultsync.backends import replace_file
from vaultsync.backends.state.engine_lock import EngineLock
from vaultsync.errors import EngineBusyError

TAKES_IT = """
import sys
from pathlib import Path
from vaultsync.backends.state.engine_lock import EngineLock
with EngineLock(Path(sys.argv[1]), "v"):
    print("taken", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def lock(tmp_path: Path) -> EngineLock:
    return EngineLock(tmp_path, "v")


def test_asking_who_has_the_engine_takes_no_lock(lock: EngineLock, tmp_path: Path) -> None:
    assert lock.holder() == "idle"
    assert list(tmp_path.iterdir()) == []


def test_who_has_the_engine_is_named_until_it_releases_it(lock: EngineLock, tmp_path: Path) -> None:
    command = [sys.executable, "-c", TAKES_IT, str(tmp_path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == "taken\n"
        named = lock.holder()
        with pytest.raises(EngineBusyError, match=f"process {other.pid}"), lock:
            pass
        other.stdin.close()
    assert named == f"process {other.pid}"
    assert lock.holder() == "idle"
    with lock:
        assert lock.holder() == "this process"


@pytest.mark.parametrize("is_moved", [True, False])
def test_a_process_whose_vault_was_moved_away_is_not_waited_for(
    lock: EngineLock, tmp_path: Path, *, is_moved: bool
) -> None:
    where = tmp_path / "Memory"
    where.mkdir()
    with EngineLock(tmp_path, str(where)):
        if is_moved:
            where.rename(tmp_path / "Moved")
        error = lock.busy().watched("it does this by itself")
    assert (str(where) in error.message, "stop process" in error.hint) == (is_moved, is_moved)
    assert ("it does this by itself" in error.hint) is not is_moved
    assert not lock.busy().was_at, "it has ended"


@pytest.mark.parametrize("record", ["", "[]", '{"pid": 0}', '{"pid": "x"}', '{"vault": "/gone"}'])
def test_a_damaged_record_names_no_process(lock: EngineLock, tmp_path: Path, record: str) -> None:
    (tmp_path / "engine.json").write_text(record)
    assert lock.holder() == "idle"
    assert not lock.busy().was_at


WAITS = """
import sys
from pathlib import Path
from vaultsync.backends.state.engine_lock import EngineLock
with EngineLock(Path(sys.argv[1]), "v").next.held():
    print("waits", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("how", ["gives up", "is killed"])
def test_who_needs_the_engine_for_a_moment_leaves_it_to_a_process_that_waits(
    lock: EngineLock, tmp_path: Path, how: str
) -> None:
    command = [sys.executable, "-c", WAITS, str(tmp_path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        with lock:
            assert other.stdout.readline() == "waits\n"
            assert lock.try_lock()  # what it does already is finished
            lock.unlock()
        assert not lock.try_lock()
        with lock:  # a command that was asked for goes ahead
            pass
        if how == "is killed":
            other.kill()
        other.stdin.close()
    assert lock.try_lock()
    lock.unlock()
    assert [each.name for each in tmp_path.iterdir()] == ["engine.lock"]


def test_of_two_that_wait_the_second_follows_the_first(lock: EngineLock, tmp_path: Path) -> None:
    other = EngineLock(tmp_path, "v")
    with other.next.held(), lock.next.held():
        assert not lock.try_lock()
        assert other.try_lock()
        other.unlock()
    assert lock.try_lock()
    lock.unlock()


def test_who_has_the_engine_for_long_lends_it_to_who_asks(lock: EngineLock, tmp_path: Path) -> None:
    other, third = EngineLock(tmp_path, "v"), EngineLock(tmp_path, "v")
    with lock, lock:
        assert not lock.asked.is_of_another()
        with other.asked.held() as first, third.asked.held() as second:
            assert (first, second) == (True, False)
            assert lock.asked.is_of_another()
            times = lock.lend()
            assert not lock.is_held
            assert not third.try_lock()
            with other:
                assert third.holder() == f"process {os.getpid()}"
                assert not lock.take_back(times)
        assert not lock.asked.is_of_another()
        assert lock.take_back(times)
        assert third.holder() == f"process {os.getpid()}"
        assert not other.try_lock()
    assert other.try_lock()
    other.unlock()
    assert [each.name for each in tmp_path.iterdir()] == ["engine.lock"]


def test_the_last_of_nested_holders_releases_the_engine(lock: EngineLock, tmp_path: Path) -> None:
    other = EngineLock(tmp_path, "v")
    assert lock.try_lock()
    with lock:
        pass
    assert not other.try_lock()
    assert other.holder("another process") == f"process {os.getpid()}"
    lock.unlock()
    assert other.holder() == "idle"
    assert other.try_lock()
    other.unlock()


@pytest.mark.parametrize(
    "record",
    [
        lambda: json.dumps({"pid": _ended()}),
        lambda: json.dumps({"pid": 10**30}),
        lambda: json.dumps({"pid": -1}),
        lambda: "[" * 10_000,
        lambda: "{}",
        lambda: "nonsense",
    ],
    ids=["ended", "huge", "negative", "deep", "empty", "no JSON"],
)
def test_a_record_of_no_process_is_no_holder(
    lock: EngineLock, tmp_path: Path, record: Callable[[], str]
) -> None:
    (tmp_path / "engine.json").write_text(record())
    assert lock.holder() == "idle"
    assert lock.holder("another process") == "another process"
    with lock:
        assert lock.holder() == "this process"
    assert lock.holder() == "idle"


def test_on_a_full_disk_the_engine_is_taken_without_a_record(
    lock: EngineLock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replace_file, "replace_file", _raises(OSError(errno.ENOSPC, "no space")))
    other = EngineLock(tmp_path, "v")
    with lock, lock:
        assert other.holder("another process") == "another process"
        assert not other.try_lock()
        assert lock.lend() == 2
        assert lock.take_back(2)
    assert other.try_lock()
    other.unlock()


@pytest.mark.parametrize("request_file", ["engine.asked", "engine.next"])
def test_a_process_that_tests_for_requests_does_not_prevent_one(
    lock: EngineLock, tmp_path: Path, request_file: str
) -> None:
    tested = threading.Event()

    def test() -> None:
        with filelock.FileLock(tmp_path / request_file):
            tested.set()
            time.sleep(0.02)

    with ThreadPoolExecutor() as pool:
        done = pool.submit(test)
        assert tested.wait(60)
        asks = lock.asked.held() if request_file == "engine.asked" else lock.next.held()
        with asks as first:
            done.result()
            assert first is not False
            assert not EngineLock(tmp_path, "v").try_lock()


@pytest.mark.parametrize("outer", [0, 1])
def test_the_engine_is_released_if_its_record_is_interrupted(
    lock: EngineLock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outer: int
) -> None:
    other = EngineLock(tmp_path, "v")
    for _ in range(outer):
        assert lock.try_lock()
    monkeypatch.setattr(replace_file, "replace_file", _raises(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt), lock:
        pass
    assert lock.is_held == bool(outer)
    for _ in range(outer):
        lock.unlock()
    assert other.try_lock()
    other.unlock()


def _raises(error: BaseException) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


def _ended() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return process.pid
