"""Processes that write notes at the same time wait for each other, but not for a daemon."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import vaultsync
from tests.fakes import FakeClock
from vaultsync.api.engine import (
    TURN_SECONDS,
    WRITERS_POLL_SECONDS,
    WRITERS_SECONDS,
    WRITERS_TURN_SECONDS,
)
from vaultsync.api.memory import Memory
from vaultsync.backends.state.engine_lock import EngineLock
from vaultsync.backends.state.process_files import DaemonFile
from vaultsync.errors import EngineBusyError
from vaultsync.sync.report import Verification


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    vaultsync.init(str(tmp_path / "v"), state_dir=str(tmp_path / "s"))
    with vaultsync.open(str(tmp_path / "v"), state_dir=str(tmp_path / "s")) as opened:
        yield opened


@contextmanager
def held(memory: Memory) -> Iterator[threading.Event]:
    """Another process has the lock until the event is set, or the block ends."""
    taken, release = threading.Event(), threading.Event()

    def hold() -> None:
        lock = EngineLock(memory.settings.state_dir, "v")
        assert lock.try_lock()
        taken.set()
        release.wait(60)
        lock.unlock()

    holder = threading.Thread(target=hold)
    holder.start()
    assert taken.wait(60)
    try:
        yield release
    finally:
        release.set()
        holder.join()


@pytest.fixture
def waits(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that the memory waits, on a clock that stands otherwise."""
    clock, waited = FakeClock(), list[float]()
    monkeypatch.setattr(memory._ctx.clock, "monotonic", clock.monotonic)

    def sleep(seconds: float) -> None:
        clock.advance(seconds)
        waited.append(seconds)

    monkeypatch.setattr(memory._ctx.clock, "sleep", sleep)
    return waited


@pytest.fixture
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may suspend this process for longer than it waits for another one."""
    monkeypatch.setattr("vaultsync.api.engine.WRITERS_SECONDS", 60.0)


@pytest.mark.usefixtures("_patience")
def test_a_note_is_written_after_that_of_another_process(memory: Memory) -> None:
    with held(memory) as release:
        threading.Timer(0.05, release.set).start()
        fact = memory.remember("Tea at four.")
    assert fact.path is not None
    with held(memory) as release:
        threading.Timer(0.05, release.set).start()
        memory.update(fact.id, content="Tea at five.")
    assert "Tea at five." in (memory.settings.root / fact.path).read_text("utf-8")


@pytest.mark.usefixtures("_patience")
def test_a_command_waits_until_another_process_has_written_its_notes(memory: Memory) -> None:
    with held(memory) as release:
        threading.Timer(0.05, release.set).start()
        assert not memory.sync().attention
        memory.verify()


def test_a_run_has_its_turn_among_processes_that_write_without_a_pause(memory: Memory) -> None:
    stopped = threading.Event()

    def write() -> None:
        lock = EngineLock(memory.settings.state_dir, "v")
        while not stopped.is_set():
            if lock.try_lock():
                stopped.wait(0.02)
                lock.unlock()
            else:
                stopped.wait(WRITERS_POLL_SECONDS)

    writers = [threading.Thread(target=write) for _ in range(3)]
    for each in writers:
        each.start()
    try:
        for _ in range(5):
            memory.sync()
            memory.rebuild(source="store")
    finally:
        stopped.set()
        for each in writers:
            each.join()


@pytest.mark.parametrize("is_run", [True, False])
def test_a_run_waits_longer_for_writers_than_for_another_run(
    memory: Memory, waits: list[float], *, is_run: bool
) -> None:
    other = EngineLock(memory.settings.state_dir, "v")
    with other if is_run else held(memory), pytest.raises(EngineBusyError):
        memory.sync()
    limit = WRITERS_SECONDS + (0.0 if is_run else TURN_SECONDS)
    assert sum(waits) == pytest.approx(limit, abs=2 * WRITERS_POLL_SECONDS)


@pytest.mark.usefixtures("_patience")
def test_notes_are_written_after_those_of_another_process(memory: Memory, tmp_path: Path) -> None:
    text = "# Tea\n\nTea is served at four, and at five on Sundays.\n"
    for write in (
        lambda: memory.add_to_memory_file(tmp_path / "MEMORY.md", text, section="Tea"),
        lambda: memory.modules.write("house", "h-01", text, folder=tmp_path / "modules"),
    ):
        with held(memory) as release:
            threading.Timer(0.1, release.set).start()
            write()
    assert all(each.path for each in memory.list().facts)
    assert len(memory.list().facts) == 2


def test_a_process_with_the_vault_is_waited_for_once(memory: Memory, waits: list[float]) -> None:
    with held(memory):
        assert memory.remember("One.").path is None
        limit = pytest.approx(WRITERS_TURN_SECONDS + WRITERS_SECONDS, abs=2 * WRITERS_POLL_SECONDS)
        assert sum(waits) == limit
        assert memory.remember("Two.").path is None
        assert sum(waits) == limit
    assert memory.remember("Three.").path is not None


@pytest.mark.usefixtures("waits")
def test_notes_that_waited_are_written_with_the_next_one_or_at_the_end(
    memory: Memory, tmp_path: Path
) -> None:
    with held(memory):
        one, gone = memory.remember("One."), memory.remember("Gone.")
    assert memory.remember("Two.").path is not None
    assert memory.get(one.id).path is not None
    with held(memory):
        memory.update(one.id, content="Three.")
        memory.forget(gone.id)
        assert memory.remember("Four.").path is None
    memory.close()
    with vaultsync.open(memory.settings.root, state_dir=tmp_path / "s") as read:
        assert read.verify() == Verification(equal=True, checked=3)


def test_a_daemon_is_not_waited_for(memory: Memory, waits: list[float]) -> None:
    with held(memory):
        DaemonFile(memory.settings.state_dir).write({})
        assert memory.remember("One.").path is None
        with pytest.raises(EngineBusyError):
            memory.sync()
    assert waits == []


def test_a_fact_is_remembered_although_a_folder_is_in_place_of_the_summary(
    memory: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    summary = memory.settings.root / ".meta" / "sync-state.json"
    summary.mkdir()
    fact = memory.remember("The crane lifts ten tonnes.")
    memory.close()
    (warned,) = (each for each in caplog.records if each.levelname == "WARNING")
    assert "sync-state.json: is a folder, not a file" in warned.getMessage()
    assert "move or rename it" in warned.getMessage()
    summary.rmdir()
    root, state = memory.settings.root, memory.settings.state_dir.parent
    with vaultsync.open(str(root), state_dir=str(state)) as again:
        assert again.get(fact.id).path == fact.path
        again.sync()
        assert again.verify().equal
