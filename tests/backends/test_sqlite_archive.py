from __future__ import annotations

import json
import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.archives import IDS, an_intent
from tests.snippets import killed
from vaultsync.backends.sqlite import archive_rows, sqlite_archive
from vaultsync.backends.sqlite.replaced_archive import ArchiveFile
from vaultsync.backends.sqlite.sqlite_archive import SqliteArchive
from vaultsync.errors import ArchiveError, ArchiveReplacedError
from vaultsync.model import serialization as wire
from vaultsync.model.fact import make_fact
from vaultsync.model.paths import VaultPath
from vaultsync.storage import archive as stored
from vaultsync.storage.archive import Base, Notice, RunRecord
from vaultsync.storage.erasure import Traces

pytestmark = pytest.mark.long(5)

A, B = IDS[:2]


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


def test_an_archive_in_memory_leaves_no_file_and_a_closed_one_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    archive = SqliteArchive.open(":memory:")
    remember(archive, "1")
    archive.close()

    assert list(tmp_path.iterdir()) == []
    for call in (archive.count_bases, lambda: remember(archive, "1")):
        with pytest.raises(ArchiveError, match="closed"):
            call()


# --- its schema --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "index"),
    [
        (sqlite_archive.SELECT_PATHS, "COVERING INDEX bases_by_place"),
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
def test_what_every_run_asks_is_indexed(archive: SqliteArchive, ask: str, index: str) -> None:
    values = ["x"] * ask.count("?")
    plan = database(archive).execute("EXPLAIN QUERY PLAN " + ask, values).fetchall()

    assert index in plan[0][3]


def test_notices_of_a_former_version_are_read(archive: SqliteArchive) -> None:
    notice = Notice("odd", VaultPath("a.md"), "a link", "")
    former = json.dumps({**notice._asdict(), "seen": "2026"})
    database(archive).execute("INSERT INTO attention VALUES ('a.md', 0, ?)", (former,))

    assert archive.notices() == [notice]


# --- damage, absence ---------------------------------------------------------------


def test_nothing_reaches_the_archive_that_replaced_it(archive: SqliteArchive, path: Path) -> None:
    remember(archive, "old")
    path.unlink()
    with pytest.raises(ArchiveError, match="removed or replaced"):
        remember(archive, "new")
    assert not path.exists()
    other = SqliteArchive.open(path.with_name("other"))
    remember(other, "other")
    other.close()
    path.with_name("other").rename(path)
    with pytest.raises(ArchiveError, match="removed or replaced"):
        remember(archive, "new")
    archive.close()

    again = SqliteArchive.open(path)
    assert again.setting("cursor") == "other"
    again.close()


def test_what_is_written_while_another_file_takes_the_place_is_an_error(
    archive: SqliteArchive, path: Path
) -> None:
    remember(archive, "old")
    with pytest.raises(ArchiveError, match="removed or replaced"), archive.transaction():
        path.rename(path.with_name("aside"))


def test_a_program_notices_a_backup_at_its_archive(archive: SqliteArchive, path: Path) -> None:
    remember(archive, "old")
    file = ArchiveFile(path)
    kept = path.rename(path.with_name("newer"))
    file.check()  # it may be put back
    shutil.copy2(kept, path)
    with pytest.raises(ArchiveReplacedError, match="was replaced"):
        file.check()


def test_a_program_notices_an_older_copy_in_its_archive(archive: SqliteArchive, path: Path) -> None:
    remember(archive, "old")
    kept = shutil.copy2(path, path.with_name("backup"))
    os.utime(kept, (1_700_000_000, 1_700_000_000))
    file = ArchiveFile(path)
    shutil.copyfile(kept, path)
    file.check()  # as if this process had written it
    shutil.copystat(kept, path)
    with pytest.raises(ArchiveReplacedError, match="an older copy was written"):
        file.check()


def test_a_newer_version_that_changes_it_is_named(archive: SqliteArchive, path: Path) -> None:
    remember(archive, "old")
    with closing(sqlite3.connect(path)) as newer:
        newer.execute("INSERT INTO migrations (name) VALUES ('m999_next')")
        newer.execute("ALTER TABLE settings ADD COLUMN next")
        newer.commit()
    with pytest.raises(ArchiveReplacedError, match="a newer version of vaultsync changed"):
        remember(archive, "new")
    assert archive.setting("cursor") == "old"


# --- several at once ---------------------------------------------------------------


def test_another_thread_waits_for_a_transaction_and_another_reader_sees_what_was_before(
    archive: SqliteArchive, path: Path
) -> None:
    remember(archive, "0")
    reader = SqliteArchive.open(path)
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
        assert reader.setting("cursor") == "0"
    thread.join()

    assert seen == ["2", RuntimeError]
    assert reader.setting("cursor") == "2"
    reader.close()


WRITER = """
import sys, time
from tests.archives import IDS, a_base
from vaultsync.backends.sqlite.replaced_archive import ArchiveFile
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
    assert killed(WRITER, path, after=1) == ["within\n"]

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
    assert (again.fact.path, again.fact.revision) == (intent.fact.path, intent.fact.revision)


# --- what is packed ------------------------------------------------------------------

LONG = "".join(f"The heron of pond {n} is grey, and came in {1700 + n}.\n" for n in range(20_000))
"""Longer than a page, even when it is packed."""


def pond(fact_id: str, content: str, sha: str) -> Base:
    return Base(make_fact({"id": fact_id, "content": content, "title": "Pond"}), sha, None)


def put_long(archive: SqliteArchive) -> None:
    with archive.transaction():
        archive.put_blobs({"sha": LONG.encode()})
        archive.put_bases([pond(A, LONG, "sha"), pond(B, "short", "other")])
        archive.put_run(RunRecord("run", "2026-01-01", "sync", {"lines": LONG.splitlines()}))


def _held_facts(archive: SqliteArchive) -> list[int]:
    rows = database(archive).execute("SELECT length(fact) FROM bases ORDER BY fact_id")
    return [size for (size,) in rows]


def test_a_text_that_note_and_fact_have_is_kept_once(archive: SqliteArchive) -> None:
    base = pond(A, LONG, "sha")
    with archive.transaction():
        archive.put_blobs({"sha": f"---\nid: {A}\n---\n{LONG}".encode()})
        archive.put_bases([base, pond(B, LONG, "of no blob")])
    beside, whole = _held_facts(archive)
    assert beside < 512 < len(LONG) / 10 < whole
    assert archive.find_base(A) == base
    with archive.transaction():  # as a missing note, or when it is undone
        archive.drop_bases([A])
        archive.put_bases([base._replace(missing_since="2026-01-01")])
    assert archive.missing_bases() == [base._replace(missing_since="2026-01-01")]
    assert _held_facts(archive) == [beside, whole]


def test_a_base_whose_note_was_lost_is_a_damaged_archive(archive: SqliteArchive) -> None:
    put_long(archive)
    database(archive).execute("DELETE FROM blobs")
    with pytest.raises(ArchiveError, match="damaged: the text is missing"):
        archive.find_base(A)


def test_notes_facts_and_reports_take_less_than_half(archive: SqliteArchive, path: Path) -> None:
    put_long(archive)
    archive.compact()
    assert path.stat().st_size < len(LONG) * 3 / 2
    assert archive.blob("sha") == LONG.encode()
    bases = archive.find_bases([A, B])
    assert (bases[A].fact.content, bases[B].fact.content) == (LONG.strip(), "short")
    assert archive.runs(limit=1)[0].report == {"lines": LONG.splitlines()}


def test_what_an_older_version_wrote_is_packed_and_found_by_its_names(path: Path) -> None:
    with pytest.MonkeyPatch.context() as older:
        older.setattr(sqlite_archive, "MIGRATIONS", archive_rows.MIGRATIONS[:2])
        for module in (archive_rows, sqlite_archive, stored):
            older.setattr(module, "pack", lambda data: data)
        archive = SqliteArchive.open(path)
        db = database(archive)
        for base in (pond(A, LONG, "sha"), pond(B, "short", "other")):
            at = base._replace(fact=base.fact.evolve(path="a/Pond.md"))
            row = archive_rows.base_to_row(at.packed())
            db.execute("INSERT INTO bases VALUES (?,?,?,?,?,?,?,?,?,?,?)", row[:11])
        with archive.transaction():
            archive.put_blobs({"sha": LONG.encode()})
            archive.put_run(RunRecord("run", "2026-01-01", "sync", {"lines": LONG.splitlines()}))
        archive.close()
    before = path.stat().st_size
    archive = SqliteArchive.open(path)
    archive.compact()
    assert path.stat().st_size < before / 3
    assert _held_facts(archive)[0] < 512  # beside its note
    assert archive.blob("sha") == LONG.encode()
    bases = archive.find_bases([A, B])
    assert (bases[A].fact.content, bases[B].fact.content) == (LONG.strip(), "short")
    assert archive.runs(limit=1)[0].report == {"lines": LONG.splitlines()}
    assert list(archive.paths_called(["pond"])) == ["a/Pond.md"]
    archive.close()


def test_what_is_packed_is_erased_by_what_it_says(archive: SqliteArchive) -> None:
    put_long(archive)
    traces = Traces([A], ["The heron of pond 1234 is grey"])
    assert any(traces.mentions(each) for each in archive.iter_packed())
    done = archive.erase(traces)
    assert done["blobs"] == done["bases"] == done["run reports"] == 1
    assert not any(traces.mentions(each) for each in archive.iter_packed())
    assert archive.blob("sha") is None
    assert len(json.dumps(archive.runs(limit=1)[0].report)) > len(LONG)


def test_packed_bytes_that_are_damaged_are_a_damaged_archive(archive: SqliteArchive) -> None:
    put_long(archive)
    database(archive).execute("UPDATE blobs SET data = substr(data, 1, 2000)")
    with pytest.raises(ArchiveError, match="damaged"):
        archive.blob("sha")


def _intents(archive: SqliteArchive, number: int) -> None:
    """Begin that many writes, and end them."""
    ops = [f"op {each}" for each in range(number)]
    with archive.transaction():
        archive.put_waiting(an_intent(op, after="x" * 10_000) for op in ops)
    with archive.transaction():
        archive.drop_waiting(an_intent(op) for op in ops)


def test_what_a_large_run_needed_for_a_while_is_given_back_at_its_end(path: Path) -> None:
    archive = SqliteArchive.open(path)
    kept = os.urandom(20_000_000)
    with archive.transaction():
        archive.put_blobs({"kept": kept})
    _intents(archive, 400)
    archive.close()
    assert path.stat().st_size < len(kept) + 1_000_000

    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA freelist_count").fetchone() == (0,)
    db.close()


def test_an_archive_that_others_write_is_closed_as_it_is(path: Path) -> None:
    archive = SqliteArchive.open(path)
    _intents(archive, 400)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    archive.close()
    other.execute("COMMIT")
    other.close()
    assert path.stat().st_size > 1_000_000
    SqliteArchive.open(path).close()
    assert path.stat().st_size > 1_000_000  # it wrote nothing
