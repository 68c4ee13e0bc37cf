from __future__ import annotations

import json
import os
import secrets
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.archives import IDS, a_base, an_intent, put
from vaultsync.backends.sqlite import sqlite_archive as archive_rows
from vaultsync.backends.sqlite.sqlite_archive import SqliteArchive
from vaultsync.errors import ArchiveError
from vaultsync.model import serialization as wire
from vaultsync.model.paths import VaultPath

A, B = IDS[:2]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "archive.sqlite3"


@pytest.fixture
def archive(path: Path) -> Iterator[SqliteArchive]:
    opened = SqliteArchive.open(path)
    yield opened
    opened.close()


def database(archive: SqliteArchive) -> sqlite3.Connection:
    assert archive._db is not None
    return archive._db


def remember(archive: SqliteArchive, word: str) -> None:
    with archive.transaction():
        archive.set_setting("cursor", word)


def test_every_commit_is_on_disk_before_it_returns(archive: SqliteArchive) -> None:
    found = {
        name: database(archive).execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("journal_mode", "synchronous", "fullfsync", "busy_timeout")
    }

    assert found == {"journal_mode": "wal", "synchronous": 2, "fullfsync": 1, "busy_timeout": 5_000}


def test_an_archive_is_for_its_user_alone(path: Path) -> None:
    before = os.umask(0)
    try:
        archive = SqliteArchive.open(path)
        remember(archive, "1")
    finally:
        os.umask(before)

    assert {stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()} == {0o600}
    assert len(list(path.parent.iterdir())) == 3
    archive.close()


def test_an_archive_in_memory_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    archive = SqliteArchive.open(":memory:")
    remember(archive, "1")
    archive.close()

    assert list(tmp_path.iterdir()) == []


def test_an_archive_opened_again_holds_what_it_held(archive: SqliteArchive, path: Path) -> None:
    put(archive, a_base())
    archive.close()
    archive.close()

    again = SqliteArchive.open(str(path))
    assert again.find_base(A) == a_base()
    again.close()


def test_a_closed_archive_says_so(archive: SqliteArchive) -> None:
    archive.close()

    with pytest.raises(ArchiveError, match="closed"):
        archive.setting("cursor")
    with pytest.raises(ArchiveError, match="closed"):
        remember(archive, "1")


# --- its schema --------------------------------------------------------------------


def m002_test(db: sqlite3.Connection) -> None:
    db.execute("CREATE TABLE added (x)")


def test_an_older_archive_is_brought_up_to_date(
    archive: SqliteArchive, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(archive, "1")
    archive.close()
    known = archive_rows.MIGRATIONS
    monkeypatch.setattr(archive_rows, "MIGRATIONS", (*known, m002_test))
    for _ in range(2):
        again = SqliteArchive.open(path)
        assert again.setting("cursor") == "1"
        database(again).execute("SELECT x FROM added")
        again.close()


def test_an_archive_of_a_newer_version_is_refused(
    archive: SqliteArchive, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive.close()
    known = archive_rows.MIGRATIONS
    monkeypatch.setattr(archive_rows, "MIGRATIONS", (*known, m002_test))
    SqliteArchive.open(path).close()
    monkeypatch.setattr(archive_rows, "MIGRATIONS", known)

    with pytest.raises(ArchiveError, match="newer vaultsync") as caught:
        SqliteArchive.open(path)
    assert "update" in caught.value.hint


def test_another_program_s_database_is_left_alone(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE theirs (x)")
    db.close()

    with pytest.raises(ArchiveError, match="no archive"):
        SqliteArchive.open(path)
    db = sqlite3.connect(path)
    assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]
    db.close()


@pytest.mark.parametrize(
    ("ask", "index"),
    [
        (archive_rows.SELECT_PATHS, "COVERING INDEX bases_by_place"),
        (archive_rows.SELECT_NON_UTF8_PATHS, "COVERING INDEX bases_by_place"),
        ("SELECT DISTINCT folder FROM bases", "COVERING INDEX bases_by_place"),
        ("SELECT * FROM bases WHERE folder = ? AND missing_since IS NULL", "INDEX bases_by_place"),
        (
            "SELECT * FROM bases WHERE missing_since IS NOT NULL ORDER BY fact_id",
            "INDEX bases_missing",
        ),
        ("SELECT * FROM history WHERE fact_id = ?", "INDEX history_by_fact"),
        ("SELECT * FROM history WHERE run = ?", "INDEX history_by_run"),
        ("SELECT body FROM conflicts WHERE open ORDER BY n", "conflicts_open"),
    ],
)
def test_what_every_pass_asks_is_answered_by_an_index(
    archive: SqliteArchive, ask: str, index: str
) -> None:
    values = ["x"] * ask.count("?")
    plan = database(archive).execute("EXPLAIN QUERY PLAN " + ask, values).fetchall()

    assert index in plan[0][3]


# --- damage, absence ---------------------------------------------------------------


def test_a_damaged_archive_says_what_to_do(path: Path) -> None:
    path.write_bytes(b"x" * 10_000)

    with pytest.raises(ArchiveError, match="damaged") as caught:
        SqliteArchive.open(path)
    assert caught.value.hint == (
        "move it away; the next run rebuilds it from both sides, deleting nothing"
    )
    assert path.read_bytes() == b"x" * 10_000


def test_a_damaged_page_is_named_when_it_is_met(archive: SqliteArchive, path: Path) -> None:
    put(archive, *(a_base(each, f"f/{each}.md") for each in IDS))
    archive.close()
    data = bytearray(path.read_bytes())
    data[100_000:-8_000] = secrets.token_bytes(len(data) - 108_000)
    path.write_bytes(data)

    with pytest.raises(ArchiveError, match="damaged") as caught:
        list(SqliteArchive.open(path).iter_bases())
    assert "move it away" in caught.value.hint


def test_an_archive_moved_away_makes_room_for_a_new_one(archive: SqliteArchive, path: Path) -> None:
    remember(archive, "1")
    log = path.with_name(path.name + "-wal")
    left = log.read_bytes()
    archive.close()
    path.rename(path.with_suffix(".old"))
    log.write_bytes(left)

    again = SqliteArchive.open(path)
    assert again.setting("cursor") is None
    again.close()


def test_an_archive_in_a_missing_folder_says_so(path: Path) -> None:
    with pytest.raises(ArchiveError, match="cannot be used"):
        SqliteArchive.open(path / "below")


def test_nothing_is_written_into_an_archive_that_was_removed(
    archive: SqliteArchive, path: Path
) -> None:
    path.unlink()

    with pytest.raises(ArchiveError, match="removed or replaced"):
        remember(archive, "1")
    assert not path.exists()


def test_the_log_of_an_archive_does_not_reach_the_one_that_replaced_it(
    archive: SqliteArchive, path: Path, tmp_path: Path
) -> None:
    remember(archive, "old")
    other = SqliteArchive.open(tmp_path / "other")
    remember(other, "other")
    other.close()
    (tmp_path / "other").rename(path)
    with pytest.raises(ArchiveError, match="removed or replaced"):
        remember(archive, "new")
    archive.close()

    again = SqliteArchive.open(path)
    assert again.setting("cursor") == "other"
    again.close()


def fill(archive: SqliteArchive) -> None:
    with archive.transaction():
        archive.set_setting("cursor", "2")
        archive.put_blobs({"00": b"x" * 1_000_000})


def test_a_full_disk_undoes_the_whole_transaction(archive: SqliteArchive) -> None:
    remember(archive, "1")
    db = database(archive)
    pages = db.execute("PRAGMA page_count").fetchone()[0]
    db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(ArchiveError, match="full"):
        fill(archive)

    assert archive.setting("cursor") == "1"
    db.execute("PRAGMA max_page_count = 1000000")
    remember(archive, "3")
    assert archive.setting("cursor") == "3"


def test_a_locked_archive_says_so(archive: SqliteArchive, path: Path) -> None:
    database(archive).execute("PRAGMA busy_timeout = 20")
    other = SqliteArchive.open(path)
    with other.transaction(), pytest.raises(ArchiveError, match="locked"), archive.transaction():
        pytest.fail("the block must not run")

    remember(archive, "1")
    other.close()


# --- several at once ---------------------------------------------------------------


def test_who_reads_beside_a_writer_sees_what_was_committed(
    archive: SqliteArchive, path: Path
) -> None:
    remember(archive, "1")
    reader = SqliteArchive.open(path)
    with archive.transaction():
        archive.set_setting("cursor", "2")
        assert reader.setting("cursor") == "1"

    assert reader.setting("cursor") == "2"
    reader.close()


def test_another_thread_waits_for_the_end_of_a_transaction(archive: SqliteArchive) -> None:
    seen: list[object] = []

    def look() -> None:
        seen.append(archive.setting("cursor"))
        try:
            archive.set_setting("cursor", "3")
        except RuntimeError as error:
            seen.append(type(error))

    with archive.transaction():
        thread = threading.Thread(target=look)
        thread.start()
        archive.set_setting("cursor", "1")
        thread.join(0.05)
        assert seen == []
        archive.set_setting("cursor", "2")
    thread.join()

    assert seen == ["2", RuntimeError]


WRITER = """
import sys, time
from tests.archives import IDS, a_base
from vaultsync.backends.sqlite.sqlite_archive import SqliteArchive

archive = SqliteArchive.open(sys.argv[1])
with archive.transaction():
    archive.put_bases([a_base(IDS[0], "a.md")])
with archive.transaction():
    archive.put_bases(a_base(each, each) for each in IDS)
    archive.put_blobs({each: b"x" * 50_000 for each in IDS})
    print("within", flush=True)
    time.sleep(60)
"""


def test_a_writer_killed_within_a_transaction_leaves_the_one_before(path: Path) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, cwd=ROOT
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == b"within\n"
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    writer.stdout.close()

    archive = SqliteArchive.open(path)
    assert archive.paths() == {VaultPath("a.md"): A}
    assert archive.blob(B) is None
    assert database(archive).execute("PRAGMA integrity_check").fetchone() == ("ok",)
    archive.close()


def test_an_intent_that_an_older_vaultsync_began_is_read() -> None:
    intent = an_intent("z")
    body = json.dumps({**intent._asdict(), "fact": wire.public_values(intent.fact)})
    again = archive_rows.intent_from_json(body)
    assert again == intent
    assert again.fact.path == intent.fact.path
    assert again.fact.revision == intent.fact.revision
