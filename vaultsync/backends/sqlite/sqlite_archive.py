"""What the engine knows, in one SQLite file."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeAlias

import msgspec

from vaultsync.backends.sqlite import database as sqlite_file
from vaultsync.errors import ArchiveError
from vaultsync.model import serialization as wire
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.storage.packed_bytes import MIN_PACKED_BYTES, PackedBytes, pack, unpack

if TYPE_CHECKING:  # a cold recall opens the archive and reads none of these: 6 of its 110 ms
    from vaultsync.notes.conflict_note import ConflictRecord
    from vaultsync.notes.proposal_note import ProposalRecord
    from vaultsync.storage.archive import (
        Base,
        DisplacedFile,
        HistoryEntry,
        Notice,
        OutboxEntry,
        PackedBase,
        RunRecord,
        WriteIntent,
    )
    from vaultsync.storage.erasure import Traces
    from vaultsync.storage.pruning import KeepSince
    from vaultsync.storage.vault import FileStamp


_encode = msgspec.json.Encoder(enc_hook=dict).encode  # any mapping is a map
SqlRow: TypeAlias = tuple[Any, ...]

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
    " FROM bases WHERE typeof(folder) = 'text' AND typeof(name) = 'text'"
    " AND missing_since IS NULL"
)
SELECT_NON_UTF8_PATHS = (
    "SELECT folder, name, fact_id FROM bases"
    " WHERE (typeof(folder) <> 'text' OR typeof(name) <> 'text')"
    " AND missing_since IS NULL"
)
SELECT_PATHS_BY_FILE = (
    "SELECT folder, name, fact_id FROM bases WHERE file_key = ? AND missing_since IS NULL"
)
SELECT_WAITING = "SELECT body FROM waiting WHERE kind = ? ORDER BY n"
_UNFINISHED = {"intent": "intents", "linger": "displaced_files", "outgoing": "outbox"}
"""The kinds of rows in `waiting`, as `Archive.unfinished()` names them."""
SELECT_HISTORY = 'SELECT run, at, fact_id, side, actor, field, "before", "after" FROM history '
SELECT_RUNS = "SELECT run, at, kind, report FROM runs "
SELECT_NOTE_REMOVALS = SELECT_HISTORY + (  # noqa: S608 - both are ours
    "WHERE fact_id IN (SELECT value FROM json_each(?))"
    " AND field = 'note' AND \"after\" = 'null' ORDER BY n"
)

ARCHIVE_PLACES: tuple[tuple[str, str], ...] = (
    ("bases", "DELETE FROM bases WHERE is_erased(fact_id)"),
    (
        "blobs",
        (
            "DELETE FROM blobs WHERE mentions(data)"
            " AND sha NOT IN (SELECT sha FROM bases WHERE sha IS NOT NULL)"
        ),
    ),
    (
        "history",
        'DELETE FROM history WHERE is_erased(fact_id) OR mentions("before") OR mentions("after")',
    ),
    ("queued changes", "DELETE FROM waiting WHERE is_erased(json_extract(body, '$.fact_id'))"),
    (
        "conflicts",
        "DELETE FROM conflicts WHERE is_erased(fact_id) OR (NOT open AND mentions(body))",
    ),
    ("proposals", "DELETE FROM proposals WHERE mentions(body)"),
    ("run reports", "UPDATE runs SET report = scrubbed(report) WHERE mentions(report)"),
    ("notices", "DELETE FROM attention WHERE mentions(path) OR mentions(body)"),
    ("moves", "DELETE FROM moves WHERE is_erased(fact_id)"),
    ("settings", "UPDATE settings SET value = without_ids(value) WHERE mentions(value)"),
)
"""Where the archive holds anything of a fact, and how it is erased there. A table that is
added has its row here."""
_REMOVAL = "(field = 'note' AND \"after\" = 'null')"
_NEEDED_BLOBS = (
    "SELECT sha FROM bases WHERE sha IS NOT NULL UNION"  # noqa: S608 - ours
    " SELECT value FROM waiting, json_each(waiting.body) WHERE type = 'text' UNION"
    " SELECT json_extract(\"before\", '$.sha') FROM history"
    " WHERE json_extract(\"before\", '$.sha') IS NOT NULL AND " + _REMOVAL
)
"""What bases, unfinished writes and displaced files, and notes that can be restored need."""
PRUNED_PLACES: tuple[tuple[str, str, str], ...] = (
    (
        "moves",
        "moves",
        (
            "fact_id NOT IN (SELECT fact_id FROM bases)"
            " AND fact_id NOT IN (SELECT fact_id FROM history)"
        ),
    ),
    (
        "history",
        "history",
        "run IN (SELECT run FROM history GROUP BY run HAVING max(at) < :history) AND NOT "  # noqa: S608 - ours
        + _REMOVAL,
    ),
    ("removed notes", "history", "at < :tombstones AND " + _REMOVAL),
    ("runs", "runs", "at < :runs AND n < (SELECT max(n) FROM runs)"),
    ("conflicts", "conflicts", "NOT open AND json_extract(body, '$.at') < :history"),
    ("proposals", "proposals", "NOT open AND json_extract(body, '$.settled_at') < :history"),
    ("blobs", "blobs", "unused_since < :blobs"),
)
"""What is pruned when it is old: its name, its table, and which rows. Of a run all of its
history is kept, or none: it can be undone as a whole. Moves come first, and so go with the
next pruning after their history: a dry run then counts the same."""
_MARKS = (
    f"UPDATE blobs SET unused_since = NULL WHERE sha IN ({_NEEDED_BLOBS})",  # noqa: S608 - ours
    "UPDATE blobs SET unused_since = :now WHERE unused_since IS NULL"  # noqa: ISC004, S608 - ours
    f" AND sha NOT IN ({_NEEDED_BLOBS})",
)


_DAMAGE_HINT = "move it away; the next run rebuilds it from both sides, deleting nothing"
PACKED_COLUMNS = (("blobs", "data"), ("bases", "fact"), ("runs", "report"))
"""What is packed where that is shorter; a text that is packed is a blob to SQLite."""


def pack_column(held: str | bytes) -> str | bytes:
    """A text, or bytes, as a column of `PACKED_COLUMNS` holds it."""
    data = held.encode() if isinstance(held, str) else held
    packed = pack(data)
    return held if packed is data else packed


def unpack_column(held: str | bytes) -> str | bytes:
    """The reverse of `pack_column()`, but that a text may come as its bytes.

    Raises ArchiveError: they are damaged.
    """
    return unpack_blob(held) if isinstance(held, bytes) else held


def unpack_blob(held: bytes) -> bytes:
    """The same of bytes that are no text."""
    try:
        return unpack(held)
    except ValueError as error:
        _raise_damaged(error)


def _raise_damaged(error: ValueError) -> NoReturn:
    message = f"the archive is damaged: {error}"
    raise ArchiveError(message, hint=_DAMAGE_HINT) from error


def m001_archive(db: sqlite3.Connection) -> None:
    """Everything. Columns of paths take text, and bytes for what is no text."""
    tables = """
        CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE folders (path PRIMARY KEY, fingerprint BLOB NOT NULL);
        CREATE TABLE bases (
            fact_id TEXT PRIMARY KEY, folder, name, sha TEXT, revision TEXT,
            size INTEGER, mtime_ns INTEGER, ctime_ns INTEGER, inode TEXT,
            missing_since TEXT, fact TEXT NOT NULL);
        CREATE INDEX bases_by_place ON bases (folder, name, fact_id, missing_since);
        CREATE INDEX bases_missing ON bases (fact_id) WHERE missing_since IS NOT NULL;
        CREATE TABLE blobs (sha TEXT PRIMARY KEY, data BLOB NOT NULL);
        CREATE TABLE waiting (
            n INTEGER PRIMARY KEY, kind TEXT NOT NULL, op TEXT NOT NULL,
            body TEXT NOT NULL, UNIQUE (kind, op));
        CREATE TABLE conflicts (
            n INTEGER PRIMARY KEY, id TEXT UNIQUE, fact_id TEXT,
            open INTEGER NOT NULL, body TEXT NOT NULL);
        CREATE INDEX conflicts_open ON conflicts (n) WHERE open;
        CREATE INDEX conflicts_by_fact ON conflicts (fact_id);
        CREATE TABLE history (
            n INTEGER PRIMARY KEY, run TEXT, at TEXT, fact_id TEXT, side TEXT,
            actor TEXT, field TEXT, "before" TEXT, "after" TEXT);
        CREATE INDEX history_by_fact ON history (fact_id);
        CREATE INDEX history_by_run ON history (run);
        CREATE TABLE runs (
            n INTEGER PRIMARY KEY, run TEXT UNIQUE, at TEXT, kind TEXT, report TEXT);
        CREATE TABLE attention (path, n INTEGER, body TEXT, PRIMARY KEY (path, n))
    """
    for statement in tables.split(";"):
        db.execute(statement)


def m002_unused_blobs(db: sqlite3.Connection) -> None:
    """Since when no base, no write and no deletion needs a blob."""
    db.execute("ALTER TABLE blobs ADD COLUMN unused_since TEXT")
    db.execute("CREATE INDEX blobs_unused ON blobs (unused_since)")


def m003_packed(db: sqlite3.Connection) -> None:
    """Bytes of notes, facts of bases and reports are packed where that is shorter."""
    db.create_function("packed", 1, pack_column)
    for table, column in PACKED_COLUMNS:
        db.execute(
            f"UPDATE {table} SET {column} = packed({column})"  # noqa: S608 - ours
            f" WHERE length({column}) >= {MIN_PACKED_BYTES}"
        )


def m004_file_names(db: sqlite3.Connection) -> None:
    """By which name links lead to a note, so that its fact is found without reading all paths."""
    db.create_function("file_key", 1, file_key)
    db.execute("ALTER TABLE bases ADD COLUMN file_key")
    db.execute("UPDATE bases SET file_key = file_key(name)")
    db.execute("CREATE INDEX bases_by_file ON bases (file_key)")


def m005_moves(db: sqlite3.Connection) -> None:
    """Which notes came, moved or went, and in which order: tables follow them."""
    db.execute(
        "CREATE TABLE moves (n INTEGER PRIMARY KEY AUTOINCREMENT, fact_id TEXT NOT NULL UNIQUE)"
    )
    moved = "INSERT OR REPLACE INTO moves (fact_id) VALUES"
    db.execute(
        "CREATE TRIGGER base_moved BEFORE INSERT ON bases WHEN NOT EXISTS ("  # noqa: S608 - ours
        "SELECT 1 FROM bases WHERE fact_id = new.fact_id AND folder IS new.folder"
        " AND name IS new.name AND (missing_since IS NULL) = (new.missing_since IS NULL))"
        f" BEGIN {moved} (new.fact_id); END"
    )
    db.execute(
        f"CREATE TRIGGER base_dropped AFTER DELETE ON bases BEGIN {moved} (old.fact_id); END"
    )


def m006_proposals(db: sqlite3.Connection) -> None:
    """Changes that a person has to decide about."""
    db.execute(
        "CREATE TABLE proposals (n INTEGER PRIMARY KEY, id TEXT UNIQUE,"
        " open INTEGER NOT NULL, body TEXT NOT NULL)"
    )
    db.execute("CREATE INDEX proposals_open ON proposals (n) WHERE open")


def m007_moves_in_bulk(db: sqlite3.Connection) -> None:
    """A trigger makes SQLite copy each page that an INSERT changes: two thirds of its time."""
    db.execute("DROP TRIGGER base_moved")


def m008_texts_once(db: sqlite3.Connection) -> None:
    """The fact of a base stands beside the bytes of its note, which are a blob."""
    from vaultsync.model.line_beside import fact_line_beside

    def beside(held: str | bytes, note: bytes | None) -> str | bytes:
        if note is None:
            return held
        fact = wire.fact_from_json(unpack_column(held))
        return pack_column(fact_line_beside(fact, unpack_blob(note)).decode())

    db.create_function("beside", 2, beside)
    db.execute(
        "UPDATE bases SET fact = beside(fact, (SELECT data FROM blobs WHERE blobs.sha = bases.sha))"
    )


MIGRATIONS: tuple[sqlite_file.Migration, ...] = (
    m001_archive,
    m002_unused_blobs,
    m003_packed,
    m004_file_names,
    m005_moves,
    m006_proposals,
    m007_moves_in_bulk,
    m008_texts_once,
)
"""In order. A name once released stays."""


def path_to_column(path: str) -> str | bytes:
    """A path for a column: text, or bytes when it is no text.

    Names that are no Unicode hold half characters, which SQLite's text cannot.
    """
    try:
        path.encode()
    except UnicodeEncodeError:
        return path.encode("utf-8", "surrogatepass")
    return path


def file_key(name: str | bytes) -> str | bytes:
    """The key of the name of a file for a column, by which links lead to it."""
    from vaultsync.links.wikilinks import name_key

    return path_to_column(name_key(path_from_column(name)))


def path_from_column(held: str | bytes) -> VaultPath:
    """The path of a column."""
    if isinstance(held, bytes):
        held = held.decode("utf-8", "surrogatepass")
    return VaultPath(held)


def path_from_columns(folder: str | bytes, name: str | bytes) -> VaultPath:
    """The path of the columns of a folder and of a name in it."""
    prefix = f"{path_from_column(folder)}/" if folder else ""
    return VaultPath(prefix + path_from_column(name))


def base_to_row(base: PackedBase) -> SqlRow:
    """A base in the order of its table."""
    fact_id, revision, path, line, sha, stamp, missing_since = base
    folder, _, name = path.rpartition("/")
    return (
        fact_id,
        path_to_column(folder),
        path_to_column(name),
        sha,
        revision,
        *_stamp_to_columns(stamp),
        missing_since,
        line if isinstance(line, PackedBytes) else line.decode(),
        file_key(name),
    )


def _stamp_to_columns(stamp: FileStamp | None) -> SqlRow:
    """The four columns of a stamp; the inode as text, which in SQLite would lack its 64th bit."""
    return (*stamp[:3], str(stamp.inode)) if stamp else (None, None, None, None)


def base_from_row(row: SqlRow) -> Base:
    """The base of a row of `SELECT_BASES`. Raises ArchiveError: it is damaged."""
    from vaultsync.storage.archive import PackedBase
    from vaultsync.storage.vault import FileStamp

    fact_id, folder, name, sha, revision, size, mtime_ns, ctime_ns, inode, since, fact, note = row
    line = fact.encode() if isinstance(fact, str) else fact
    stamp = None if inode is None else FileStamp(size, mtime_ns, ctime_ns, int(inode))
    path = path_from_columns(folder, name)
    base = PackedBase(fact_id, revision, path, line, sha, stamp, since)
    try:
        return base.unpacked(None if note is None else unpack(note))
    except ValueError as error:
        _raise_damaged(error)


def value_to_json(value: object) -> str:
    """One line of JSON for anything that the archive holds whole."""
    try:
        return _encode(_plain(value)).decode()
    except UnicodeEncodeError:
        # A path that is no Unicode: JSON can hold its half characters as escapes.
        return json.dumps(_plain(value), default=_dataclass_to_dict)


def intent_from_json(body: str) -> WriteIntent:
    """The intent of a line of JSON."""
    from vaultsync.storage.archive import WriteIntent

    held = json.loads(body)
    values = held.pop("fact")
    path, revision = held.pop("version", None) or (values["path"], values["revision"])
    fact = wire.fact_from_values(values, path=path, revision=revision)
    return WriteIntent(**held, fact=fact)


def conflict_from_json(body: str) -> ConflictRecord:
    """The conflict of a line of JSON."""
    from vaultsync.notes.conflict_note import ConflictRecord, FieldConflict

    held = json.loads(body)
    fields = tuple(FieldConflict(**each) for each in held.pop("fields"))
    return ConflictRecord(**held, fields=fields)


def proposal_from_json(body: str) -> ProposalRecord:
    """The proposal of a line of JSON."""
    from vaultsync.notes.proposal_note import ProposalRecord

    return msgspec.json.decode(body, type=ProposalRecord)


def history_to_row(entry: HistoryEntry) -> SqlRow:
    """An entry in the order of its table."""
    return (*entry[:-2], value_to_json(entry.before), value_to_json(entry.after))


def history_from_row(row: SqlRow) -> HistoryEntry:
    """The reverse of `history_to_row()`."""
    from vaultsync.storage.archive import HistoryEntry

    return HistoryEntry(*row[:-2], *map(json.loads, row[-2:]))


def scrub_report(report: str | bytes, traces: Traces) -> str | bytes:
    """The report of a run, as its column, without the entries that name a fact or quote it."""

    def scrub(value: object) -> object:
        if isinstance(value, dict):
            return {key: scrub(each) for key, each in value.items()}
        if isinstance(value, list):
            return [each for each in value if not traces.mentions(json.dumps(each))]
        return "" if isinstance(value, str) and traces.mentions(value) else value

    return pack_column(value_to_json(scrub(json.loads(unpack_column(report)))))


def _plain(value: object) -> object:
    """A record as a map, in which its fact is a line and a version."""
    if not isinstance(value, tuple) or not hasattr(value, "_asdict"):
        return value
    held: dict[str, object] = value._asdict()
    fact = held.get("fact")
    if isinstance(fact, Fact):
        held["fact"] = msgspec.Raw(wire.fact_line(fact))
        held["version"] = (fact.path, fact.revision)
    return held


def _dataclass_to_dict(value: object) -> object:
    if isinstance(value, msgspec.Raw):
        return json.loads(bytes(value))
    import dataclasses

    assert dataclasses.is_dataclass(value) and not isinstance(value, type)  # noqa: S101, PT018 - what else the archive holds whole
    return dataclasses.asdict(value)


_ARCHIVE_WAL_PAGES = 4_096
"""A first run over 10,000 notes fits: it need not wait for the file itself."""


class SqliteArchive:
    """An `Archive` in one file: write-ahead log, every commit on disk at its end."""

    def __init__(self, db: sqlite3.Connection, path: str) -> None:
        self._db: sqlite3.Connection | None = db
        self._path = path
        self._place = sqlite_file.find_identity(path)
        self._lock = threading.RLock()
        self._writing = self._has_written = False

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """The archive at `path`, a new one when there is none; `:memory:` for tests."""
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
            message, hint = "the archive of a newer vaultsync", "update vaultsync on this machine"
        else:
            message, hint = "no archive of vaultsync", _DAMAGE_HINT
        raise ArchiveError(f"{name} is {message}", hint=hint)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._lock:
            with self._connection() as db:
                if self._writing:
                    bug = "a transaction of the archive within another"
                    raise RuntimeError(bug)
                if sqlite_file.find_identity(self._path) != self._place:
                    message = f"the archive {self._path} was removed or replaced"
                    raise ArchiveError(message, hint="stop and start again")
                db.execute("BEGIN IMMEDIATE")
            self._writing = True
            try:
                yield
                with self._connection():
                    db.execute("COMMIT")
                self._has_written = True
            except BaseException:
                sqlite_file.roll_back(db)
                raise
            finally:
                self._writing = False

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
        return {path_from_column(path): fingerprint for path, fingerprint in rows}

    def set_folders(self, fingerprints: Mapping[VaultPath, bytes | None]) -> None:
        rows = [(path_to_column(path), each) for path, each in fingerprints.items()]
        self._change("DELETE FROM folders WHERE path = ?", ((path,) for path, _ in rows))
        self._change(
            "INSERT INTO folders VALUES (?, ?)", (row for row in rows if row[1] is not None)
        )

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

    def bases_in(self, folder: VaultPath) -> dict[str, Base]:
        rows = self._rows(
            SELECT_BASES + "WHERE folder = ? AND missing_since IS NULL", path_to_column(folder)
        )
        return {path_from_column(row[2]): base_from_row(row) for row in rows}

    def base_at(self, path: VaultPath) -> Base | None:
        folder, _, name = path.rpartition("/")
        rows = self._rows(
            SELECT_BASES + "WHERE folder = ? AND name = ? AND missing_since IS NULL",
            *(path_to_column(folder), path_to_column(name)),
        )
        return base_from_row(rows[0]) if rows else None

    def stamps_in(self, folder: VaultPath) -> dict[str, tuple[str, FileStamp | None]]:
        from vaultsync.storage.vault import FileStamp

        rows = self._rows(
            "SELECT name, fact_id, size, mtime_ns, ctime_ns, inode FROM bases"
            " WHERE folder = ? AND missing_since IS NULL",
            path_to_column(folder),
        )
        return {
            path_from_column(name): (
                fact_id,
                None if inode is None else FileStamp(size, mtime_ns, ctime_ns, int(inode)),
            )
            for name, fact_id, size, mtime_ns, ctime_ns, inode in rows
        }

    def missing_bases(self) -> list[Base]:
        rows = self._rows(SELECT_BASES + "WHERE missing_since IS NOT NULL ORDER BY fact_id")
        return [base_from_row(row) for row in rows]

    def iter_bases(self) -> Iterator[Base]:
        after = ""
        while rows := self._rows(
            SELECT_BASES + "WHERE fact_id > ? ORDER BY fact_id LIMIT ?",
            after,
            sqlite_file.BATCH_ROWS,
        ):
            yield from map(base_from_row, rows)
            after = rows[-1][0]

    def paths(self) -> dict[VaultPath, str]:
        found: dict[VaultPath, str] = dict(self._rows(SELECT_PATHS))
        for folder, name, fact_id in self._rows(SELECT_NON_UTF8_PATHS):
            found[path_from_columns(folder, name)] = fact_id
        return found

    def notes_by_folder(self) -> dict[VaultPath, int]:
        some = "SELECT folder, count(*) FROM bases WHERE missing_since IS NULL GROUP BY folder"
        return {path_from_column(folder): number for folder, number in self._rows(some)}

    def paths_called(self, names: Iterable[str]) -> dict[VaultPath, str]:
        found: dict[VaultPath, str] = {}
        for key in {file_key(name) for name in names}:
            for folder, name, fact_id in self._rows(SELECT_PATHS_BY_FILE, key):
                found[path_from_columns(folder, name)] = fact_id
        return found

    def last_move(self) -> int:
        rows = self._rows("SELECT seq FROM sqlite_sequence WHERE name = 'moves'")
        return rows[0][0] if rows else 0

    def moved_since(self, number: int) -> list[str]:
        rows = self._rows("SELECT fact_id FROM moves WHERE n > ? ORDER BY n", number)
        return [fact_id for (fact_id,) in rows]

    def put_bases(self, bases: Iterable[Base | PackedBase]) -> None:
        from vaultsync.storage.archive import Base

        given = list(bases)
        notes = self._notes_of([base.sha for base in given if isinstance(base, Base)])
        rows = [base_to_row(base.packed(notes.get(base.sha, b""))) for base in given]
        self._count_moves(rows)
        self._change("INSERT OR REPLACE INTO bases VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", rows)

    def put_stamps(self, stamps: Iterable[tuple[str, str, FileStamp | None]]) -> None:
        rows = [(fact_id, sha, *_stamp_to_columns(stamp)) for fact_id, sha, stamp in stamps]
        self._change(COUNT_FOUND_AGAIN, [row[:2] for row in rows])
        self._change(SET_STAMPS, rows)

    def _count_moves(self, rows: Sequence[SqlRow]) -> None:
        """Count the bases whose notes are elsewhere than before; deletions have a trigger."""
        places = ((row[0], row[1], row[2], row[9] is None) for row in rows)
        ids = json.dumps([row[0] for row in rows])
        before = set(self._rows(SELECT_PLACES_BY_ID, ids))
        self._change(
            "INSERT OR REPLACE INTO moves (fact_id) VALUES (?)",
            [(place[0],) for place in places if place not in before],
        )

    def _notes_of(self, shas: Sequence[str]) -> dict[str, bytes]:
        """The bytes that are kept of some notes."""
        found = self._rows(SELECT_BLOBS, json.dumps(shas)) if shas else ()
        return {sha: unpack_blob(data) for sha, data in found}

    def drop_bases(self, fact_ids: Iterable[str]) -> None:
        self._change("DELETE FROM bases WHERE fact_id = ?", zip(fact_ids))

    def put_blobs(self, blobs: Mapping[str, bytes]) -> None:
        rows = ((sha, pack(data)) for sha, data in blobs.items())
        self._change("INSERT OR IGNORE INTO blobs (sha, data) VALUES (?, ?)", rows)

    def blob(self, sha: str) -> bytes | None:
        rows = self._rows("SELECT data FROM blobs WHERE sha = ?", sha)
        return unpack_blob(rows[0][0]) if rows else None

    def unfinished(self) -> frozenset[str]:
        kinds = self._rows("SELECT DISTINCT kind FROM waiting")
        return frozenset(_UNFINISHED[kind] for (kind,) in kinds)

    def put_intents(self, intents: Iterable[WriteIntent]) -> None:
        self._put("intent", intents)

    def drop_intents(self, ops: Iterable[str]) -> None:
        self._forget("intent", ops)

    def intents(self) -> list[WriteIntent]:
        return [intent_from_json(body) for (body,) in self._rows(SELECT_WAITING, "intent")]

    def put_displaced_files(self, files: Iterable[DisplacedFile]) -> None:
        self._put("linger", files)

    def drop_displaced_files(self, ops: Iterable[str]) -> None:
        self._forget("linger", ops)

    def displaced_files(self) -> list[DisplacedFile]:
        from vaultsync.storage.archive import DisplacedFile

        return [
            DisplacedFile(**json.loads(body)) for (body,) in self._rows(SELECT_WAITING, "linger")
        ]

    def put_outbox(self, rows: Iterable[OutboxEntry]) -> None:
        self._put("outgoing", rows)

    def drop_outbox(self, ops: Iterable[str]) -> None:
        self._forget("outgoing", ops)

    def outbox(self) -> list[OutboxEntry]:
        from vaultsync.storage.archive import OutboxEntry

        return [
            OutboxEntry(**json.loads(body)) for (body,) in self._rows(SELECT_WAITING, "outgoing")
        ]

    def put_conflict(self, conflict: ConflictRecord) -> None:
        self._change(
            "INSERT INTO conflicts (id, fact_id, open, body) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET open = excluded.open, body = excluded.body",
            [(conflict.id, conflict.fact_id, not conflict.outcome, value_to_json(conflict))],
        )

    def conflicts(self, *, closed: bool = False) -> list[ConflictRecord]:
        which = "" if closed else "WHERE open "
        rows = self._rows(f"SELECT body FROM conflicts {which}ORDER BY n")  # noqa: S608 - ours
        return [conflict_from_json(body) for (body,) in rows]

    def put_proposal(self, proposal: ProposalRecord) -> None:
        self._change(
            "INSERT INTO proposals (id, open, body) VALUES (?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET open = excluded.open, body = excluded.body",
            [(proposal.id, proposal.is_unfinished, value_to_json(proposal))],
        )

    def find_proposal(self, proposal_id: str) -> ProposalRecord | None:
        rows = self._rows("SELECT body FROM proposals WHERE id = ?", proposal_id)
        return next((proposal_from_json(body) for (body,) in rows), None)

    def proposals(self, *, settled: bool = False) -> list[ProposalRecord]:
        which = "" if settled else "WHERE open "
        rows = self._rows(f"SELECT body FROM proposals {which}ORDER BY n")  # noqa: S608 - ours
        return [proposal_from_json(body) for (body,) in rows]

    def add_history(self, entries: Iterable[HistoryEntry]) -> None:
        self._change(
            "INSERT INTO history (run, at, fact_id, side, actor, field,"
            ' "before", "after") VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
            map(history_to_row, entries),
        )

    def history(
        self, *, fact_id: str = "", run: str = "", field: str = "", since: str = ""
    ) -> list[HistoryEntry]:
        named = {"fact_id": fact_id, "run": run, "field": field}
        asked = {key: value for key, value in named.items() if value}
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

    def last_run(self) -> RunRecord | None:
        return next(iter(self.runs(limit=1)), None)

    def _runs(self, which: str, *values: str | int) -> list[RunRecord]:
        from vaultsync.storage.archive import RunRecord

        rows = self._rows(SELECT_RUNS + which, *values)
        return [RunRecord(*row)._replace(report=json.loads(unpack_column(row[3]))) for row in rows]

    def set_notices(self, path: VaultPath, notices: Sequence[Notice]) -> None:
        place = path_to_column(path)
        self._change("DELETE FROM attention WHERE path = ?", [(place,)])
        self._change(
            "INSERT INTO attention VALUES (?, ?, ?)",
            [(place, n, value_to_json(each)) for n, each in enumerate(notices)],
        )

    def notices(self) -> list[Notice]:
        from vaultsync.storage.archive import Notice

        rows = self._rows("SELECT body FROM attention ORDER BY path, n")
        return [Notice(**json.loads(body)) for (body,) in rows]

    def erase(self, traces: Traces) -> dict[str, int]:
        """Erase facts everywhere, as an `Erasable`; blobs of other notes' bases stay."""
        erased: dict[str, int] = {}
        with self._connection() as db:
            sqlite_file.add_trace_functions(db, traces)
            db.create_function("scrubbed", 1, lambda report: scrub_report(report, traces))
            db.create_function(
                "without_ids",
                1,
                lambda value: " ".join(x for x in value.split() if x not in traces.fact_ids),
            )
            db.execute("PRAGMA secure_delete = ON")
        with self.transaction(), self._connection() as db:
            for place, statement in ARCHIVE_PLACES:
                erased[place] = db.execute(statement).rowcount
        self.compact()
        return erased

    def prune(self, since: KeepSince, *, dry_run: bool = False) -> dict[str, int]:
        """Remove what is older, as a `Prunable`, and vacuum the file when much was removed."""
        from vaultsync.storage.pruning import HISTORY_SINCE_SETTING

        named = since._asdict()
        if dry_run:
            with self._connection() as db:
                return sqlite_file.count_rows(db, PRUNED_PLACES, named)
        with self.transaction(), self._connection() as db:
            for mark in _MARKS:
                db.execute(mark, named)
            removed = sqlite_file.prune_rows(db, PRUNED_PLACES, named)
            if removed["history"]:
                self.set_setting(HISTORY_SINCE_SETTING, since.history)
        self.vacuum()
        return removed

    def iter_packed(self) -> Iterator[bytes]:
        """What is packed in rows, unpacked: a row that is long lies in pieces of its file."""
        with self._connection() as db:
            for table, column in PACKED_COLUMNS:
                rows = db.execute(f"SELECT {column} FROM {table} WHERE typeof({column}) = 'blob'")  # noqa: S608 - ours
                yield from (unpack_blob(held) for (held,) in rows)

    def vacuum(self) -> None:
        """Give the space of removed rows back, when that is a good part of the file."""
        with self._connection() as db:
            sqlite_file.vacuum(db)

    def compact(self) -> None:
        """Write the file again without what was deleted."""
        with self._connection() as db:
            sqlite_file.compact(db)

    def _give_back(self, db: sqlite3.Connection) -> None:
        """Give back what a first run needed for its intents, a third of a small archive.

        Not where others write: the next one that closes the archive does it.
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
            if self._db is None:
                message = "the archive was closed"
                raise ArchiveError(message, hint="open it again")
            try:
                yield self._db
            except sqlite3.DatabaseError as error:
                _raise_translated(error, self._path)

    def _rows(self, statement: str, *values: str | bytes | int) -> list[SqlRow]:
        with self._connection() as db:
            return db.execute(statement, values).fetchall()

    def _change(self, statement: str, rows: Iterable[SqlRow]) -> None:
        with self._connection() as db:
            if not self._writing:
                bug = "a write to the archive outside of transaction()"
                raise RuntimeError(bug)
            db.executemany(statement, rows)

    def _put(self, kind: str, rows: Iterable[WriteIntent | DisplacedFile | OutboxEntry]) -> None:
        self._change(
            "INSERT INTO waiting (kind, op, body) VALUES (?, ?, ?)"
            " ON CONFLICT (kind, op) DO UPDATE SET body = excluded.body",
            ((kind, each.op, value_to_json(each)) for each in rows),
        )

    def _forget(self, kind: str, ops: Iterable[str]) -> None:
        self._change("DELETE FROM waiting WHERE kind = ? AND op = ?", ((kind, op) for op in ops))


def _raise_translated(error: sqlite3.DatabaseError, path: str) -> NoReturn:
    """Raise an error of SQLite as `ArchiveError`: the file cannot be used, or is damaged."""
    if isinstance(error, sqlite3.OperationalError):
        why, helps = sqlite_file.explain(error, path)
        hint = helps or "see that its folder may be written and its disk has room"
        raise ArchiveError(f"the archive {path} cannot be used: {why}", hint=hint) from error
    if not sqlite_file.is_damage(error):
        raise error  # a constraint or a misuse: our bug, not a bad file
    raise ArchiveError(f"the archive {path} is damaged: {error}", hint=_DAMAGE_HINT) from error
