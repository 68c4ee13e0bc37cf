"""A SQLite file of vaultsync: private, durable, with a known schema.

Newer versions of vaultsync read these files, so each file records its migrations by the
names of functions such as `m001_facts`.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from vaultsync.storage.erasure import Traces

from vaultsync.errors import SYSTEM_HINTS
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.storage.packed_bytes import unpack

IN_MEMORY = ":memory:"
BATCH_ROWS = 500
"""Number of rows read at once from a table; no cursor stays open between batches."""


class FileIdentity(NamedTuple):
    """Identifies the file with a name. SQLite itself keeps using a file that was replaced."""

    device: int
    inode: int
    log: int
    """The inode of its log; 0 if it has none."""


Migration: TypeAlias = Callable[[sqlite3.Connection], None]
PrunedPlace: TypeAlias = tuple[str, str, str]
"""Data that is pruned when old: its name, its table, and a condition with named parameters."""
_SPACE = ("freelist_count", "page_count")
_MIN_FREE_PAGES = 64
"""A megabyte; less is not worth rewriting a file."""

_MIGRATION_NAME = lazy_pattern(r"m\d{3}_\w+")
_BUSY_SECONDS = 5.0
_FILES_USED = 4
"""The file, its log, their shared memory, and a temporary one."""
_SHARED_BYTES = 32_768
"""By how much the shared memory grows."""
_PAGE = 16_384
"""Page size in bytes. A fact and its note fit without overflow; a first run is an eighth faster."""
_PRAGMAS = (
    "PRAGMA synchronous = FULL",
    # On macOS, fsync does not reach the disk itself; this setting does.
    "PRAGMA fullfsync = ON",
    "PRAGMA checkpoint_fullfsync = ON",
    # In KiB. A transaction of 1,000 notes fits, and so writes each page only once.
    "PRAGMA cache_size = -16384",
    # Otherwise a huge transaction would permanently leave a log of its size.
    "PRAGMA journal_size_limit = 16777216",
)


_MAX_HEAP = 48 << 20
"""Bytes. A first sync of 40,000 facts held 177 MB instead of 194, and took 2 % more CPU; with
32 MB, it held 161 MB and took 11 % more."""


def limit_caches() -> None:
    """Limit the memory of all SQLite files of this process together, unless it is limited.

    Otherwise the cache of each file stays full until the file is closed.
    """
    with closing(sqlite3.connect(IN_MEMORY)) as db:
        (limit,) = db.execute("PRAGMA soft_heap_limit").fetchone()
        if not limit:
            db.execute(f"PRAGMA soft_heap_limit = {_MAX_HEAP}")


def make_private(path: str | Path) -> None:
    """Create an empty file for this user only, if there is none."""
    # An existing file is not opened, because closing it would drop the locks that
    # SQLite holds on it elsewhere in this process (POSIX).
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def file_identity(path: str | Path) -> FileIdentity:
    """The current identity of a file and its log; `OSError` if it cannot be determined."""
    found = os.stat(path)  # noqa: PTH116 - before every transaction, and 5 times faster
    try:
        log = os.stat(f"{path}-wal").st_ino  # noqa: PTH116 - the same
    except FileNotFoundError:
        log = 0
    return FileIdentity(found.st_dev, found.st_ino, log)


def find_identity(path: str | Path) -> FileIdentity | None:
    """`file_identity()`, or None if there is no file, as for `:memory:`."""
    with suppress(OSError):  # there is no file
        return file_identity(path)
    return None


def close_file(db: sqlite3.Connection, path: str | Path, opened: FileIdentity | None) -> None:
    """Close a file, and remove its log if another file now has its name.

    Otherwise the next process that opens the new file would replay the log into it, and so undo
    a restored backup, or damage another file. While the old file is open, the inode of its log
    cannot be reused.
    """
    now = find_identity(path)
    if now and opened and now[:2] != opened[:2] and now.log == opened.log != 0:
        with suppress(OSError):
            for end in ("-wal", "-shm"):
                Path(f"{path}{end}").unlink(missing_ok=True)
    db.close()


def connect(path: str | Path, *, log_pages: int) -> sqlite3.Connection:
    """Open an existing file, or `:memory:`; each commit is durable.

    A commit that makes the log longer than `log_pages` also moves it into the file. In a folder
    in which nothing can be written, the file is opened for reading.
    """
    in_memory = str(path) == IN_MEMORY
    mode = "immutable=1" if not in_memory and _is_at_rest(path) else "mode=rw"
    db = sqlite3.connect(
        IN_MEMORY if in_memory else f"{Path(path).absolute().as_uri()}?{mode}",
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        db.execute(f"PRAGMA page_size = {_PAGE}")  # only for a new file
        _log_ahead(db)
        for pragma in _PRAGMAS:
            db.execute(pragma)
        db.execute(f"PRAGMA wal_autocheckpoint = {log_pages}")
    except BaseException:
        db.close()
        raise
    return db


def _is_at_rest(path: str | Path) -> bool:
    """Whether a file is complete without a log, in a folder where this process can make none.

    SQLite opens such a file only as one that does not change. If another process changes it, as
    on the other side of a mount, its log is a new one: see `FileIdentity`.
    """
    if os.access(Path(path).parent, os.W_OK):
        return False
    with suppress(FileNotFoundError):
        return not os.stat(f"{path}-wal").st_size  # noqa: PTH116 - as above
    return True


def open_migrated(
    path: str | Path, migrations: Sequence[Migration], *, create: bool, log_pages: int
) -> tuple[sqlite3.Connection, Literal["ready", "foreign", "newer"]]:
    """`connect()`, and migrate the schema; for an empty file only with `create`.

    `foreign`: the file contains something else, or nothing. `newer`: it has unknown
    migrations. In both cases the file is unchanged, and must be closed.
    """
    db = connect(path, log_pages=log_pages)
    try:
        if _applied_migrations(db) == [each.__name__ for each in migrations]:
            return db, "ready"
        db.execute("BEGIN IMMEDIATE")
        answer = _migrate(db, migrations, create=create)
        db.execute("COMMIT" if answer == "ready" else "ROLLBACK")
    except BaseException:
        db.close()  # rolls back an open transaction
        raise
    return db, answer


def was_migrated(db: sqlite3.Connection, migrations: Sequence[Migration]) -> bool:
    """Whether a newer version migrated a file that is open, which explains failed statements."""
    with suppress(sqlite3.Error):
        (known,) = db.execute("SELECT count(*) FROM migrations").fetchone()
        return bool(known > len(migrations))
    return False


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """A transaction that is durable when its block ends, and rolled back if it raises.

    Without changes it does not wait for the disk.
    """
    db.execute("BEGIN IMMEDIATE")
    try:
        yield db
        db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # the original error is being raised
            if db.in_transaction:
                db.execute("ROLLBACK")
        raise


def compact(db: sqlite3.Connection) -> None:
    """Rewrite the file without deleted data, and empty its log.

    While another process reads, the log is kept until the next time.
    """
    db.execute("PRAGMA secure_delete = ON")
    db.execute("VACUUM")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def read_pages(path: Path, *, settled: bool) -> bytes | None:
    """All pages of a file, free ones included; None if it is not SQLite's.

    SQLite reads them: closing a file that was opened in another way would drop the locks that
    SQLite holds on it elsewhere in this process (POSIX), and the next process would remove the
    log under it.

    With `settled`, they are those on disk; otherwise those of a log replace older ones.

    Raises:
        OSError: not all of the log is in the file yet, because another process reads it.
    """
    uri = f"{path.absolute().as_uri()}?mode={'rw' if settled else 'ro'}"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS)) as db:
            db.execute("PRAGMA schema_version").fetchone()
            if settled:
                _, frames, moved = db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
                if frames != moved:
                    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(path))
            return db.serialize()
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            return None
        raise OSError(errno.EIO, str(error), str(path)) from error


def is_sparse(db: sqlite3.Connection) -> bool:
    """Whether an eighth of the file is free, and enough to make rewriting worthwhile."""
    (free,), (pages,) = (db.execute(f"PRAGMA {x}").fetchone() for x in _SPACE)
    return bool(free > _MIN_FREE_PAGES and free * 8 > pages)


def vacuum(db: sqlite3.Connection) -> None:
    """`compact()` if an eighth of the file is free; otherwise only empty the log."""
    if is_sparse(db):
        compact(db)
    else:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def old_rows(
    db: sqlite3.Connection, places: Sequence[PrunedPlace], since: Mapping[str, str], *, delete: bool
) -> dict[str, int]:
    """The number of old rows of each kind, which are deleted if `delete`."""
    counts = {}
    for name, table, where in places:
        rows = f"FROM {table} WHERE {where}"
        if delete:
            counts[name] = db.execute(f"DELETE {rows}", since).rowcount
        else:
            (counts[name],) = db.execute(f"SELECT count(*) {rows}", since).fetchone()
    return counts


def prepare_erasure(db: sqlite3.Connection, traces: Traces) -> None:
    """Overwrite what is deleted, and add `is_erased(id)` and `mentions(text or bytes)` to SQL.

    Packed bytes are unpacked for the search.
    """

    def mentions(held: str | bytes | None) -> bool:
        return traces.mentions(unpack(held) if isinstance(held, bytes) else held)

    db.create_function("is_erased", 1, traces.fact_ids.__contains__)
    db.create_function("mentions", 1, mentions)
    db.execute("PRAGMA secure_delete = ON")


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether the file itself is damaged, as opposed to a bug, a lock or a full disk."""
    return type(error) is sqlite3.DatabaseError


def explain(error: OSError | sqlite3.OperationalError, path: str | Path) -> tuple[str, str]:
    """The message of an error, and a hint about its cause, empty if unknown.

    SQLite only reports that a file cannot be opened, not that too many are open, and on a full
    disk that the file beside its log cannot grow, which reading needs, too.
    """
    if isinstance(error, OSError):
        return error.strerror or str(error), _hint(error)
    with suppress(OSError):  # a missing file is the caller's to explain
        if not stat.S_ISREG(mode := os.stat(path).st_mode):  # noqa: PTH116 - as above
            kind = "a pipe" if stat.S_ISFIFO(mode) else "a folder or a device"
            return f"it is {kind}, not a file", "move it away, and restore the file from a backup"
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_IOERR and _is_full(path):
        return f"{error}: {os.strerror(errno.ENOSPC)}", SYSTEM_HINTS[errno.ENOSPC]
    if code == sqlite3.SQLITE_FULL:
        return str(error), SYSTEM_HINTS[errno.ENOSPC]
    why = error.__cause__ if code != sqlite3.SQLITE_CANTOPEN else _refusal(Path(path).parent)
    if isinstance(why, OSError) and (hint := _hint(why)):
        return str(error) if why is error.__cause__ else f"{error}: {why.strerror}", hint
    return str(error), ""


def _is_full(path: str | Path) -> bool:
    """Whether the disk of a file has no room for another page of its shared memory."""
    try:
        disk = os.statvfs(path)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < _SHARED_BYTES


def _refusal(folder: Path) -> OSError | None:
    """The error that prevents opening files in a folder, if any.

    The test opens the folder, because closing a file drops other locks of this process.
    """
    opened: list[int] = []
    try:
        opened.extend(os.open(folder, os.O_RDONLY) for _ in range(_FILES_USED))
    except OSError as error:
        return error
    finally:
        for each in opened:
            os.close(each)
    return None


def _hint(error: OSError) -> str:
    """A hint for any error except a missing file, about which the caller knows more."""
    return "" if error.errno == errno.ENOENT else SYSTEM_HINTS.get(error.errno or 0, "")


def _log_ahead(db: sqlite3.Connection) -> None:
    # While two processes open a new file, SQLite refuses this statement immediately
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
    names = [name for (name,) in db.execute("SELECT name FROM migrations ORDER BY n")]
    if not all(map(_MIGRATION_NAME.fullmatch, map(str, names))):
        message = "the list of its migrations is unreadable"  # unlike a newer version's
        raise sqlite3.DatabaseError(message)
    return names
