"""The archive in one SQLite file."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Self

import msgspec

from vaultsync.backends.sqlite import database as sqlite_file
from vaultsync.backends.sqlite.archive_rows import (
    DAMAGE_HINT,
    MIGRATIONS,
    PACKED_COLUMNS,
    SqlRow,
    base_from_row,
    base_to_row,
    file_key,
    history_from_row,
    history_to_row,
    intent_from_json,
    pack_column,
    path_from_columns,
    stamp_to_columns,
    unpack_blob,
    unpack_column,
    value_to_json,
)
from vaultsync.errors import ArchiveError
from vaultsync.model.paths import VaultPath
from vaultsync.storage.packed_bytes import pack

if TYPE_CHECKING:  # recall in a new process does not need them: 6 of its 110 ms
    from vaultsync.notes.conflict_note import ConflictRecord
    from vaultsync.notes.proposal_note import ProposalRecord
    from vaultsync.storage.archive import (
        Base,
        DisplacedFile,
        HistoryEntry,
        KeepSince,
        Notice,
        OutboxEntry,
        PackedBase,
        RunRecord,
        WaitingRow,
        WriteIntent,
    )
    from vaultsync.storage.erasure import Traces
    from vaultsync.storage.vault import FileStamp

SELECT_BASES = (
    "SELECT fact_id, folder, name, sha, revision, size, mtime_ns, ctime_ns, inode,"
    " missing_since, fact, data FROM bases LEFT JOIN blobs USING (sha) "
)
SELECT_BLOBS = "SELECT sha, data FROM blobs WHERE sha IN (SELECT value FROM json_each(?))"
SELECT_BASES_BY_ID = SELECT_BASES + "WHERE fact_id IN (SELECT value FROM json_each(?))"  # noqa: S608 - both are ours
SELECT_PATHS_BY_ID = (
    "SELECT fact_id, folder, name FROM bases WHERE missing_since IS NULL"
    " AND fact_id IN (SELECT value FROM json_each(?))"
)
SELECT_STAMPS = "SELECT fact_id, folder, name, size, mtime_ns, ctime_ns, inode FROM bases"
SELECT_STAMPS_IN = SELECT_STAMPS + " WHERE folder = ? AND missing_since IS NULL"
SELECT_STAMPS_BY_ID = (
    # A third faster than a subquery, which sorts the ids.
    SELECT_STAMPS + ", json_each(?) WHERE fact_id = value AND missing_since IS NULL"
)
SELECT_PLACES_BY_ID = (
    "SELECT fact_id, folder, name, missing_since IS NULL FROM bases"
    " WHERE fact_id IN (SELECT value FROM json_each(?))"
)
COUNT_FOUND_AGAIN = (
    "INSERT OR REPLACE INTO moves (fact_id) SELECT fact_id FROM bases"
    " WHERE fact_id = ? AND sha = ? AND missing_since IS NOT NULL"
)
SET_STAMPS = (
    "UPDATE bases SET size = ?3, mtime_ns = ?4, ctime_ns = ?5, inode = ?6, missing_since = NULL"
    " WHERE fact_id = ?1 AND sha = ?2"
)
SELECT_PATHS = (
    "SELECT CASE folder WHEN '' THEN name ELSE folder || '/' || name END, fact_id"
    " FROM bases WHERE missing_since IS NULL"
)
SELECT_FOLDERS = (
    # One search of the index for each folder, while DISTINCT would read it for each note.
    "WITH RECURSIVE found(folder) AS (SELECT min(folder) FROM bases UNION ALL"
    " SELECT (SELECT min(folder) FROM bases WHERE folder > found.folder) FROM found"
    " WHERE folder IS NOT NULL) SELECT folder FROM found WHERE folder IS NOT NULL"
)
SELECT_PATHS_BY_FILE = (
    "SELECT folder, name, fact_id FROM bases WHERE missing_since IS NULL"
    " AND file_key IN (SELECT value FROM json_each(?))"
)
SELECT_WAITING = (
    "SELECT body FROM waiting WHERE kind = ?1"
    " AND (?2 IS NULL OR json_extract(body, '$.fact_id') = ?2) ORDER BY n"
)
SELECT_CONFLICTS = "SELECT body FROM conflicts WHERE (?1 IS NULL OR fact_id = ?1)"
SELECT_HISTORY = 'SELECT run, at, fact_id, side, actor, field, "before", "after" FROM history '
SELECT_RUNS = "SELECT run, at, kind, report FROM runs "
SELECT_NOTE_REMOVALS = SELECT_HISTORY + (  # noqa: S608 - both are ours
    "WHERE fact_id IN (SELECT value FROM json_each(?))"
    " AND field = 'note' AND \"after\" = 'null' ORDER BY n"
)
_KINDS = {"WriteIntent": "intent", "DisplacedFile": "linger", "OutboxEntry": "outgoing"}
"""The class of a waiting row, which need not be loaded -> its kind in the table."""
_ARCHIVE_WAL_PAGES = 4_096
"""A first run over 10,000 notes fits, so it does not wait for the file itself."""


class SqliteArchive:
    """An `Archive` in one file, with a write-ahead log; every commit is durable."""

    def __init__(self, db: sqlite3.Connection, path: str) -> None:
        self._db: sqlite3.Connection | None = db
        self._path = path
        self._place = sqlite_file.find_identity(path)
        self._lock = threading.RLock()
        self._writing = self._has_written = False

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open or create the archive at `path`; `:memory:` for tests."""
        name = str(path)
        try:
            if name != sqlite_file.IN_MEMORY:
                name = str(Path(path).absolute())
                try:
                    sqlite_file.make_private(name)
                except OSError as error:
                    raise sqlite3.OperationalError(error.strerror) from error
            db, schema = sqlite_file.open_migrated(
                name, MIGRATIONS, create=True, log_pages=_ARCHIVE_WAL_PAGES
            )
        except sqlite3.DatabaseError as error:
            _raise_translated(error, name)
        if schema == "ready":
            return cls(db, name)
        db.close()
        if schema == "newer":
            message, hint = "an archive of a newer vaultsync", "update vaultsync on this machine"
        else:
            message, hint = "not an archive of vaultsync", DAMAGE_HINT
        raise ArchiveError(f"{name} is {message}", hint=hint)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._connection() as db:
            if self._writing:
                bug = "a transaction of the archive within another"
                raise RuntimeError(bug)
            self._check_place()
            self._writing = True
            try:
                with sqlite_file.transaction(db):
                    yield
                self._has_written = True
            finally:
                self._writing = False
            self._check_place()  # again: what was written into a file without a name is lost

    def _check_place(self) -> None:
        if sqlite_file.find_identity(self._path) != self._place:
            message = f"the archive {self._path} was removed or replaced"
            raise ArchiveError(message, hint="stop and start again")

    def setting(self, key: str) -> str | None:
        rows = self._rows("SELECT value FROM settings WHERE key = ?", key)
        return rows[0][0] if rows else None

    def set_setting(self, key: str, value: str | None) -> None:
        if value is None:
            self._change("DELETE FROM settings WHERE key = ?", [(key,)])
        else:
            self._change("INSERT OR REPLACE INTO settings VALUES (?, ?)", [(key, value)])

    def folders(self) -> dict[VaultPath, bytes]:
        rows = self._rows("SELECT path, fingerprint FROM folders")
        return dict(rows)

    def set_folders(self, fingerprints: Mapping[VaultPath, bytes | None]) -> None:
        known = (each for each in fingerprints.items() if each[1] is not None)
        self._change("DELETE FROM folders WHERE path = ?", zip(fingerprints))
        self._change("INSERT INTO folders VALUES (?, ?)", known)

    def count_bases(self) -> int:
        count: int = self._rows("SELECT count(*) FROM bases")[0][0]
        return count

    def known_ids(self, prefix: str) -> list[str]:
        # Ids are lower-case hexadecimal digits and dashes, all of which sort before "g".
        rows = self._rows(
            "SELECT fact_id FROM bases WHERE fact_id >= ?1 AND fact_id < ?2"
            " UNION SELECT fact_id FROM history WHERE fact_id >= ?1 AND fact_id < ?2 ORDER BY 1",
            prefix,
            f"{prefix}g",
        )
        return [fact_id for (fact_id,) in rows]

    def find_base(self, fact_id: str) -> Base | None:
        return self.find_bases([fact_id]).get(fact_id)

    def find_bases(self, fact_ids: Iterable[str]) -> dict[str, Base]:
        if not (wanted := list(fact_ids)):
            return {}
        with self._connection() as db:
            rows = db.execute(SELECT_BASES_BY_ID, (json.dumps(wanted),))
            return {row[0]: base_from_row(row) for row in rows}

    def note_paths(self, fact_ids: Iterable[str]) -> dict[str, VaultPath]:
        rows = self._rows(SELECT_PATHS_BY_ID, json.dumps(list(fact_ids)))
        return {fact_id: path_from_columns(folder, name) for fact_id, folder, name in rows}

    def note_stamps(self, fact_ids: Iterable[str]) -> dict[str, tuple[VaultPath, FileStamp | None]]:
        found = self._stamps(SELECT_STAMPS_BY_ID, json.dumps(list(fact_ids)))
        return {key: (path_from_columns(at, name), stamp) for key, at, name, stamp in found}

    def base_at(self, path: VaultPath) -> Base | None:
        folder, _, name = path.rpartition("/")
        rows = self._rows(
            SELECT_BASES + "WHERE folder = ? AND name = ? AND missing_since IS NULL", folder, name
        )
        return base_from_row(rows[0]) if rows else None

    def stamps_in(self, folder: VaultPath) -> dict[str, tuple[str, FileStamp | None]]:
        found = self._stamps(SELECT_STAMPS_IN, folder)
        return {name: (key, stamp) for key, _, name, stamp in found}

    def _stamps(
        self, statement: str, value: str
    ) -> Iterator[tuple[str, str, str, FileStamp | None]]:
        """Fact, folder, name and stamp of each of some notes."""
        from vaultsync.storage.vault import FileStamp

        for key, folder, name, size, mtime_ns, ctime_ns, inode in self._rows(statement, value):
            stamp = None if inode is None else FileStamp(size, mtime_ns, ctime_ns, int(inode))
            yield key, folder, name, stamp

    def missing_bases(self) -> list[Base]:
        rows = self._rows(SELECT_BASES + "WHERE missing_since IS NOT NULL ORDER BY fact_id")
        return [base_from_row(row) for row in rows]

    def iter_bases(self) -> Iterator[Base]:
        after, query = "", SELECT_BASES + "WHERE fact_id > ? ORDER BY fact_id LIMIT ?"
        while rows := self._rows(query, after, sqlite_file.BATCH_ROWS):
            yield from map(base_from_row, rows)
            after = rows[-1][0]

    def revisions(self) -> dict[str, str]:
        return dict(self._rows("SELECT fact_id, revision FROM bases ORDER BY fact_id"))

    def paths(self) -> dict[VaultPath, str]:
        return dict(self._rows(SELECT_PATHS))

    def notes_by_folder(self) -> dict[VaultPath, int]:
        query = "SELECT folder, count(*) FROM bases WHERE missing_since IS NULL GROUP BY folder"
        return dict(self._rows(query))

    def base_folders(self) -> list[VaultPath]:
        return [folder for (folder,) in self._rows(SELECT_FOLDERS)]

    def paths_called(self, names: Iterable[str]) -> dict[VaultPath, str]:
        rows = self._rows(SELECT_PATHS_BY_FILE, json.dumps([*{*map(file_key, names)}]))
        return {path_from_columns(folder, name): fact_id for folder, name, fact_id in rows}

    def last_move(self) -> int:
        rows = self._rows("SELECT seq FROM sqlite_sequence WHERE name = 'moves'")
        return rows[0][0] if rows else 0

    def moved_since(self, number: int) -> list[str]:
        rows = self._rows("SELECT fact_id FROM moves WHERE n > ? ORDER BY n", number)
        return [fact_id for (fact_id,) in rows]

    def put_bases(self, bases: Iterable[Base | PackedBase]) -> None:
        from vaultsync.storage.archive import Base

        given = list(bases)
        shas = json.dumps([base.sha for base in given if isinstance(base, Base)])
        notes = {sha: unpack_blob(data) for sha, data in self._rows(SELECT_BLOBS, shas)}
        rows = [base_to_row(base.packed(notes.get(base.sha, b""))) for base in given]
        self._count_moves(rows)
        self._change("INSERT OR REPLACE INTO bases VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", rows)

    def put_stamps(self, stamps: Iterable[tuple[str, str, FileStamp | None]]) -> None:
        rows = [(fact_id, sha, *stamp_to_columns(stamp)) for fact_id, sha, stamp in stamps]
        self._change(COUNT_FOUND_AGAIN, [row[:2] for row in rows])
        self._change(SET_STAMPS, rows)

    def _count_moves(self, rows: Sequence[SqlRow]) -> None:
        """Count the bases of moved notes; deletions have a trigger."""
        places = ((row[0], row[1], row[2], row[9] is None) for row in rows)
        ids = json.dumps([row[0] for row in rows])
        before = set(self._rows(SELECT_PLACES_BY_ID, ids))
        self._change(
            "INSERT OR REPLACE INTO moves (fact_id) VALUES (?)",
            [(place[0],) for place in places if place not in before],
        )

    def drop_bases(self, fact_ids: Iterable[str]) -> None:
        self._change("DELETE FROM bases WHERE fact_id = ?", zip(fact_ids))

    def put_blobs(self, blobs: Mapping[str, bytes]) -> None:
        rows = ((sha, pack(data)) for sha, data in blobs.items())
        self._change("INSERT OR IGNORE INTO blobs (sha, data) VALUES (?, ?)", rows)

    def blob(self, sha: str) -> bytes | None:
        rows = self._rows("SELECT data FROM blobs WHERE sha = ?", sha)
        return unpack_blob(rows[0][0]) if rows else None

    def put_waiting(self, rows: Iterable[WaitingRow]) -> None:
        self._change(
            "INSERT INTO waiting (kind, op, body) VALUES (?, ?, ?)"
            " ON CONFLICT (kind, op) DO UPDATE SET body = excluded.body",
            ((_KINDS[type(each).__name__], each.op, value_to_json(each)) for each in rows),
        )

    def drop_waiting(self, rows: Iterable[WaitingRow]) -> None:
        keys = ((_KINDS[type(each).__name__], each.op) for each in rows)
        self._change("DELETE FROM waiting WHERE kind = ? AND op = ?", keys)

    def intents(self, *, fact_id: str | None = None) -> list[WriteIntent]:
        return [*map(intent_from_json, self._waiting("intent", fact_id))]

    def displaced_files(self) -> list[DisplacedFile]:
        from vaultsync.storage.archive import DisplacedFile

        return [DisplacedFile(**json.loads(body)) for body in self._waiting("linger")]

    def outbox(self, *, fact_id: str | None = None) -> list[OutboxEntry]:
        from vaultsync.storage.archive import OutboxEntry

        return [OutboxEntry(**json.loads(body)) for body in self._waiting("outgoing", fact_id)]

    def _waiting(self, kind: str, fact_id: str | None = None) -> list[str]:
        return [body for (body,) in self._rows(SELECT_WAITING, kind, fact_id)]

    def put_conflict(self, conflict: ConflictRecord) -> None:
        self._change(
            "INSERT INTO conflicts (id, fact_id, open, body) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET open = excluded.open, body = excluded.body",
            [(conflict.id, conflict.fact_id, not conflict.outcome, value_to_json(conflict))],
        )

    def conflicts(
        self, *, closed: bool = False, fact_id: str | None = None
    ) -> list[ConflictRecord]:
        from vaultsync.notes.conflict_note import ConflictRecord

        which = "" if closed else " AND open"
        rows = self._rows(f"{SELECT_CONFLICTS}{which} ORDER BY n", fact_id)
        return [msgspec.json.decode(body, type=ConflictRecord) for (body,) in rows]

    def put_proposal(self, proposal: ProposalRecord) -> None:
        self._change(
            "INSERT INTO proposals (id, open, body) VALUES (?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET open = excluded.open, body = excluded.body",
            [(proposal.id, proposal.is_unfinished, value_to_json(proposal))],
        )

    def find_proposal(self, proposal_id: str) -> ProposalRecord | None:
        return next(iter(self._proposals("WHERE id = ?", proposal_id)), None)

    def proposals(self, *, settled: bool = False) -> list[ProposalRecord]:
        return self._proposals("ORDER BY n" if settled else "WHERE open ORDER BY n")

    def _proposals(self, which: str, *values: str) -> list[ProposalRecord]:
        from vaultsync.notes.proposal_note import ProposalRecord

        rows = self._rows(f"SELECT body FROM proposals {which}", *values)  # noqa: S608 - ours
        return [msgspec.json.decode(body, type=ProposalRecord) for (body,) in rows]

    def add_history(self, entries: Iterable[HistoryEntry]) -> None:
        self._change(
            "INSERT INTO history (run, at, fact_id, side, actor, field,"
            ' "before", "after") VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
            map(history_to_row, entries),
        )

    def history(
        self,
        *,
        fact_id: str | None = None,
        run: str | None = None,
        field: str | None = None,
        since: str = "",
    ) -> list[HistoryEntry]:
        named = {"fact_id": fact_id, "run": run, "field": field}
        asked = {key: value for key, value in named.items() if value is not None}
        where = " AND ".join(["at > ?", *(f"{key} = ?" for key in asked)])
        rows = self._rows(f"{SELECT_HISTORY} WHERE {where} ORDER BY n", since, *asked.values())
        return list(map(history_from_row, rows))

    def note_tombstones(self, fact_ids: Iterable[str]) -> dict[str, HistoryEntry]:
        rows = self._rows(SELECT_NOTE_REMOVALS, json.dumps(list(fact_ids)))
        return {row[2]: history_from_row(row) for row in rows}

    def put_run(self, run: RunRecord) -> None:
        self._change(
            "INSERT INTO runs (run, at, kind, report) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (run) DO UPDATE SET at = excluded.at, kind = excluded.kind,"
            " report = excluded.report",
            [(run.run, run.at, run.kind, pack_column(value_to_json(run.report)))],
        )

    def find_run(self, run: str) -> RunRecord | None:
        return next(iter(self._runs("WHERE run = ?", run)), None)

    def runs(self, *, limit: int, prefix: str = "") -> list[RunRecord]:
        which = "WHERE substr(run, 1, length(?1)) = ?1 ORDER BY n DESC LIMIT ?2"
        return self._runs(which, prefix, limit)

    def _runs(self, which: str, *values: str | int) -> list[RunRecord]:
        from vaultsync.storage.archive import RunRecord

        rows = self._rows(SELECT_RUNS + which, *values)
        return [RunRecord(*row)._replace(report=json.loads(unpack_column(row[3]))) for row in rows]

    def set_notices(self, path: VaultPath, notices: Sequence[Notice]) -> None:
        self._change("DELETE FROM attention WHERE path = ?", [(path,)])
        self._change(
            "INSERT INTO attention VALUES (?, ?, ?)",
            [(path, n, value_to_json(each)) for n, each in enumerate(notices)],
        )

    def notices(self) -> list[Notice]:
        from vaultsync.storage.archive import Notice

        rows = self._rows("SELECT body FROM attention ORDER BY path, n")
        held = [json.loads(body) for (body,) in rows]
        # Former versions also stored when they saw it.
        return [Notice(**{key: each[key] for key in Notice._fields}) for each in held]

    def erase(self, traces: Traces) -> dict[str, int]:
        """Erase facts everywhere, as an `Erasable`; blobs of other notes' bases are kept."""
        from vaultsync.backends.sqlite.archive_places import (
            ARCHIVE_PLACES,
            scrub_report,
            without_ids,
        )

        erased: dict[str, int] = {}
        with self._connection() as db:
            sqlite_file.prepare_erasure(db, traces)
            db.create_function("scrubbed", 1, lambda report: scrub_report(report, traces))
            db.create_function("without_ids", 1, lambda value: without_ids(value, traces))
        with self.transaction(), self._connection() as db:
            for place, statement in ARCHIVE_PLACES:
                erased[place] = db.execute(statement).rowcount
        self.compact()
        return erased

    def prune(self, since: KeepSince, *, dry_run: bool = False) -> dict[str, int]:
        """Remove older data and free its space, or only count it.

        Returns:
            The number of rows of each kind.
        """
        from vaultsync.backends.sqlite.archive_places import MARKS, PRUNED_PLACES
        from vaultsync.storage.archive import HISTORY_SINCE_SETTING

        named = since._asdict()
        if dry_run:
            with self._connection() as db:
                return sqlite_file.old_rows(db, PRUNED_PLACES, named, delete=False)
        with self.transaction(), self._connection() as db:
            for mark in MARKS:
                db.execute(mark, named)
            removed = sqlite_file.old_rows(db, PRUNED_PLACES, named, delete=True)
            if removed["history"]:
                self.set_setting(HISTORY_SINCE_SETTING, since.history)
        with self._connection() as db:
            sqlite_file.vacuum(db)
        return removed

    def iter_packed(self) -> Iterator[bytes]:
        """The unpacked data of packed rows, because long rows are in several pieces of the file."""
        with self._connection() as db:
            for table, column in PACKED_COLUMNS:
                rows = db.execute(f"SELECT {column} FROM {table} WHERE typeof({column}) = 'blob'")  # noqa: S608 - ours
                yield from (unpack_blob(held) for (held,) in rows)

    def compact(self) -> None:
        """Rewrite the file without deleted data."""
        with self._connection() as db:
            sqlite_file.compact(db)

    def _give_back(self, db: sqlite3.Connection) -> None:
        """Free the space of a first run's intents, a third of a small archive.

        Not while others write: the next process that closes the archive does it.
        """
        if self._has_written and sqlite_file.find_identity(self._path) == self._place:
            with suppress(sqlite3.Error):
                db.execute("PRAGMA busy_timeout = 0")
                if sqlite_file.is_sparse(db):
                    sqlite_file.compact(db)

    def close(self) -> None:
        with self._lock:
            if self._db is not None:
                self._give_back(self._db)
                sqlite_file.close_file(self._db, self._path, self._place)
            self._db = None

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            db = self._db
            if db is None:
                message = "the archive was closed"
                raise ArchiveError(message, hint="open it again")
            try:
                yield db
            except sqlite3.DatabaseError as error:
                from vaultsync.backends.sqlite.replaced_archive import check_version  # after errors

                check_version(db, self._path)
                _raise_translated(error, self._path)

    def _rows(self, statement: str, *values: str | bytes | int | None) -> list[SqlRow]:
        with self._connection() as db, suppress(UnicodeEncodeError):
            return db.execute(statement, values).fetchall()
        return []  # a text that a user gave is not valid Unicode, as all in the archive is

    def _change(self, statement: str, rows: Iterable[SqlRow]) -> None:
        with self._connection() as db:
            if not self._writing:
                bug = "a write to the archive outside of transaction()"
                raise RuntimeError(bug)
            db.executemany(statement, rows)


def _raise_translated(error: sqlite3.DatabaseError, path: str) -> NoReturn:
    """Raise an SQLite error as `ArchiveError`: the file cannot be used, or is damaged."""
    if isinstance(error, sqlite3.OperationalError):
        why, helps = sqlite_file.explain(error, path)
        hint = helps or "check that it and its folder are writable and its disk has free space"
        raise ArchiveError(f"the archive {path} cannot be used: {why}", hint=hint) from error
    if not sqlite_file.is_damage(error):
        raise error  # a constraint or a misuse: our bug, not a bad file
    raise ArchiveError(f"the archive {path} is damaged: {error}", hint=DAMAGE_HINT) from error
