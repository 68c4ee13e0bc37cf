"""Each store under two and four processes, with and without kills.

The ledger is outside of the store: what a writer said on its output, line by line.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.contracts.store_writer import PATIENCE, open_store
from tests.forked import HeardProgram
from tests.qdrant_server import FakeQdrant

MAX_FOLDER_BYTES = 64 << 20
"""On the disk: files of the engine have holes. A hundred facts take a hundredth of it."""
STORES = ("sqlite", "edge", "local", "server")
LATER = [pytest.param(name, marks=pytest.mark.slow) for name in ("local", "server")]
"""Their client takes a second to load in each process."""


@pytest.fixture
def url(request: pytest.FixtureRequest, disk: Path) -> Iterator[str]:
    """The URL of a store that is not there yet."""
    if request.param != "server":
        scheme = "sqlite" if request.param == "sqlite" else f"qdrant+{request.param}"
        yield f"{scheme}:{disk / 'store'}"
        return
    with FakeQdrant() as server:
        yield f"qdrant://127.0.0.1:{server.port}/together"


class Writer(HeardProgram):
    """A process that writes to a store."""

    def __init__(
        self, url: str, name: str, count: int, *, in_turn: bool, patience: float = PATIENCE
    ) -> None:
        manner = "in turn" if in_turn else "session"
        arguments = [url, name, str(count), manner, str(patience)]
        super().__init__("tests.contracts.store_writer", *arguments)

    def wait_until(self, met: Callable[[list[str]], object], seconds: float = 100) -> None:
        end = time.monotonic() + seconds
        while not met(self.lines):
            assert time.monotonic() < end, f"{self.lines[-3:]}\n{self.errors[-2000:]}"
            assert self._threads[0].is_alive() or met(self.lines), self.errors[-2000:]
            time.sleep(0.005)

    def begin(self) -> None:
        assert self.process.stdin
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def told(self, word: str) -> list[str]:
        return [line.partition(" ")[2] for line in self.lines if line.startswith(f"{word} ")]


@contextmanager
def started(*writers: Writer) -> Iterator[None]:
    """Writers that all begin at once; none outlives the block."""
    try:
        for each in writers:
            each.wait_until(lambda said: "ready" in said)
        for each in writers:
            each.begin()
        yield
    finally:
        for each in writers:
            if each.process.poll() is None and sys.exc_info()[0]:
                each.process.kill()
            each.end()


def written(writers: list[Writer]) -> int:
    return sum(len(each.told("wrote")) for each in writers)


def wait_for_texts(writers: list[Writer], number: int) -> None:
    end = time.monotonic() + 300
    while written(writers) < number:
        assert time.monotonic() < end, [(each.lines[-1:], each.errors[-500:]) for each in writers]
        time.sleep(0.005)


def check(url: str, *writers: Writer) -> None:
    """Nothing that was acknowledged is lost, nobody failed, and the store is sound."""
    for each in writers:
        assert not each.errors, each.errors[-3000:]
    ledger = [text for each in writers for text in each.told("wrote")]
    store = open_store(url)
    facts = list(store.iter_facts())
    held = [fact.content for fact in facts]
    assert sorted({*ledger} - {*held}) == []
    assert len(held) == len({*held})
    state, feed = store.state(), store.feed()
    assert state.facts == len(facts)
    assert sorted(row.fact_id for row in feed) == [fact.id for fact in facts]
    assert max(row.seq for row in feed) == state.seq
    store.close()
    folder = Path(url.partition(":")[2])
    if folder.is_dir():
        assert bytes_on_disk(folder) < MAX_FOLDER_BYTES


def bytes_on_disk(folder: Path) -> int:
    return sum(each.stat().st_blocks * 512 for each in folder.rglob("*") if each.is_file())


def write_together(url: str, processes: int, count: int, *, in_turn: bool) -> None:
    writers = [Writer(url, f"writer-{n}", count, in_turn=in_turn) for n in range(processes)]
    with started(*writers):
        pass
    for each in writers:
        assert each.lines[-1] == "done", each.errors[-3000:]
        assert len(each.told("wrote")) == count
    check(url, *writers)


@pytest.mark.parametrize("url", STORES, indirect=True)
def test_two_processes_that_write_at_once_lose_nothing(url: str) -> None:
    write_together(url, 2, 4, in_turn=False)


@pytest.mark.parametrize("url", ["edge", LATER[0]], indirect=True)
def test_two_processes_that_open_a_folder_in_turn_lose_nothing(url: str) -> None:
    write_together(url, 2, 3, in_turn=True)


@pytest.mark.parametrize("url", ["sqlite", "edge", *LATER], indirect=True)
def test_what_was_acknowledged_outlives_a_kill(url: str) -> None:
    killed, other = (Writer(url, name, 100_000, in_turn=False) for name in ("one", "other"))
    with started(killed, other):
        both = (killed, other)
        while not any(len(each.told("wrote")) > 2 for each in both):
            time.sleep(0.001)
        first = max(both, key=lambda each: len(each.told("wrote")))
        second = other if first is killed else killed
        first.process.kill()
        seen = len(second.told("wrote"))
        second.wait_until(lambda said: len([x for x in said if "wrote" in x]) > seen + 3)
        second.process.kill()
    check(url, killed, other)


@pytest.mark.parametrize("url", ["edge", LATER[0]], indirect=True)
def test_who_cannot_have_a_folder_is_told_who_has_it_and_what_to_do(url: str) -> None:
    store = open_store(url)
    store.state()
    writer = Writer(url, "second", 1, in_turn=False, patience=0.3)
    with started(writer):
        writer.wait_until(lambda said: any(line.startswith("refused") for line in said))
        store.close()
    (refusal, *_) = writer.told("refused")
    assert f"process {os.getpid()} has it open" in refusal
    assert "vaultsync watch" in refusal
    assert "vaultsync migrate --to" in refusal
    check(url, writer)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("in_turn", [False, True], ids=["sessions", "in turn"])
@pytest.mark.parametrize("processes", [2, 4])
@pytest.mark.parametrize("url", STORES, indirect=True)
def test_processes_lose_nothing_in_the_long_run(url: str, processes: int, in_turn: bool) -> None:
    write_together(url, processes, 40, in_turn=in_turn)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("in_turn", [False, True], ids=["sessions", "in turn"])
@pytest.mark.parametrize("processes", [2, 4])
@pytest.mark.parametrize("url", STORES, indirect=True)
def test_killed_processes_lose_nothing(url: str, processes: int, in_turn: bool) -> None:
    chance = random.Random(processes)
    every: list[Writer] = []
    running: list[Writer] = []
    try:
        for number in range(12 + processes):
            new = Writer(url, f"writer-{number}", 10_000, in_turn=in_turn)
            every.append(new)
            running.append(new)
            new.wait_until(lambda said: "ready" in said)
            new.begin()
            if len(running) == processes:
                # On a busy machine they write late: a time alone would kill them all before that.
                wait_for_texts(every, written(every) + chance.randrange(6))
                time.sleep(chance.uniform(0, 0.3))
                gone = running.pop(chance.randrange(processes))
                gone.process.kill()
    finally:
        for each in running:
            each.process.kill()
        for each in every:
            each.end()
    assert any(each.told("wrote") for each in every)
    check(url, *every)
