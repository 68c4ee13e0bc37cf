"""What the engine knows, in one SQLite file."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Self

from vaultsync.backends.sqlite import archive_rows
from vaultsync.backends.sqlite import database as sqlite_file
from vaultsync.errors.sides import ArchiveError
from vaultsync.model.paths import VaultPath

if TYPE_CHECKING:  # a question opens an archive, too, and asks for none of them
    from vaultsync.notes.conflict_note import Conflict
    from vaultsync.storage.records import (
        Attention,
        Base,
        HistoryEntry,
        Intent,
        Linger,
        Outgoing,
        Run,
    )

_LOG_PAGES = 4_096
"""A first pass over 10,000 notes fits: its end need not wait for the file itself."""


class SqliteArchive:
    """An `Archive` in one file: write-ahead log, every commit on disk at its end."""

    def __init__(self, db: sqlite3.Connection, path: str) -> None:
        self._db: sqlite3.Connection | None = db
        self._path = path
        self._place = _place(path)
        self._lock = threading.RLock()
        self._writing = False

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """The archive at `path`, a new one when there is none; `:memory:` for tests.

        Raises:
            ArchiveError: the file is damaged, or a newer vaultsync made it.
        """
        name = str(path)
        if name != sqlite_file.IN_MEMORY:
            name = str(Path(path).absolute())
        with sqlite_file.explained(name):
            _make(name)
            db = sqlite_file.connect(name, log_pages=_LOG_PAGES)
            try:
                _prepare(db, name)
            except BaseException:
                db.close()
                raise
        return cls(db, name)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Group writes: all are durable at the end, or none when the block raises."""
        with self._lock:
            with self._asking() as db:
                if self._writing:
                    bug = "a transaction of the archive within another"
                    raise RuntimeError(bug)
                if _place(self._path) != self._place:
                    message = f"the archive {self._path} was removed or replaced"
                    raise ArchiveError(message, hint="stop and start again")
                db.execute("BEGIN IMMEDIATE")
            self._writing = True
            try:
                yield
                with self._asking():
                    db.execute("COMMIT")
            except BaseException:
                sqlite_file.roll_back(db)
                raise
            finally:
                self._writing = False

    def setting(self, key: str) -> str | None:
        """A remembered word."""
        rows = self._rows("SELECT value FROM settings WHERE key = ?", key)
        return rows[0][0] if rows else None

    def set_setting(self, key: str, value: str | None) -> None:
        """Remember a word, or forget it."""
        if value is None:
            self._change("DELETE FROM settings WHERE key = ?", [(key,)])
        else:
            self._change(
                "INSERT OR REPLACE INTO settings VALUES (?, ?)", [(key, value)]
            )

    def folders(self) -> dict[VaultPath, bytes]:
        """The fingerprints of the folders in which nothing was left to do."""
        rows = self._rows("SELECT path, fingerprint FROM folders")
        return {archive_rows.read(path): fingerprint for path, fingerprint in rows}

    def set_folders(self, fingerprints: Mapping[VaultPath, bytes | None]) -> None:
        """Remember fingerprints; None forgets one."""
        told = [(archive_rows.spell(path), each) for path, each in fingerprints.items()]
        self._change(
            "DELETE FROM folders WHERE path = ?",
            [(path,) for path, each in told if each is None],
        )
        self._change(
            "INSERT OR REPLACE INTO folders VALUES (?, ?)",
            [(path, each) for path, each in told if each is not None],
        )

    def count_bases(self) -> int:
        """How many facts have a base."""
        count: int = self._rows("SELECT count(*) FROM bases")[0][0]
        return count

    def find_base(self, fact_id: str) -> Base | None:
        """The base of one fact."""
        rows = self._rows(archive_rows.BASES + "WHERE fact_id = ?", fact_id)
        return archive_rows.base_of(rows[0]) if rows else None

    def find_bases(self, fact_ids: Iterable[str]) -> dict[str, Base]:
        """The bases there are."""
        found: dict[str, Base] = {}
        wanted = iter(fact_ids)
        while batch := list(islice(wanted, sqlite_file.BATCH)):
            rows = self._rows(archive_rows.BASES_OF_IDS, json.dumps(batch))
            found.update((row[0], archive_rows.base_of(row)) for row in rows)
            if not rows and self._is_empty("bases"):
                break  # thousands are asked for when there is none yet
        return found

    def places(self, fact_ids: Iterable[str]) -> dict[str, VaultPath]:
        """Where the notes of some facts lie; those that are missing are left out."""
        rows = self._rows(archive_rows.PLACES_OF_IDS, json.dumps(list(fact_ids)))
        return {row[0]: archive_rows.join(row[1], row[2]) for row in rows}

    def bases_in(self, folder: VaultPath) -> dict[str, Base]:
        """The bases whose note lies directly in a folder, by the name of the file."""
        rows = self._rows(
            archive_rows.BASES + "WHERE folder = ? AND missing_since IS NULL",
            archive_rows.spell(folder),
        )
        return {archive_rows.read(row[2]): archive_rows.base_of(row) for row in rows}

    def missing_bases(self) -> list[Base]:
        """The bases with `missing_since`, by id."""
        rows = self._rows(
            archive_rows.BASES + "WHERE missing_since IS NOT NULL ORDER BY fact_id"
        )
        return [archive_rows.base_of(row) for row in rows]

    def iter_bases(self) -> Iterator[Base]:
        """All bases, by id."""
        after = ""
        while rows := self._rows(
            archive_rows.BASES + "WHERE fact_id > ? ORDER BY fact_id LIMIT ?",
            after,
            sqlite_file.BATCH,
        ):
            yield from map(archive_rows.base_of, rows)
            after = rows[-1][0]

    def paths(self) -> dict[VaultPath, str]:
        """Path -> fact id of all bases that are not missing."""
        found: dict[VaultPath, str] = dict(self._rows(archive_rows.PATHS))
        for folder, name, fact_id in self._rows(archive_rows.ODD_PATHS):
            found[archive_rows.join(folder, name)] = fact_id
        return found

    def put_bases(self, bases: Iterable[Base]) -> None:
        """Set bases."""
        self._change(
            "INSERT OR REPLACE INTO bases VALUES (?,?,?,?,?,?,?,?,?,?, CAST(? AS TEXT))",
            map(archive_rows.base_row, bases),
        )

    def drop_bases(self, fact_ids: Iterable[str]) -> None:
        """Forget bases. Their blobs stay."""
        self._change("DELETE FROM bases WHERE fact_id = ?", zip(fact_ids))

    def put_blobs(self, blobs: Mapping[str, bytes]) -> None:
        """Keep bytes by sha, as they are: to compress them costs more than the disk."""
        self._change("INSERT OR IGNORE INTO blobs VALUES (?, ?)", blobs.items())

    def blob(self, sha: str) -> bytes | None:
        """Kept bytes."""
        rows = self._rows("SELECT data FROM blobs WHERE sha = ?", sha)
        return rows[0][0] if rows else None

    def put_intents(self, intents: Iterable[Intent]) -> None:
        """Remember begun writes."""
        self._put("intent", intents)

    def drop_intents(self, ops: Iterable[str]) -> None:
        """Forget them."""
        self._forget("intent", ops)

    def intents(self) -> list[Intent]:
        """Begun writes, oldest first."""
        return [archive_rows.intent_of(body) for body in self._bodies("intent")]

    def put_lingers(self, lingers: Iterable[Linger]) -> None:
        """Remember displaced files."""
        self._put("linger", lingers)

    def drop_lingers(self, ops: Iterable[str]) -> None:
        """Forget them."""
        self._forget("linger", ops)

    def lingers(self) -> list[Linger]:
        """Displaced files, oldest first."""
        return [archive_rows.linger_of(body) for body in self._bodies("linger")]

    def put_outgoing(self, rows: Iterable[Outgoing]) -> None:
        """Queue changes; a row with a known op replaces it and keeps its place."""
        self._put("outgoing", rows)

    def drop_outgoing(self, ops: Iterable[str]) -> None:
        """Forget them."""
        self._forget("outgoing", ops)

    def outbox(self) -> list[Outgoing]:
        """Queued changes, oldest first."""
        return [archive_rows.outgoing_of(body) for body in self._bodies("outgoing")]

    def put_conflict(self, conflict: Conflict) -> None:
        """Set a conflict, open or closed."""
        self._change(
            "INSERT INTO conflicts (id, fact_id, open, body) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET open = excluded.open, body = excluded.body",
            [
                (
                    conflict.id,
                    conflict.fact_id,
                    not conflict.outcome,
                    archive_rows.to_json(conflict),
                )
            ],
        )

    def conflicts(self, *, closed: bool = False) -> list[Conflict]:
        """The open conflicts, or all of them; oldest first."""
        rows = self._rows(
            "SELECT body FROM conflicts ORDER BY n"
            if closed
            else "SELECT body FROM conflicts WHERE open ORDER BY n"
        )
        return [archive_rows.conflict_of(body) for (body,) in rows]

    def add_history(self, entries: Iterable[HistoryEntry]) -> None:
        """Append history. It is never changed."""
        self._change(
            "INSERT INTO history (run, at, fact_id, side, actor, field,"
            ' "before", "after") VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
            map(archive_rows.history_row, entries),
        )

    def history(self, *, fact_id: str = "", run: str = "") -> list[HistoryEntry]:
        """The history of a fact or of a run, oldest first."""
        key, value = ("fact_id", fact_id) if fact_id else ("run", run)
        which = f"WHERE {key} = ? " if value else ""
        values = [value] if value else []
        found = self._rows(f"{archive_rows.HISTORY}{which}ORDER BY n", *values)
        entries = map(archive_rows.history_of, found)
        return [each for each in entries if run in ("", each.run)]

    def buried_notes(self, fact_ids: Iterable[str]) -> dict[str, HistoryEntry]:
        """The newest entry by which each fact lost its note."""
        found: dict[str, HistoryEntry] = {}
        ids = iter(fact_ids)
        while some := list(islice(ids, sqlite_file.BATCH)):
            marks = ", ".join("?" * len(some))
            rows = self._rows(
                archive_rows.HISTORY + f"WHERE fact_id IN ({marks})"
                " AND field = 'note' AND \"after\" = 'null' ORDER BY n",
                *some,
            )
            for row in rows:
                entry = archive_rows.history_of(row)
                found[entry.fact_id] = entry
            if not rows and self._is_empty("history"):
                break
        return found

    def put_run(self, run: Run) -> None:
        """Remember a pass."""
        self._change(
            "INSERT INTO runs (run, at, kind, report) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (run) DO UPDATE SET at = excluded.at, kind = excluded.kind,"
            " report = excluded.report",
            [(run.run, run.at, run.kind, archive_rows.to_json(run.report))],
        )

    def find_run(self, run: str) -> Run | None:
        """A pass by its id."""
        found = self._rows(archive_rows.RUNS + "WHERE run = ?", run)
        return archive_rows.run_of(found[0]) if found else None

    def last_run(self) -> Run | None:
        """The newest pass."""
        found = self._rows(archive_rows.RUNS + "ORDER BY n DESC LIMIT 1")
        return archive_rows.run_of(found[0]) if found else None

    def set_attention(self, path: VaultPath, notices: Sequence[Attention]) -> None:
        """Replace what waits for a person at a path; an empty list clears it."""
        place = archive_rows.spell(path)
        self._change("DELETE FROM attention WHERE path = ?", [(place,)])
        self._change(
            "INSERT INTO attention VALUES (?, ?, ?)",
            [(place, n, archive_rows.to_json(each)) for n, each in enumerate(notices)],
        )

    def attention(self) -> list[Attention]:
        """Everything that waits for a person, by path."""
        rows = self._rows("SELECT body FROM attention ORDER BY path, n")
        return [archive_rows.attention_of(body) for (body,) in rows]

    def close(self) -> None:
        """Let go of the file; harmless when repeated."""
        with self._lock:
            if self._db is None:
                return
            if self._place is not None:
                with suppress(OSError):
                    sqlite_file.drop_stale_log(self._path, self._place)
            self._db.close()
            self._db = None

    @contextmanager
    def _asking(self) -> Iterator[sqlite3.Connection]:
        with self._lock, sqlite_file.explained(self._path):
            if self._db is None:
                message = "the archive was closed"
                raise ArchiveError(message, hint="open it again")
            yield self._db

    def _rows(
        self, statement: str, *values: str | bytes | int
    ) -> list[archive_rows.Row]:
        with self._asking() as db:
            return db.execute(statement, values).fetchall()

    def _is_empty(self, table: str) -> bool:
        return not self._rows(f"SELECT 1 FROM {table} LIMIT 1")  # noqa: S608 - ours

    def _change(self, statement: str, rows: Iterable[archive_rows.Row]) -> None:
        with self._asking() as db:
            if not self._writing:
                bug = "a write to the archive outside of transaction()"
                raise RuntimeError(bug)
            db.executemany(statement, rows)

    def _put(self, kind: str, rows: Iterable[Intent | Linger | Outgoing]) -> None:
        self._change(
            "INSERT INTO waiting (kind, op, body) VALUES (?, ?, ?)"
            " ON CONFLICT (kind, op) DO UPDATE SET body = excluded.body",
            ((kind, each.op, archive_rows.to_json(each)) for each in rows),
        )

    def _forget(self, kind: str, ops: Iterable[str]) -> None:
        self._change(
            "DELETE FROM waiting WHERE kind = ? AND op = ?", ((kind, op) for op in ops)
        )

    def _bodies(self, kind: str) -> list[str]:
        rows = self._rows("SELECT body FROM waiting WHERE kind = ? ORDER BY n", kind)
        return [body for (body,) in rows]


def _make(path: str) -> None:
    if path == sqlite_file.IN_MEMORY:
        return
    try:
        sqlite_file.make_private(path)
    except OSError as error:
        raise sqlite3.OperationalError(error.strerror) from error


def _place(path: str) -> sqlite_file.Place | None:
    try:
        return None if path == sqlite_file.IN_MEMORY else sqlite_file.place(path)
    except OSError:
        return None


def _prepare(db: sqlite3.Connection, path: str) -> None:
    schema = sqlite_file.migrate(db, archive_rows.MIGRATIONS, create=True)
    if schema == "newer":
        message = f"{path} is the archive of a newer vaultsync"
        raise ArchiveError(message, hint="update vaultsync on this machine")
    if schema == "foreign":
        message = f"{path} is no archive of vaultsync"
        raise ArchiveError(message, hint=sqlite_file.DAMAGED)
