"""What is kept is bounded: many recalls and updates of the same facts, and old things pruned."""

from __future__ import annotations

import logging
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from msgspec import structs

import vaultsync
from vaultsync.api.erasing import prune
from vaultsync.api.memory import Memory
from vaultsync.backends.sqlite.sqlite_store import LOGGED_WRITES
from vaultsync.backends.system.system_clock import SystemClock
from vaultsync.errors import RunPrunedError
from vaultsync.settings import RetentionSettings

pytestmark = pytest.mark.long(5)

_log = logging.getLogger(__name__)
FIXED = 2_000_000
"""Bytes of an almost empty state folder: files of SQLite have pages and logs of their own."""
KEPT = 32
"""State folder over live bytes (store and notes), while the history of all updates is kept:
each update keeps two texts in the history and its note's former bytes."""
PRUNED = 5
"""The same when all of that is older than the settings keep."""


class LaterClock(SystemClock):
    """The clock of some days later."""

    def __init__(self, days: float) -> None:
        super().__init__()
        self._days = days

    def now(self) -> datetime:
        return super().now() + timedelta(days=self._days)


def size(folder: Path) -> int:
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())


def rows(archive: Path, table: str) -> int:
    with closing(sqlite3.connect(archive)) as db:
        found: int = db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VAULTSYNC_EMBEDDER", "none")
    vaultsync.init(str(tmp_path / "vault"), state_dir=str(tmp_path / "state"))
    with next((tmp_path / "vault").glob(".meta/config.toml")).open("a") as settings:
        settings.write("linger_seconds = 0\n")
    return tmp_path


@pytest.fixture
def memory(folder: Path) -> Iterator[Memory]:
    with vaultsync.open(str(folder / "vault"), state_dir=str(folder / "state")) as opened:
        yield opened


def texts(seed: int) -> Iterator[str]:
    chosen = random.Random(seed)
    words = [f"{chosen.getrandbits(40):x}" for _ in range(4_000)]
    while True:
        yield " ".join(chosen.choices(words, k=90))


def maintained_later(memory: Memory, days: float, *, dry_run: bool = False) -> dict[str, int]:
    memory._services.clock = LaterClock(days)
    return prune(memory._services, dry_run=dry_run)


@pytest.mark.parametrize(
    ("facts", "recalls", "updates"),
    [
        pytest.param(40, 1_000, 400, id="short"),
        pytest.param(
            1_000, 100_000, 10_000, id="soak", marks=[pytest.mark.slow, pytest.mark.timeout(1800)]
        ),
    ],
)
def test_recalls_and_updates_of_the_same_facts_end_within_a_stated_size(
    memory: Memory, folder: Path, facts: int, recalls: int, updates: int
) -> None:
    said = texts(7)
    ids = [memory.remember(next(said)).id for _ in range(facts)]
    memory.sync()
    live = 2 * sum(len(memory.get(each).content) for each in ids)
    for n in range(updates):
        memory.update(ids[n % facts], content=next(said))
        for _ in range(recalls // updates):
            memory._services.access_counter.add([ids[(7 * n) % facts]])
    memory.sync()
    memory.maintain()
    state = folder / "state"
    archive = next(state.rglob("archive.sqlite3"))
    assert rows(archive.with_name("store.sqlite3"), "log") <= LOGGED_WRITES + facts
    kept = size(state)
    assert maintained_later(memory, 1.0) == {}, "nothing of it is old yet"
    maintained_later(memory, 800)
    maintained_later(memory, 900)
    pruned = size(state)
    measured = f"live {live:,} bytes, kept {kept:,}, pruned {pruned:,}"
    _log.info(measured)
    assert kept <= KEPT * live + FIXED, measured
    assert pruned <= PRUNED * live + FIXED, measured
    assert {rows(archive, "blobs"), rows(archive, "bases")} == {facts}
    assert memory.verify().equal


def test_what_is_old_is_counted_first_and_then_pruned(memory: Memory) -> None:
    fact = memory.remember("The first text of it.").id
    gone = memory.remember("The text of one that goes.").id
    memory.sync()
    memory.update(fact, content="The second text of it.")
    run = memory.history(fact)[-1].run
    memory.forget(gone)
    memory.sync()
    assert maintained_later(memory, 1) == {}
    assert maintained_later(memory, 92) == {"blobs": 1}, "not those of a note that can come back"
    removed = maintained_later(memory, 731, dry_run=True)
    assert removed["history"] > 0
    assert removed["tombstones"] == 1
    assert memory.history(fact)
    assert maintained_later(memory, 731) == removed
    assert memory.history(fact) == []
    with pytest.raises(RunPrunedError):
        memory.undo(run)
    assert memory.get(fact).content == "The second text of it."
    memory.sync()
    assert memory.verify().equal


def test_a_settled_copy_is_kept_as_long_as_its_run_can_be_undone(
    memory: Memory, folder: Path
) -> None:
    note = folder / "vault" / str(memory.remember("The text.", title="Plan").path)
    memory.sync()
    copy = note.with_name(f"{note.stem}.sync-conflict-20300101-120000-ABCDEFG.md")
    copy.write_text(note.read_text("utf-8") + "Only the copy says this.\n", "utf-8")
    memory.sync()
    run = memory.settle_copy(str(copy), take="drop").run
    for days in (1, 92, 300):
        maintained_later(memory, days)
    memory.undo(run)
    assert "Only the copy says this." in note.with_name(f"{note.stem} 2.md").read_text("utf-8")


def test_zero_days_keep_everything_for_ever(memory: Memory) -> None:
    fact = memory.remember("The first text of it.").id
    memory.sync()
    memory.update(fact, content="The second text of it.")
    forever = RetentionSettings(history=0, runs=0, blobs=0, tombstones=0)
    before = memory.history(fact)
    memory._services.settings = structs.replace(memory.settings, retention=forever)
    maintained_later(memory, 1)
    assert maintained_later(memory, 999_999) == {}
    assert memory.history(fact) == before


def test_maintain_reports_what_it_pruned_and_a_dry_run_what_it_would(memory: Memory) -> None:
    fact = memory.remember("The first text of it.").id
    memory.sync()
    memory.update(fact, content="The second text of it.")
    memory.maintain()
    memory._services.clock = LaterClock(100)
    assert memory.maintain(dry_run=True).pruned == {"blobs": 1}
    done = memory.maintain()
    assert (done.pruned, done.quiet) == ({"blobs": 1}, False)
    assert memory.maintain().pruned == {}
