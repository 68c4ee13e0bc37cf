from __future__ import annotations

import multiprocessing
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes import FakeClock
from vaultsync.backends.sqlite.store import SqliteStore
from vaultsync.backends.system.clock import SystemClock
from vaultsync.model.fact import Fact, make_fact
from vaultsync.storage.store import StoreWrite

CLOCK = FakeClock()
IDS = [CLOCK.new_id() for _ in range(2_000)]
A = IDS[0]
SPAWN = multiprocessing.get_context("spawn")
ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite3"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    opened = opened_at(path, create=True)
    yield opened
    opened.close()


def opened_at(path: Path, *, create: bool = False) -> SqliteStore:
    return SqliteStore.open(path, clock=FakeClock(), create=create)


def a_fact(fact_id: str = A, content: str = "Green.") -> Fact:
    return make_fact({"id": fact_id, "title": "Tea", "content": content})


def _count_up(path: Path, times: int) -> None:
    store = SqliteStore.open(path, clock=SystemClock(), create=False)
    _increment(store, times)
    store.close()


def _increment(store: SqliteStore, times: int) -> None:
    for _ in range(times):
        done = False
        while not done:
            fact = store.get(A)
            counted = a_fact(content=str(int(fact.content) + 1))
            (answer,) = store.write([StoreWrite(A, counted, fact.revision, "x")])
            done = isinstance(answer, str)


def test_four_processes_count_without_losing_one(
    store: SqliteStore, path: Path
) -> None:
    store.write([StoreWrite(A, a_fact(content="0"), None, "x")])
    workers = [SPAWN.Process(target=_count_up, args=(path, 50)) for _ in range(4)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()

    assert [each.exitcode for each in workers] == [0] * 4
    assert store.get(A).content == "200"
    assert store.state().seq == 201


def test_threads_may_share_a_store(store: SqliteStore) -> None:
    store.write([StoreWrite(A, a_fact(content="0"), None, "x")])
    workers = [threading.Thread(target=_increment, args=(store, 25)) for _ in range(4)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()

    assert store.get(A).content == "100"


def _make(path: Path, number: int) -> None:
    store = SqliteStore.open(path, clock=SystemClock(), create=True)
    store.write([StoreWrite(IDS[number], a_fact(IDS[number]), None, "x")])
    store.close()


def test_four_processes_that_make_a_store_make_one(path: Path) -> None:
    workers = [SPAWN.Process(target=_make, args=(path, number)) for number in range(4)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()

    assert [each.exitcode for each in workers] == [0] * 4
    store = opened_at(path)
    assert sorted(row.seq for row in store.feed()) == [1, 2, 3, 4]
    store.close()


WRITER = """
import sys
from tests.backends.test_store_processes import IDS, a_fact, opened_at
from pathlib import Path
from vaultsync.storage.store import StoreWrite

store = opened_at(Path(sys.argv[1]))
for start in range(0, len(IDS), 10):
    store.write([StoreWrite(each, a_fact(each), None, "x") for each in IDS[start:start+10]])
    print(start + 10, flush=True)
"""


def test_what_was_answered_outlives_a_killed_writer(
    store: SqliteStore, path: Path
) -> None:
    store.close()
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, cwd=ROOT
    )
    assert writer.stdout is not None
    answered = [int(writer.stdout.readline()) for _ in range(20)][-1]
    writer.send_signal(signal.SIGKILL)
    answered = max([answered, *map(int, writer.stdout.read().split())])
    writer.wait()
    writer.stdout.close()

    again = opened_at(path)
    facts = again.state().facts
    assert facts >= answered
    assert facts % 10 == 0
    assert [fact.id for fact in again.iter_facts()] == IDS[:facts]
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
    again.close()
