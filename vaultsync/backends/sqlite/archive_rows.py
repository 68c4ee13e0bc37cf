"""The tables of the archive: values <-> rows. No adapter of a port."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from vaultsync.backends.sqlite import database as sqlite_file
from vaultsync.model import serialization as wire
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath

if TYPE_CHECKING:  # a question opens an archive, too, and asks for none of them
    import msgspec

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

Row: TypeAlias = tuple[Any, ...]

BASES = (
    "SELECT fact_id, folder, name, sha, revision, size, mtime_ns, ctime_ns, inode,"
    " missing_since, fact FROM bases "
)
BASES_OF_IDS = BASES + "WHERE fact_id IN (SELECT value FROM json_each(?))"  # noqa: S608 - both are ours
PLACES_OF_IDS = (
    "SELECT fact_id, folder, name FROM bases WHERE missing_since IS NULL"
    " AND fact_id IN (SELECT value FROM json_each(?))"
)
PATHS = (
    "SELECT CASE folder WHEN '' THEN name ELSE folder || '/' || name END, fact_id"
    " FROM bases WHERE typeof(folder) = 'text' AND typeof(name) = 'text'"
    " AND missing_since IS NULL"
)
ODD_PATHS = (
    "SELECT folder, name, fact_id FROM bases"
    " WHERE (typeof(folder) <> 'text' OR typeof(name) <> 'text')"
    " AND missing_since IS NULL"
)
HISTORY = 'SELECT run, at, fact_id, side, actor, field, "before", "after" FROM history '
RUNS = "SELECT run, at, kind, report FROM runs "


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


MIGRATIONS: tuple[sqlite_file.Migration, ...] = (m001_archive,)
"""In order. A name once released stays."""


def spell(path: str) -> str | bytes:
    """A path for a column: text, or bytes when it is no text.

    Names that are no Unicode hold half characters, which SQLite's text cannot.
    """
    try:
        path.encode()
    except UnicodeEncodeError:
        return path.encode("utf-8", "surrogatepass")
    return path


def read(held: str | bytes) -> VaultPath:
    """The path of a column."""
    if isinstance(held, bytes):
        held = held.decode("utf-8", "surrogatepass")
    return VaultPath(held)


def join(folder: str | bytes, name: str | bytes) -> VaultPath:
    """The path of the columns of a folder and of a name in it."""
    return VaultPath(f"{read(folder)}/{read(name)}") if folder else read(name)


def base_row(base: Base) -> Row:
    """A base in the order of its table."""
    folder, _, name = base.path.rpartition("/")
    size, mtime_ns, ctime_ns, inode = base.stamp or (None, None, None, None)
    return (
        base.fact.id,
        spell(folder),
        spell(name),
        base.sha,
        base.fact.revision,
        size,
        mtime_ns,
        ctime_ns,
        # As text: some file systems use all 64 bits, of which SQLite has but 63.
        None if inode is None else str(inode),
        base.missing_since,
        wire.line_of(base.fact),
    )


def base_of(row: Row) -> Base:
    """The base that `base_row()` made a row of."""
    from vaultsync.storage.records import Base
    from vaultsync.storage.vault import Stamp

    _, folder, name, sha, revision, size, mtime_ns, ctime_ns, inode, since, fact = row
    return Base(
        wire.from_json(fact, path=join(folder, name) or None, revision=revision),
        sha,
        None if inode is None else Stamp(size, mtime_ns, ctime_ns, int(inode)),
        since,
    )


def to_json(value: object) -> str:
    """One line of JSON for anything that the archive holds whole."""
    if value is None:
        return "null"
    try:
        return _encoder()(_plain(value)).decode()
    except UnicodeEncodeError:
        # A path that is no Unicode: JSON can hold its half characters as escapes.
        return json.dumps(_plain(value), default=_unfolded)


def intent_of(body: str) -> Intent:
    """The intent of a line of JSON."""
    from vaultsync.storage.records import Intent

    held = json.loads(body)
    values = held.pop("fact")
    path, revision = held.pop("version", None) or (values["path"], values["revision"])
    fact = wire.from_values(values, path=path, revision=revision)
    return Intent(**held, fact=fact)


def linger_of(body: str) -> Linger:
    """The linger of a line of JSON."""
    from vaultsync.storage.records import Linger

    return Linger(**json.loads(body))


def outgoing_of(body: str) -> Outgoing:
    """The queued change of a line of JSON."""
    from vaultsync.storage.records import Outgoing

    return Outgoing(**json.loads(body))


def attention_of(body: str) -> Attention:
    """The notice of a line of JSON."""
    from vaultsync.storage.records import Attention

    return Attention(**json.loads(body))


def conflict_of(body: str) -> Conflict:
    """The conflict of a line of JSON."""
    from vaultsync.notes.conflict_note import Conflict, FieldConflict

    held = json.loads(body)
    fields = tuple(FieldConflict(**each) for each in held.pop("fields"))
    return Conflict(**held, fields=fields)


def history_row(entry: HistoryEntry) -> Row:
    """An entry in the order of its table."""
    return (
        entry.run,
        entry.at,
        entry.fact_id,
        entry.side,
        entry.actor,
        entry.field,
        to_json(entry.before),
        to_json(entry.after),
    )


def history_of(row: Row) -> HistoryEntry:
    """The entry that `history_row()` made a row of."""
    from vaultsync.storage.records import HistoryEntry

    run, at, fact_id, side, actor, field, before, after = row
    return HistoryEntry(
        run, at, fact_id, side, actor, field, json.loads(before), json.loads(after)
    )


def run_of(row: Row) -> Run:
    """The pass of a row of run, time, kind and report."""
    from vaultsync.storage.records import Run

    run, at, kind, report = row
    return Run(run, at, kind, json.loads(report))


def _plain(value: object) -> object:
    """What the archive holds whole, with the fact inside it as its line, and its version."""
    if not isinstance(value, tuple) or not hasattr(value, "_asdict"):
        return value
    held: dict[str, object] = value._asdict()
    fact = held.get("fact")
    if isinstance(fact, Fact):
        held["fact"] = _raw()(wire.line_of(fact))
        held["version"] = (fact.path, fact.revision)
    return held


def _unfolded(value: object) -> object:
    if isinstance(value, _raw()):
        return json.loads(bytes(value))
    assert dataclasses.is_dataclass(value) and not isinstance(value, type)  # noqa: S101, PT018 - what else the archive holds whole
    return dataclasses.asdict(value)


@cache
def _encoder() -> Callable[[object], bytes]:
    import msgspec  # dear to load, and a question writes nothing

    return msgspec.json.Encoder(enc_hook=dict).encode  # any mapping is a map


@cache
def _raw() -> type[msgspec.Raw]:
    import msgspec  # see above

    return msgspec.Raw
