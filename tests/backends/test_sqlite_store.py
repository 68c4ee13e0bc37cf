from __future__ import annotations

import json
import multiprocessing
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.fakes import FakeClock
from tests.snippets import killed
from vaultsync.backends.sqlite import archive_places, archive_rows
from vaultsync.backends.sqlite import database as sqlite_file
from vaultsync.backends.sqlite import sqlite_store as store_sqlite
from vaultsync.backends.sqlite.sqlite_store import SqliteStore
from vaultsync.backends.system.system_clock import SystemClock
from vaultsync.errors import StoreError, StoreUnavailableError
from vaultsync.model.fact import Fact, make_fact
from vaultsync.storage.store import AccessCount, RevisionMismatch, StoreWrite

pytestmark = pytest.mark.long(5)

CLOCK = FakeClock()
IDS = [CLOCK.new_id() for _ in range(2_000)]
A, B = IDS[:2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite3"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    opened = opened_at(path, create=True)
    yield opened
    opened.close()


def opened_at(path: Path, *, create: bool = False) -> SqliteStore:
    """A store whose file was opened."""
    store = SqliteStore(path, clock=FakeClock(), create=create)
    store.state()
    return store


def a_fact(fact_id: str = A, content: str = "Green.") -> Fact:
    return make_fact({"id": fact_id, "title": "Tea", "content": content})


def create(store: SqliteStore, fact_id: str = A, content: str = "Green.") -> str:
    (answer,) = store.write([StoreWrite(fact_id, a_fact(fact_id, content), None, "indy")])
    assert isinstance(answer, str)
    return answer


# --- the file ----------------------------------------------------------------------


def test_a_file_that_is_not_there_or_empty_is_not_a_store_unasked(path: Path) -> None:
    with pytest.raises(StoreUnavailableError):
        opened_at(path)
    assert list(path.parent.iterdir()) == []

    path.touch()
    with pytest.raises(StoreUnavailableError, match="holds no store"):
        opened_at(path)
    opened_at(path, create=True).close()

    opened_at(path).close()


def test_a_file_that_is_there_is_never_opened_but_by_sqlite(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.chmod(0o660)
    closed: list[int] = []
    monkeypatch.setattr(os, "close", closed.append)
    opened_at(path, create=True).close()

    assert closed == []
    assert stat.S_IMODE(path.stat().st_mode) == 0o660  # as its user set it


# --- its schema --------------------------------------------------------------------


def test_the_counts_of_an_older_store_are_taken_over(path: Path) -> None:
    create(opened_at(path, create=True))
    used = "2026-02-14T13:45:00Z"
    with sqlite3.connect(path, isolation_level=None) as db:
        db.execute(
            "UPDATE facts SET body = json_set(body, '$.accessCount', 7, '$.lastAccessedAt', ?)",
            (used,),
        )
        for table in ("accesses", "revisions"):
            db.execute(f"DROP TABLE {table}")
        db.execute("DROP INDEX tombstones")
        db.execute("DELETE FROM migrations WHERE name > 'm003_ops'")

    store = opened_at(path)

    assert (store.get(A).access_count, store.get(A).last_accessed_at) == (7, used)
    assert store.count_accesses({A: AccessCount(1, "2026-02-14T13:46:00Z")}, "x") == 1
    assert store.get(A).access_count == 8
    store.close()


def test_the_replaced_versions_of_a_fact_are_indexed(path: Path) -> None:
    create(opened_at(path, create=True))
    with sqlite3.connect(path) as db:
        ask = f"EXPLAIN QUERY PLAN {store_sqlite.SELECT_REPLACED}"
        plan = db.execute(ask, (0, json.dumps([A]), 500)).fetchall()
    assert "INDEX revisions_by_fact (fact_id=? AND seq>?)" in plan[0][3]


def test_a_store_from_before_the_log_knows_the_revisions_it_still_has(path: Path) -> None:
    path.touch()
    first = store_sqlite.MIGRATIONS[:1]
    db, schema = sqlite_file.open_migrated(path, first, create=True, log_pages=1_000)
    with db:
        assert schema == "ready"
        db.execute("INSERT INTO facts VALUES (?, 7, '7-x', 0, 'x', '', '', '', '', '')", [A])
    db.close()

    store = opened_at(path)
    assert [store.revision_at(seq) for seq in (6, 7)] == [None, "7-x"]
    assert store.last_ops([A]) == {}
    store.close()


# --- damage, absence ---------------------------------------------------------------


def test_a_store_that_is_away_is_not_made_again(store: SqliteStore, path: Path) -> None:
    create(store)
    aside = path.rename(path.with_suffix(".aside"))
    for call in (store.state, lambda: create(store, B), lambda: list(store.iter_facts())):
        with pytest.raises(StoreUnavailableError):
            call()
    assert not path.exists()
    aside.rename(path)

    create(store, B)
    assert store.state().facts == 2
    path.with_name(path.name + "-wal").unlink()
    with pytest.raises(StoreUnavailableError):
        store.state()
    assert store.state().facts == 2


def test_a_restored_store_is_away_once_with_new_revisions(store: SqliteStore, path: Path) -> None:
    create(store)
    backup = path.with_suffix(".backup")
    with sqlite3.connect(path) as db, sqlite3.connect(backup) as copy:
        db.backup(copy)
    db.close()
    copy.close()
    lost = create(store, B)
    before = store.state()
    backup.rename(path)

    with pytest.raises(StoreUnavailableError, match="replaced"):
        store.state()
    assert store.state().facts == 1
    new = create(store, B)
    assert new != lost
    assert store.state() == before._replace(revision=new)
    assert store.revision_at(2) == new


def test_a_write_into_a_file_that_is_replaced_meanwhile_is_not_acknowledged(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by a backup that is restored while it waits for the lock."""
    create(store)
    kept = path.with_name("backup")
    with closing(sqlite3.connect(path)) as db, closing(sqlite3.connect(kept)) as backup:
        db.backup(backup)
    begin = sqlite_file.transaction

    def late(db: sqlite3.Connection) -> AbstractContextManager[sqlite3.Connection]:
        kept.replace(path)
        return begin(db)

    with monkeypatch.context() as patch:
        patch.setattr(sqlite_file, "transaction", late)
        with pytest.raises(StoreUnavailableError, match="replaced"):
            create(store, B)
    assert [fact.id for fact in store.iter_facts()] == [A]
    create(store, B)
    assert {fact.id for fact in store.iter_facts()} == {A, B}


def test_another_store_in_its_place_never_answers(store: SqliteStore, path: Path) -> None:
    create(store)
    other = opened_at(path.with_name("other"), create=True)
    other_id = other.state().store_id
    assert other_id != store.state().store_id
    other.close()
    path.with_name("other").rename(path)

    for _ in range(3):
        with pytest.raises(StoreUnavailableError, match="replaced"):
            store.state()
    store.close()
    again = opened_at(path)
    assert (again.state().facts, again.state().store_id) == (0, other_id)
    again.close()


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE log ADD COLUMN next",
        "ALTER TABLE facts RENAME COLUMN seq TO next",
        "CREATE TRIGGER next BEFORE INSERT ON log BEGIN SELECT RAISE(ABORT, 'next'); END",
    ],
)
def test_a_newer_version_that_changes_the_store_while_it_is_open_is_named(
    store: SqliteStore, path: Path, change: str
) -> None:
    create(store)
    with closing(sqlite3.connect(path)) as newer:
        newer.execute("INSERT INTO migrations (name) VALUES ('m999_next')")
        newer.execute(change)
        newer.commit()
    with pytest.raises(StoreError, match="a store of a newer vaultsync") as caught:
        create(store, B)
    assert type(caught.value) is StoreError, "it is not queued as if the store came back"
    assert store.state().facts == 1


def test_interrupted_and_refused_calls_write_nothing(store: SqliteStore, path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        interrupted = Mock(side_effect=[*[b"0000"] * 5, KeyboardInterrupt])
        patch.setattr(os, "urandom", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.write([StoreWrite(each, a_fact(each), None, "x") for each in IDS])
    assert (store.state().seq, store.feed()) == (0, [])

    revision = create(store)
    log = path.with_name(path.name + "-wal")
    before = log.read_bytes()

    answers = store.write([StoreWrite(A, a_fact(), None, "x")] * 3)

    assert answers == [RevisionMismatch(A, revision)] * 3
    assert log.read_bytes() == before


# --- processes and threads ------------------------------------------------------------


def in_processes(work: Callable[..., None], calls: list[tuple[object, ...]]) -> None:
    workers = [multiprocessing.get_context("spawn").Process(target=work, args=x) for x in calls]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    assert [each.exitcode for each in workers] == [0] * len(calls)


def _count_up(path: Path, times: int) -> None:
    store = SqliteStore(path, clock=SystemClock(), create=False)
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


def test_processes_and_threads_count_without_losing_one(store: SqliteStore, path: Path) -> None:
    store.write([StoreWrite(A, a_fact(content="0"), None, "x")])
    in_processes(_count_up, [(path, 50)] * 4)
    assert store.get(A).content == "200"
    assert store.state().seq == 201

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: _increment(store, 25), range(4)))
    assert store.get(A).content == "300"


def _make(path: Path, number: int) -> None:
    store = SqliteStore(path, clock=SystemClock(), create=True)
    store.write([StoreWrite(IDS[number], a_fact(IDS[number]), None, "x")])
    store.close()


def test_four_processes_that_make_a_store_make_one(path: Path) -> None:
    in_processes(_make, [(path, number) for number in range(4)])

    store = opened_at(path)
    assert sorted(row.seq for row in store.feed()) == [1, 2, 3, 4]
    store.close()


WRITER = """
import sys
from tests.backends.test_sqlite_store import IDS, a_fact, opened_at
from pathlib import Path
from vaultsync.storage.store import StoreWrite

store = opened_at(Path(sys.argv[1]))
for start in range(0, len(IDS), 10):
    store.write([StoreWrite(each, a_fact(each), None, "x") for each in IDS[start:start+10]])
    print(start + 10, flush=True)
"""


def test_what_was_answered_outlives_a_killed_writer(store: SqliteStore, path: Path) -> None:
    store.close()
    answered = int(killed(WRITER, path, after=20)[-1])

    again = opened_at(path)
    facts = again.state().facts
    assert facts >= answered
    assert facts % 10 == 0
    assert [fact.id for fact in again.iter_facts()] == IDS[:facts]
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
    again.close()


@pytest.mark.parametrize(
    ("migrations", "places"),
    [
        pytest.param(store_sqlite.MIGRATIONS, store_sqlite.STORE_PLACES, id="store"),
        pytest.param(archive_rows.MIGRATIONS, archive_places.ARCHIVE_PLACES, id="archive"),
    ],
)
def test_every_table_that_names_facts_is_erased_from(
    migrations: tuple[sqlite_file.Migration, ...], places: tuple[tuple[str, str], ...]
) -> None:
    with closing(sqlite3.connect(":memory:")) as db:
        for migration in migrations:
            migration(db)
        tables = {
            name
            for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            if {"id", "fact_id", "body", "data", "report"}
            & {row[1] for row in db.execute(f"PRAGMA table_info({name})")}
        }
    assert tables
    named = " ".join(statement for _, statement in places)
    assert [each for each in sorted(tables) if f" {each} " not in named] == []
