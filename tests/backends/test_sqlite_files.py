"""What the store and the archive have in common: a private, durable file of a known schema."""

from __future__ import annotations

import os
import random
import resource
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple, TypeAlias

import pytest

from tests.archives import IDS, a_base, put
from tests.fakes import FakeClock
from vaultsync.backends.sqlite import sqlite_archive, sqlite_store
from vaultsync.backends.sqlite.database import explain, limit_caches
from vaultsync.backends.sqlite.sqlite_archive import SqliteArchive
from vaultsync.backends.sqlite.sqlite_store import SqliteStore
from vaultsync.errors import ArchiveError, StoreError, StoreUnavailableError
from vaultsync.model.fact import make_fact
from vaultsync.storage.store import StoreWrite

ERRORS = (StoreError, ArchiveError)
SqliteFile: TypeAlias = SqliteStore | SqliteArchive


class Kind(NamedTuple):
    """How to open one of both, write texts into it, and see which it holds."""

    module: ModuleType
    open: Callable[[Path], Any]
    write: Callable[..., None]
    held: Callable[[Any], list[str]]
    foreign: str
    hint: str


def open_store(path: Path) -> SqliteStore:
    store = SqliteStore(path, clock=FakeClock(), create=True)
    store.state()
    return store


def write_facts(store: SqliteStore, *texts: str) -> None:
    new = zip(IDS[store.state().seq :], texts, strict=False)
    facts = [make_fact({"id": each, "title": "Tea", "content": text}) for each, text in new]
    store.write([StoreWrite(fact.id, fact, None, "indy") for fact in facts])


def put_bases(archive: SqliteArchive, *texts: str) -> None:
    new = zip(IDS[archive.count_bases() :], texts, strict=False)
    put(archive, *(a_base(each, f"f/{each}.md", title=text) for each, text in new))


STORE_HINT = (
    "restore the store from a backup, or move it away and create a new one from the"
    " vault: `vaultsync rebuild --from vault`"
)
ARCHIVE_HINT = "move it away; the next run rebuilds it from both sides without deleting anything"
KINDS = {
    "store": Kind(
        sqlite_store,
        open_store,
        write_facts,
        lambda store: [fact.content for fact in store.iter_facts()],
        "holds no store",
        STORE_HINT,
    ),
    "archive": Kind(
        sqlite_archive,
        SqliteArchive.open,
        put_bases,
        lambda archive: [base.fact.title for base in archive.iter_bases()],
        "not an archive",
        ARCHIVE_HINT,
    ),
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file.sqlite3"


@pytest.fixture
def file(kind: Kind, path: Path) -> Iterator[SqliteFile]:
    opened = kind.open(path)
    yield opened
    opened.close()


def tables(path: Path) -> set[str]:
    db = sqlite3.connect(path)
    found = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
    db.close()
    return found


def database(file: SqliteFile) -> sqlite3.Connection:
    assert file._db is not None
    return file._db


def test_every_commit_is_on_disk_before_it_returns(file: SqliteFile) -> None:
    wanted = {"journal_mode": "wal", "synchronous": 2, "fullfsync": 1, "busy_timeout": 5_000}
    found = {name: database(file).execute(f"PRAGMA {name}").fetchone()[0] for name in wanted}

    assert found == wanted


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_is_named_and_keeps_nobody_waiting(
    kind: Kind, path: Path, make: Callable[[Path], None]
) -> None:
    make(path)
    with pytest.raises(ERRORS, match=r"it is a (pipe|folder or a device), not a file") as refused:
        kind.open(path)
    assert "move it away" in refused.value.hint
    assert str(path) in str(refused.value)


def test_a_new_file_is_for_its_user_alone(kind: Kind, path: Path) -> None:
    before = os.umask(0)
    try:
        file = kind.open(path)
        kind.write(file, "1")
    finally:
        os.umask(before)

    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()}
    assert modes == {path.name + end: 0o600 for end in ("", "-shm", "-wal")}
    file.close()


@pytest.mark.parametrize("name", ["a b.db", "50%25?x=1#y.db", "Grün'\"🍵.db", "\udcff"])
def test_it_may_have_any_name_and_holds_what_it_held(kind: Kind, tmp_path: Path, name: str) -> None:
    for written in ([], ["1"]):
        file = kind.open(tmp_path / name)
        assert kind.held(file) == written
        kind.write(file, "1")
        file.close()
        file.close()

    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_in_a_missing_folder_it_cannot_be_used(kind: Kind, path: Path) -> None:
    with pytest.raises(ERRORS):
        kind.open(path / "below")


def test_in_a_folder_that_cannot_be_written_it_is_read_and_makes_no_other_file(
    kind: Kind, file: SqliteFile, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind.write(file, "1")
    file.close()
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda *_: False)
        again = kind.open(path)
        assert kind.held(again) == ["1"]
        assert [*path.parent.iterdir()] == [path]
        with pytest.raises(ERRORS, match="readonly"):
            kind.write(again, "2")
        # Where another process can write, its log says so.
        other = sqlite3.connect(path)
        other.execute("CREATE TABLE added (x)")
        assert path.with_name(f"{path.name}-wal").stat().st_size
        with pytest.raises(ERRORS, match="replaced"):
            kind.write(again, "2")
        again.close()
        last = kind.open(path)
        assert kind.held(last) == ["1"]
        last.close()
        other.close()


# --- its schema --------------------------------------------------------------------


def m998_test(db: sqlite3.Connection) -> None:
    db.execute("CREATE TABLE added (x)")


def m999_fails(db: sqlite3.Connection) -> None:
    db.execute("CREATE TABLE half (x)")
    db.execute("CREATE TABLE added (x)")


def migrate_by(kind: Kind, patch: pytest.MonkeyPatch, *more: object) -> None:
    patch.setattr(kind.module, "MIGRATIONS", (*kind.module.MIGRATIONS, *more))


def test_an_older_file_is_brought_up_to_date_once_and_not_read_by_an_older_program(
    kind: Kind, file: SqliteFile, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind.write(file, "1")
    file.close()
    with monkeypatch.context() as newer:
        migrate_by(kind, newer, m998_test)
        for _ in range(2):
            again = kind.open(path)
            assert kind.held(again) == ["1"]
            again.close()
    assert "added" in tables(path)

    with pytest.raises(ERRORS, match="newer vaultsync") as caught:
        kind.open(path)
    assert not isinstance(caught.value, StoreUnavailableError)
    assert "update" in caught.value.hint


def test_a_migration_that_fails_leaves_the_file_as_it_was(
    kind: Kind, file: SqliteFile, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.close()
    before = tables(path)
    with monkeypatch.context() as newer:
        migrate_by(kind, newer, m998_test, m999_fails)
        with pytest.raises(ERRORS):
            kind.open(path)

    assert tables(path) == before
    kind.open(path).close()


def test_another_program_s_database_is_left_alone(kind: Kind, path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE theirs (x)")
    db.close()

    with pytest.raises(ERRORS, match=kind.foreign):
        kind.open(path)
    assert tables(path) == {"theirs"}


# --- damage, absence ---------------------------------------------------------------


def test_what_is_no_database_is_named_as_damaged(kind: Kind, path: Path) -> None:
    path.write_bytes(b"x" * 10_000)

    with pytest.raises(ERRORS, match="damaged") as caught:
        kind.open(path)
    assert caught.value.hint == kind.hint
    assert path.read_bytes() == b"x" * 10_000


def test_a_list_of_migrations_that_was_zeroed_is_damage_and_no_newer_version(
    kind: Kind, file: SqliteFile, path: Path
) -> None:
    file.close()
    name = kind.module.MIGRATIONS[0].__name__.encode()
    before = path.read_bytes()
    path.write_bytes(before.replace(name, bytes(len(name))))
    with pytest.raises(ERRORS, match="damaged") as caught:
        kind.open(path)
    assert kind.hint in caught.value.hint


def test_too_many_open_files_are_named(kind: Kind, file: SqliteFile, path: Path) -> None:
    file.close()
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = [os.open(os.devnull, os.O_RDONLY)]
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (taken[0] + 64, before[1]))
        with suppress(OSError):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        for free in (0, 1, 2):
            with pytest.raises(ERRORS, match="Too many open files") as caught:
                kind.open(path)
            assert "ulimit -n" in caught.value.hint, free
            os.close(taken.pop())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for each in taken:
            os.close(each)


@pytest.mark.parametrize(("free", "full"), [(0, True), (1_000_000, False)])
def test_an_input_output_error_on_a_full_disk_says_that_it_is_full(
    path: Path, monkeypatch: pytest.MonkeyPatch, *, free: int, full: bool
) -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMSIZE
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=free, f_frsize=4096))
    why, hint = explain(error, path)
    assert ("No space left on device" in why, "free some space" in hint) == (full, full)


def test_a_damaged_page_is_named_when_it_is_met(kind: Kind, file: SqliteFile, path: Path) -> None:
    kind.write(file, *map(str, IDS))
    file.close()
    data = bytearray(path.read_bytes())
    data[100_000:-8_000] = os.urandom(len(data) - 108_000)
    path.write_bytes(data)

    with pytest.raises(ERRORS) as caught:
        kind.held(kind.open(path))
    assert caught.value.hint == kind.hint


def test_no_new_file_reads_the_log_of_another(kind: Kind, file: SqliteFile, path: Path) -> None:
    kind.write(file, "1")
    log = path.with_name(path.name + "-wal")
    left = log.read_bytes()
    file.close()
    path.unlink()
    log.write_bytes(left)

    again = kind.open(path)
    assert kind.held(again) == []
    again.close()


def test_a_file_locked_too_long_is_only_read(kind: Kind, file: SqliteFile, path: Path) -> None:
    kind.write(file, "1")
    database(file).execute("PRAGMA busy_timeout = 20")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(ERRORS, match="locked"):
        kind.write(file, "2")
    assert kind.held(file) == ["1"]

    other.close()
    kind.write(file, "3")
    assert kind.held(file) == ["1", "3"]


def test_a_full_disk_undoes_the_whole_transaction(kind: Kind, file: SqliteFile) -> None:
    kind.write(file, "1")
    db = database(file)
    pages = db.execute("PRAGMA page_count").fetchone()[0]
    db.execute(f"PRAGMA max_page_count = {pages}")

    with pytest.raises(ERRORS, match="full"):
        kind.write(file, random.Random(1).randbytes(500_000).hex())  # the archive packs
    assert kind.held(file) == ["1"]

    db.execute("PRAGMA max_page_count = 1000000")
    kind.write(file, "3")
    assert kind.held(file) == ["1", "3"]


def test_the_caches_of_all_files_of_a_process_are_limited_once() -> None:
    with closing(sqlite3.connect(":memory:")) as db:
        (before,) = db.execute("PRAGMA soft_heap_limit").fetchone()
        try:
            db.execute("PRAGMA soft_heap_limit = 0")
            limit_caches()
            assert db.execute("PRAGMA soft_heap_limit").fetchone() == (48 << 20,)
            db.execute("PRAGMA soft_heap_limit = 9999999")
            limit_caches()  # a limit that is set stays
            assert db.execute("PRAGMA soft_heap_limit").fetchone() == (9999999,)
        finally:
            db.execute(f"PRAGMA soft_heap_limit = {before}")
