"""A SQLite file of vaultsync: private, durable, of a known schema.

The files are read by newer versions of vaultsync, so each records its migrations, by the
names of functions such as `m001_facts`.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

IN_MEMORY = ":memory:"
BATCH_ROWS = 500
"""Rows read at once while walking a table: no cursor stays open between two batches."""


class FileIdentity(NamedTuple):
    """Which file has a name. SQLite itself goes on with one that has lost its name."""

    device: int
    inode: int
    log: int
    """The inode of its log; 0 when it has none."""


Migration: TypeAlias = Callable[[sqlite3.Connection], None]

_BUSY_SECONDS = 5.0
_PAGE = 16_384
"""Bytes. A fact and its note fit without overflow; a first run is an eighth faster."""
_PRAGMAS = (
    "PRAGMA synchronous = FULL",
    # On macOS fsync does not reach the platter; this asks for what does.
    "PRAGMA fullfsync = ON",
    "PRAGMA checkpoint_fullfsync = ON",
    # KiB. A transaction of 10,000 facts fits, and so writes each page once.
    "PRAGMA cache_size = -32768",
    # Otherwise one huge transaction would leave a log of its size behind for good.
    "PRAGMA journal_size_limit = 16777216",
)


def make_private(path: str | Path) -> None:
    """Make an empty file for this user alone, when there is none."""
    # A file that is there is not even opened: closing it would drop the locks that
    # SQLite holds on it elsewhere in this process (POSIX).
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def file_identity(path: str | Path) -> FileIdentity:
    """Which files have this name, and that of its log, now; `OSError` if none can be seen."""
    found = os.stat(path)  # noqa: PTH116 - before every transaction, and 5 times faster
    try:
        log = os.stat(f"{path}-wal").st_ino  # noqa: PTH116 - the same
    except FileNotFoundError:
        log = 0
    return FileIdentity(found.st_dev, found.st_ino, log)


def find_identity(path: str | Path) -> FileIdentity | None:
    """`file_identity()`; None if no file can be seen, as for `:memory:`."""
    with suppress(OSError):  # no file can be seen
        return file_identity(path)
    return None


def close_file(db: sqlite3.Connection, path: str | Path, opened: FileIdentity | None) -> None:
    """Close a file, and remove its log when another file has its name now.

    Otherwise the next process to open that would replay the log into it, and so undo a
    restored backup, or damage another file. While the old file is open, the inode of its log
    cannot belong to another one.
    """
    now = find_identity(path)
    if now and opened and now[:2] != opened[:2] and now.log == opened.log != 0:
        with suppress(OSError):
            for end in ("-wal", "-shm"):
                Path(f"{path}{end}").unlink(missing_ok=True)
    db.close()


def connect(path: str | Path, *, log_pages: int) -> sqlite3.Connection:
    """Open an existing file, or `:memory:`; each commit is then durable at once.

    A commit that makes the log longer than `log_pages` also moves it into the file.
    """
    in_memory = str(path) == IN_MEMORY
    db = sqlite3.connect(
        IN_MEMORY if in_memory else f"{Path(path).absolute().as_uri()}?mode=rw",
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        db.execute(f"PRAGMA page_size = {_PAGE}")  # of a new file; others keep theirs
        _log_ahead(db)
        for pragma in _PRAGMAS:
            db.execute(pragma)
        db.execute(f"PRAGMA wal_autocheckpoint = {log_pages}")
    except BaseException:
        db.close()
        raise
    return db


def open_migrated(
    path: str | Path, migrations: Sequence[Migration], *, create: bool, log_pages: int
) -> tuple[sqlite3.Connection, Literal["ready", "foreign", "newer"]]:
    """`connect()`, and bring the schema up to date; an empty file's only with `create`.

    `foreign`: the file holds something else, or nothing. `newer`: it went through
    migrations that are not known here. In both cases it is as it was, and has to be closed.
    """
    db = connect(path, log_pages=log_pages)
    try:
        if _applied_migrations(db) == [each.__name__ for each in migrations]:
            return db, "ready"
        db.execute("BEGIN IMMEDIATE")
        answer = _migrate(db, migrations, create=create)
        db.execute("COMMIT" if answer == "ready" else "ROLLBACK")
    except BaseException:
        db.close()  # what was begun is rolled back
        raise
    return db, answer


def roll_back(db: sqlite3.Connection) -> None:
    """End a transaction that failed, if SQLite has not done so itself."""
    with suppress(sqlite3.Error):  # the error that ended it is on its way
        if db.in_transaction:
            db.execute("ROLLBACK")


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether the file itself is damaged: no bug, no lock, no full disk."""
    return type(error) is sqlite3.DatabaseError


def _log_ahead(db: sqlite3.Connection) -> None:
    # While two processes open a new file, SQLite refuses this one statement at once
    # instead of waiting as it does everywhere else.
    for wait in (0.01, 0.05, 0.1, 0.5, 1.0, 2.0):
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            time.sleep(wait)
        else:
            return
    db.execute("PRAGMA journal_mode = WAL")


def _migrate(
    db: sqlite3.Connection, migrations: Sequence[Migration], *, create: bool
) -> Literal["ready", "foreign", "newer"]:
    held = _applied_migrations(db)
    if held is None:
        if not create or db.execute("SELECT 1 FROM sqlite_master").fetchone():
            return "foreign"
        db.execute("CREATE TABLE migrations (n INTEGER PRIMARY KEY, name TEXT UNIQUE)")
        held = []
    if held != [each.__name__ for each in migrations[: len(held)]]:
        return "newer"
    for migration in migrations[len(held) :]:
        migration(db)
        db.execute("INSERT INTO migrations (name) VALUES (?)", (migration.__name__,))
    return "ready"


def _applied_migrations(db: sqlite3.Connection) -> list[str] | None:
    tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    if ("migrations",) not in tables.fetchall():
        return None
    return [name for (name,) in db.execute("SELECT name FROM migrations ORDER BY n")]
