"""A SQLite file of derived data: opened lazily, and discarded if it cannot be read."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from vaultsync.backends.sqlite import database as sqlite_file
from vaultsync.errors import IndexBusyError, IndexChangedError
from vaultsync.storage.erasure import Traces

GIVEN = "IN (SELECT value FROM json_each(?))"
"""The condition for a column, with the values as a JSON list."""
_LOG_PAGES = 1_000
_ANOTHER_FILE = 0
"""A number of changes that no open file has."""
_Answer = TypeVar("_Answer")


class DerivedFile:
    """A file that is opened on first use.

    A damaged file, or one of another version, is discarded, because it is derived.
    """

    def __init__(
        self, path: str | Path, migrations: Sequence[sqlite_file.Migration], name: str
    ) -> None:
        """Use the file at `path`; `name` is its name in errors."""
        self._path = Path(path)
        self._migrations = migrations
        self._name = name
        self._lock = threading.RLock()
        self._db: sqlite3.Connection | None = None
        self._file: sqlite_file.FileIdentity | None = None
        self._known: int | None = None
        """The number of changes by others at the last `version()`; None before the first one."""

    def close(self) -> None:
        """Close the file; idempotent."""
        with self._lock:
            if self._db is not None:
                self._db.close()
            self._db = None

    def version(self) -> str | None:
        """The version from which the data was derived; None if it must be built."""

        def ask(db: sqlite3.Connection) -> list[tuple[str]]:
            self._known = _changes_by_others(db)
            return db.execute("SELECT version FROM version").fetchall()

        rows = self._answer(ask)
        return rows[0][0] if rows else None

    def vacuum(self) -> None:
        """Free the disk space that the file and its log do not need.

        Raises:
            IndexBusyError, OSError: the file is unchanged.
        """
        self._answer(sqlite_file.vacuum)

    def erase(self, traces: Traces) -> dict[str, int]:
        """Rewrite the file without what an update removed, as an `Erasable`.

        A file that still names the facts, or is being read, is discarded: it is derived.
        """
        with self._lock:
            try:
                self._answer(self._compact)
                clean = not any(map(traces.mentions, self._read_files()))
            except (IndexBusyError, OSError):
                clean = False
            if not clean:
                self._throw_away()
        return {}

    def _compact(self, db: sqlite3.Connection) -> None:
        sqlite_file.compact(db)

    def _read_files(self) -> Iterator[bytes]:
        yield sqlite_file.read_pages(Path(self._path), settled=True) or b""
        with suppress(FileNotFoundError):
            yield Path(f"{self._path}-wal").read_bytes()

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """A transaction; a damaged file is discarded."""
        with self._lock:
            try:
                with self._errors_of_the_port(), sqlite_file.transaction(self._opened()) as db:
                    yield db
            except sqlite3.DatabaseError as error:
                if not sqlite_file.is_damage(error):
                    raise  # a constraint or a misuse: our bug, not a bad file
                self._throw_away()
                why = f"{self._name} {self._path} was damaged, and is rebuilt: {error}"
                raise OSError(why) from error

    @contextmanager
    def _updating(self) -> Iterator[sqlite3.Connection]:
        """`_changing()`; raises IndexChangedError if another process wrote since `version()`."""
        with self._changing() as db:
            if self._known not in (None, _changes_by_others(db)):
                raise IndexChangedError(self._name)
            yield db

    def _empty(self, tables: Sequence[str]) -> None:
        """Delete all rows, also those that another process wrote since `version()`."""

        def empty(db: sqlite3.Connection) -> None:
            with sqlite_file.transaction(db):
                for table in tables:
                    db.execute(f"DELETE FROM {table}")  # noqa: S608 - ours
                self._known = _changes_by_others(db)

        self._answer(empty)

    def _rows(self, query: str, *values: str | float) -> list[tuple[Any, ...]]:
        return self._answer(lambda db: db.execute(query, values).fetchall())

    def _answer(self, ask: Callable[[sqlite3.Connection], _Answer]) -> _Answer:
        """Run a query; a damaged file is replaced by an empty one, once."""
        with self._lock, self._errors_of_the_port():
            try:
                return ask(self._opened())
            except sqlite3.DatabaseError as error:
                if not sqlite_file.is_damage(error):
                    raise  # a constraint or a misuse: our bug, not a bad file
                if self._db is not None and self._db.in_transaction:
                    raise  # the context manager discards the file
            self._throw_away()
            return ask(self._opened())

    @contextmanager
    def _errors_of_the_port(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                message = f"another process is writing {self._name}"
                hint = "it is updated later"
                raise IndexBusyError(message, hint=hint) from error
            why = f"{self._name} {self._path} cannot be used: {error}"
            raise OSError(why) from error

    def _opened(self) -> sqlite3.Connection:
        if self._db is not None and (
            self._db.in_transaction or self._file == sqlite_file.find_identity(self._path)
        ):
            return self._db
        self.close()
        if str(self._path) != sqlite_file.IN_MEMORY:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            sqlite_file.make_private(self._path)
        self._db, schema = sqlite_file.open_migrated(
            self._path, self._migrations, create=True, log_pages=_LOG_PAGES
        )
        self._file = sqlite_file.find_identity(self._path)
        if self._known is not None:
            self._known = _ANOTHER_FILE
        if schema != "ready":
            self._throw_away()
            return self._opened()
        # Data lost in a power cut is derived again, so no commit has to wait for the disk.
        self._db.execute("PRAGMA synchronous = NORMAL")
        return self._db

    def _throw_away(self) -> None:
        self.close()
        for end in ("", "-wal", "-shm"):
            Path(f"{self._path}{end}").unlink(missing_ok=True)


def _changes_by_others(db: sqlite3.Connection) -> int:
    """A number that changes when another connection changes the file."""
    (number,) = db.execute("PRAGMA data_version").fetchone()
    return int(number)
