"""The tables of the archive, and its records as their rows."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import msgspec

from vaultsync.backends.sqlite import database as sqlite_file
from vaultsync.errors import ArchiveError
from vaultsync.model import serialization as wire
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.storage.packed_bytes import MIN_PACKED_BYTES, PackedBytes, pack, unpack

if TYPE_CHECKING:  # recall in a new process does not need them: 6 of its 110 ms
    from vaultsync.storage.archive import Base, HistoryEntry, PackedBase, WriteIntent
    from vaultsync.storage.vault import FileStamp


encode_json = msgspec.json.Encoder(enc_hook=dict).encode  # any mapping is a map
SqlRow: TypeAlias = tuple[Any, ...]

DAMAGE_HINT = "move it away; the next run rebuilds it from both sides without deleting anything"
PACKED_COLUMNS = (("blobs", "data"), ("bases", "fact"), ("runs", "report"))
"""The columns that are packed if that makes them shorter; a packed text is a blob to SQLite."""


def pack_column(held: str | bytes) -> str | bytes:
    """Text or bytes as stored in a column of `PACKED_COLUMNS`."""
    data = held.encode() if isinstance(held, str) else held
    packed = pack(data)
    return held if packed is data else packed


def unpack_column(held: str | bytes) -> str | bytes:
    """The inverse of `pack_column()`, except that text may be returned as bytes.

    Raises ArchiveError: the data is damaged.
    """
    return unpack_blob(held) if isinstance(held, bytes) else held


def unpack_blob(held: bytes) -> bytes:
    """The same for binary data."""
    try:
        return unpack(held)
    except ValueError as error:
        _raise_damaged(error)


def _raise_damaged(error: ValueError) -> NoReturn:
    message = f"the archive is damaged: {error}"
    raise ArchiveError(message, hint=DAMAGE_HINT) from error


def m001_archive(db: sqlite3.Connection) -> None:
    """All tables."""
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
    """The time since which no base, write or deletion needs a blob."""
    db.execute("ALTER TABLE blobs ADD COLUMN unused_since TEXT")
    db.execute("CREATE INDEX blobs_unused ON blobs (unused_since)")


def m003_packed(db: sqlite3.Connection) -> None:
    """Pack bytes of notes, facts of bases and reports if that is shorter."""
    db.create_function("packed", 1, pack_column)
    for table, column in PACKED_COLUMNS:
        db.execute(
            f"UPDATE {table} SET {column} = packed({column})"  # noqa: S608 - ours
            f" WHERE length({column}) >= {MIN_PACKED_BYTES}"
        )


def m004_file_names(db: sqlite3.Connection) -> None:
    """The name by which links refer to a note, to find its fact without reading all paths."""
    db.create_function("file_key", 1, file_key)
    db.execute("ALTER TABLE bases ADD COLUMN file_key")
    db.execute("UPDATE bases SET file_key = file_key(name)")
    db.execute("CREATE INDEX bases_by_file ON bases (file_key)")


def m005_moves(db: sqlite3.Connection) -> None:
    """The order in which notes were added, moved or removed, which tables follow."""
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
    """Changes that the user has to decide about."""
    db.execute(
        "CREATE TABLE proposals (n INTEGER PRIMARY KEY, id TEXT UNIQUE,"
        " open INTEGER NOT NULL, body TEXT NOT NULL)"
    )
    db.execute("CREATE INDEX proposals_open ON proposals (n) WHERE open")


def m007_moves_in_bulk(db: sqlite3.Connection) -> None:
    """Drop the trigger, with which SQLite copies each page that an INSERT changes."""
    db.execute("DROP TRIGGER base_moved")


def m008_texts_once(db: sqlite3.Connection) -> None:
    """The fact of a base refers to the bytes of its note, which are a blob."""

    def beside(held: str | bytes, note: bytes | None) -> str | bytes:
        if note is None:
            return held
        fact = wire.fact_from_json(unpack_column(held))
        return pack_column(wire.fact_line_beside(fact, unpack_blob(note)).decode())

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
"""In order. Names must not change after a release."""


def file_key(name: str) -> str:
    """The key of a file name, by which links find it."""
    from vaultsync.links.wikilinks import name_key

    return name_key(name)


def path_from_columns(folder: str, name: str) -> VaultPath:
    """The path of the columns of a folder and of a name in it."""
    return VaultPath(f"{folder}/{name}" if folder else name)


def base_to_row(base: PackedBase) -> SqlRow:
    """A base as a row of its table."""
    fact_id, revision, path, line, sha, stamp, missing_since = base
    folder, _, name = path.rpartition("/")
    return (
        fact_id,
        folder,
        name,
        sha,
        revision,
        *stamp_to_columns(stamp),
        missing_since,
        line if isinstance(line, PackedBytes) else line.decode(),
        file_key(name),
    )


def stamp_to_columns(stamp: FileStamp | None) -> SqlRow:
    """The four columns of a stamp; the inode as text, because SQLite's integers have 63 bits."""
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
    """One line of JSON for a record that the archive stores as a whole."""
    try:
        return encode_json(_plain(value)).decode()
    except UnicodeEncodeError:
        # A message has a path outside the vault that is not valid Unicode.
        return json.dumps(_plain(value), default=dict)


def intent_from_json(body: str) -> WriteIntent:
    """The intent of a line of JSON."""
    from vaultsync.storage.archive import WriteIntent

    held = json.loads(body)
    values = held.pop("fact")
    path, revision = held.pop("version", None) or (values["path"], values["revision"])
    fact = wire.fact_from_values(values, path=path, revision=revision)
    return WriteIntent(**held, fact=fact)


def history_to_row(entry: HistoryEntry) -> SqlRow:
    """An entry as a row of its table."""
    return (*entry[:-2], value_to_json(entry.before), value_to_json(entry.after))


def history_from_row(row: SqlRow) -> HistoryEntry:
    """The inverse of `history_to_row()`."""
    from vaultsync.storage.archive import HistoryEntry

    return HistoryEntry(*row[:-2], *map(json.loads, row[-2:]))


def _plain(value: object) -> object:
    """A record as a map, with its fact as a line and a version."""
    if not isinstance(value, tuple) or not hasattr(value, "_asdict"):
        return value
    held: dict[str, object] = value._asdict()
    fact = held.get("fact")
    if isinstance(fact, Fact):
        held["fact"] = msgspec.Raw(wire.fact_line(fact))
        held["version"] = (fact.path, fact.revision)
    return held
