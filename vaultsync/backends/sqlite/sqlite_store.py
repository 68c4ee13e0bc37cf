"""The facts in one SQLite file, which any number of processes may use at once."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from vaultsync.backends.sqlite import database as sqlite_file
from vaultsync.errors import DamagedFactError, FactNotFoundError, StoreError, StoreUnavailableError
from vaultsync.model import serialization as wire
from vaultsync.model.fact import Fact
from vaultsync.storage.clock import Clock, time_text
from vaultsync.storage.store import (
    AccessCount,
    DamagedRows,
    FeedRow,
    ReplacedVersion,
    RevisionMismatch,
    StoreState,
    StoreWrite,
    with_accesses,
)

if TYPE_CHECKING:  # questions neither erase nor prune
    from vaultsync.storage.archive import KeepSince
    from vaultsync.storage.erasure import Traces

_LOG_PAGES = 250
"""A short log is reused soon instead of growing, which makes small writes fast."""
_BY_ID = {
    (False, False): "WHERE id > ? AND deleted = 0 ORDER BY id LIMIT ?",
    (True, False): "WHERE id < ? AND deleted = 0 ORDER BY id DESC LIMIT ?",
    (False, True): "WHERE id > ? AND deleted = 1 AND body IS NOT NULL ORDER BY id LIMIT ?",
    (True, True): "WHERE id < ? AND deleted = 1 AND body IS NOT NULL ORDER BY id DESC LIMIT ?",
}
"""(newest first, deleted facts) -> the query for the rows."""
_FIRST_ROWS = 32
"""Number of facts read first, doubled each time, because most readers need only one page."""
_AFTER_ALL_IDS = "g"
"""Greater than every id, whose digits are hexadecimal."""
_DAMAGE_HINT = (
    "restore the store from a backup, or move it away and create a new one from the"
    " vault: `vaultsync rebuild --from vault`"
)
_SELECT_STATE = (
    "SELECT store_id, seq, facts,"
    " coalesce((SELECT revision FROM log WHERE log.seq = store.seq), '') FROM store"
)
_SELECT_FEED = "SELECT seq, id, revision, deleted, actor, at FROM facts "
_SELECT_FACTS = (
    "SELECT revision, CAST(body AS BLOB), times, used, id"
    " FROM facts LEFT JOIN accesses ON fact_id = id "
)
SELECT_REPLACED = (
    "SELECT seq, revision, CAST(body AS BLOB), actor, at, fact_id FROM revisions"
    " WHERE seq > ? AND fact_id IN (SELECT value FROM json_each(?)) ORDER BY seq LIMIT ?"
)
_SELECT_REPLACED_IDS = "SELECT fact_id FROM revisions GROUP BY fact_id ORDER BY min(seq)"
_DROP_REPLACED = "DELETE FROM revisions WHERE revision IN (SELECT value FROM json_each(?))"
_SOME = "WHERE id IN (SELECT value FROM json_each(?)) AND deleted = 0"
_SELECT_IDS = "SELECT id FROM facts WHERE id IN (SELECT value FROM json_each(?)) AND deleted = 0"
_SELECT_OPS = "SELECT id, op FROM facts WHERE id IN (SELECT value FROM json_each(?)) AND op <> ''"
_COUNT = """
    INSERT INTO accesses (fact_id, times, used, last_op)
    SELECT id,
        max(coalesce(json_extract(body, '$.accessCount'), 0), coalesce(times, 0)) + ?2,
        max(coalesce(json_extract(body, '$.lastAccessedAt'), ''), coalesce(used, ''), ?3),
        ?4
    FROM facts LEFT JOIN accesses ON fact_id = id
    WHERE id = ?1 AND deleted = 0 AND json_valid(body) AND last_op IS NOT ?4
    ON CONFLICT (fact_id) DO UPDATE SET times = excluded.times, used = excluded.used, last_op = ?4
"""
_KEEP = """
    INSERT OR IGNORE INTO revisions (seq, fact_id, revision, actor, at, body)
    SELECT seq, id, revision, actor, at, body FROM facts
    WHERE id = ? AND deleted = 0 AND body IS NOT ? AND json_valid(body)
"""
_WRITE = """
    INSERT INTO facts
        (id, seq, revision, deleted, actor, at, op, type, scope, status, body)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET
        seq = excluded.seq,
        revision = excluded.revision,
        deleted = excluded.deleted,
        actor = excluded.actor,
        at = excluded.at,
        op = coalesce(excluded.op, op),
        type = coalesce(excluded.type, type),
        scope = coalesce(excluded.scope, scope),
        status = coalesce(excluded.status, status),
        body = coalesce(excluded.body, CASE WHEN json_valid(body) THEN body END)
"""
"""A tombstone does not keep a damaged body."""

STORE_PLACES: tuple[tuple[str, str], ...] = (
    (
        "tombstones",
        (
            "UPDATE facts SET body = NULL, type = NULL, scope = NULL, status = NULL, op = NULL,"
            " actor = '' WHERE is_erased(id) AND deleted = 1"
        ),
    ),
    ("counts", "DELETE FROM accesses WHERE is_erased(fact_id)"),
    ("replaced versions", "DELETE FROM revisions WHERE is_erased(fact_id)"),
)
"""The tables that contain data of a fact, and how to erase it there. A tombstone keeps its id,
number, revision and time, from which other machines learn of the deletion. A new table needs a
row here."""
TOMBSTONE_IDS = 3
"""Number of times that a tombstone's id is in the file: in its row, and in two indexes."""

LOGGED_WRITES = 10_000
"""Number of newest writes whose revisions are kept, besides the last one of each fact, so that an
archive recognises its store."""
PRUNED_PLACES: tuple[tuple[str, str, str], ...] = (
    ("tombstones", "facts", "deleted = 1 AND at < :tombstones"),
    ("counts", "accesses", "fact_id NOT IN (SELECT id FROM facts)"),
    (
        "logged writes",
        "log",
        f"seq <= (SELECT seq FROM store) - {LOGGED_WRITES} AND"  # noqa: ISC004, S608 - ours
        " seq NOT IN (SELECT seq FROM facts)",
    ),
)
"""Data that is pruned when old: its name, its table, and a condition. A new table that grows
needs a row here."""


def m001_facts(db: sqlite3.Connection) -> None:
    """Facts and their counter. A tombstone is a row that keeps its body."""
    db.execute("CREATE TABLE store (store_id TEXT, seq INTEGER, facts INTEGER)")
    db.execute("INSERT INTO store VALUES (?, 0, 0)", (os.urandom(16).hex(),))
    # The body is the last column, so that the feed never reads its overflow pages.
    db.execute(
        "CREATE TABLE facts (id TEXT PRIMARY KEY, seq INTEGER NOT NULL UNIQUE,"
        " revision TEXT NOT NULL, deleted INTEGER NOT NULL, actor TEXT NOT NULL,"
        " at TEXT NOT NULL, type TEXT, scope TEXT, status TEXT, body TEXT)"
    )


def m002_log(db: sqlite3.Connection) -> None:
    """The revision of every write, including replaced ones."""
    db.execute("CREATE TABLE log (seq INTEGER PRIMARY KEY, revision TEXT NOT NULL)")
    db.execute("INSERT INTO log SELECT seq, revision FROM facts")


def m003_ops(db: sqlite3.Connection) -> None:
    """The id of a fact's last write that had one. Only `last_ops()` reads it."""
    db.execute("ALTER TABLE facts ADD COLUMN op TEXT")


def m004_accesses(db: sqlite3.Connection) -> None:
    """Usage counts, beside the facts; the count in a body is used if it is larger."""
    db.execute(
        "CREATE TABLE accesses (fact_id TEXT PRIMARY KEY, times INTEGER NOT NULL,"
        " used TEXT NOT NULL, last_op TEXT NOT NULL)"
    )


def m005_revisions(db: sqlite3.Connection) -> None:
    """Versions that were replaced before any archive recorded them."""
    db.execute(
        "CREATE TABLE revisions (seq INTEGER PRIMARY KEY, fact_id TEXT NOT NULL,"
        " revision TEXT NOT NULL UNIQUE, actor TEXT NOT NULL, at TEXT NOT NULL, body TEXT)"
    )


def m006_tombstones(db: sqlite3.Connection) -> None:
    """Tombstones by id, so that they are counted without reading other rows."""
    db.execute("CREATE INDEX tombstones ON facts (id) WHERE deleted = 1")


def m007_revisions_by_fact(db: sqlite3.Connection) -> None:
    """Replaced versions by fact, so that those of some facts are found without reading all."""
    db.execute("CREATE INDEX revisions_by_fact ON revisions (fact_id, seq)")


MIGRATIONS: tuple[sqlite_file.Migration, ...] = (
    *(m001_facts, m002_log, m003_ops),
    *(m004_accesses, m005_revisions, m006_tombstones, m007_revisions_by_fact),
)
"""In order. A name once released stays."""


class SqliteStore:
    """A `Store` in one file, with a write-ahead log; every commit is durable.

    The first call opens the file, which may disappear and come back. Another file in its
    place is used only if it is the same store. Each use calls `check_use()`, which may raise.
    """

    def __init__(self, path: str | Path, *, clock: Clock, create: bool) -> None:
        """Use the file at `path`; with `create`, the first call creates a missing file."""
        self._path = Path(path).absolute()
        self._clock = clock
        self._create = create
        self.check_use: Callable[[], None] = lambda: None
        self._lock = threading.RLock()
        self._db: sqlite3.Connection | None = None
        self._place: sqlite_file.FileIdentity | None = None
        self._store_id = ""
        self._closed = False
        self._damaged = DamagedRows()

    def state(self) -> StoreState:
        return StoreState(*self._rows(_SELECT_STATE)[0])

    def feed(self, since: int = 0) -> list[FeedRow]:
        same: dict[str, str] = {}  # shares equal strings of few actors and times
        with self._connection() as db:
            rows = db.execute(_SELECT_FEED + "WHERE seq > ? ORDER BY seq", (since,))
            return [
                FeedRow(
                    seq, key, revision, bool(gone), same.setdefault(by, by), same.setdefault(at, at)
                )
                for seq, key, revision, gone, by, at in rows
            ]

    def last_write(self, fact_id: str) -> FeedRow | None:
        rows = self._rows(_SELECT_FEED + "WHERE id = ?", fact_id)
        found = (FeedRow(n, key, revision, bool(x), by, at) for n, key, revision, x, by, at in rows)
        return next(found, None)

    def revision_at(self, seq: int) -> str | None:
        rows = self._rows("SELECT revision FROM log WHERE seq = ?", seq)
        return rows[0][0] if rows else None

    def get(self, fact_id: str) -> Fact:
        rows = self._rows(_SELECT_FACTS + "WHERE id = ? AND deleted = 0", fact_id)
        if not rows:
            raise FactNotFoundError(fact_id)
        fact = self._fact(rows[0])
        if fact is None:
            raise DamagedFactError(fact_id, self.damaged()[fact_id])
        return fact

    def find_many(self, fact_ids: Iterable[str]) -> dict[str, Fact]:
        if not (wanted := list(fact_ids)):
            return {}
        with self._connection() as db:
            facts = map(self._fact, db.execute(_SELECT_FACTS + _SOME, (json.dumps(wanted),)))
            return {fact.id: fact for fact in facts if fact is not None}

    def tombstone(self, fact_id: str) -> Fact | None:
        rows = self._rows(_SELECT_FACTS + "WHERE id = ? AND deleted = 1", fact_id)
        read = self._damaged.read
        return read(fact_id, lambda x: _fact(x) if x[1] else None, rows[0]) if rows else None

    def damaged(self) -> Mapping[str, str]:
        return self._damaged.reasons

    def _fact(self, row: tuple[Any, ...]) -> Fact | None:
        return self._damaged.read(row[-1], _fact, row)

    def iter_facts(
        self, after: str = "", *, newest: bool = False, deleted: bool = False
    ) -> Iterator[Fact]:
        select = _SELECT_FACTS + _BY_ID[newest, deleted]
        after = after or (_AFTER_ALL_IDS if newest else "")
        number = _FIRST_ROWS
        while rows := self._rows(select, after, number):
            yield from (fact for row in rows if (fact := self._fact(row)) is not None)
            after, number = rows[-1][-1], min(2 * number, sqlite_file.BATCH_ROWS)

    def write(self, writes: Sequence[StoreWrite]) -> list[str | RevisionMismatch]:
        at = time_text(self._clock.now())
        # Prepared before the file is locked, because other processes wait for the lock.
        columns = [_columns(each.fact) for each in writes]
        with self._transaction() as db:
            return _write_all(db, writes, columns, at=at)

    def last_ops(self, fact_ids: Iterable[str]) -> dict[str, str]:
        return dict(self._rows(_SELECT_OPS, json.dumps([*fact_ids])))

    def erase(self, traces: Traces) -> dict[str, int]:
        """Erase the texts of tombstones, as an `Erasable`; existing facts are kept."""
        with self._connection() as db:
            sqlite_file.prepare_erasure(db, traces)
        with self._transaction() as db:
            erased = {name: db.execute(sql).rowcount for name, sql in STORE_PLACES}
        with self._connection() as db:
            sqlite_file.compact(db)
        return erased

    def prune(self, since: KeepSince, *, dry_run: bool = False) -> dict[str, int]:
        """Remove what is older, and give its space back; or only count it.

        Returns:
            How many rows of each kind.
        """
        named = since._asdict()
        if dry_run:
            with self._connection() as db:
                return sqlite_file.old_rows(db, PRUNED_PLACES, named, delete=False)
        with self._transaction() as db:
            removed = sqlite_file.old_rows(db, PRUNED_PLACES, named, delete=True)
        with self._connection() as db:
            sqlite_file.vacuum(db)
        return removed

    def count_accesses(self, counts: Mapping[str, AccessCount], op: str) -> int:
        if not counts:
            return 0
        with self._transaction() as db:
            db.executemany(_COUNT, [(key, *count, op) for key, count in counts.items()])
            return len(db.execute(_SELECT_IDS, (json.dumps(list(counts)),)).fetchall())

    def replaced_ids(self) -> list[str]:
        return [fact_id for (fact_id,) in self._rows(_SELECT_REPLACED_IDS)]

    def replaced_versions(self, fact_ids: Iterable[str]) -> list[ReplacedVersion]:
        found: list[ReplacedVersion] = []
        some = json.dumps(list(fact_ids))
        damaged, after = DamagedRows(), 0  # the fact itself may be intact
        while rows := self._rows(SELECT_REPLACED, after, some, sqlite_file.BATCH_ROWS):
            for seq, revision, body, actor, at, fact_id in rows:
                fact = damaged.read(fact_id, _stored_fact, body, revision)
                if fact is not None:
                    found.append(ReplacedVersion(seq, fact, actor, at))
            after = rows[-1][0]
        return found

    def drop_replaced(self, revisions: Iterable[str]) -> None:
        if names := list(revisions):
            with self._transaction() as db:
                db.execute(_DROP_REPLACED, (json.dumps(names),))

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._disconnect()

    def _rows(self, statement: str, *values: str | int | None) -> list[tuple[Any, ...]]:
        with self._connection() as db:
            return db.execute(statement, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._connection() as db:
            with sqlite_file.transaction(db):
                self.check_use()  # again: while it waited, a migration may have left this store
                yield db
            self._check_place()  # again: what was written into a file without a name is lost

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                yield self._open()
            except sqlite3.DatabaseError as error:
                if self._db is not None and sqlite_file.was_migrated(self._db, MIGRATIONS):
                    raise self._newer() from error
                self._raise_translated(error)
            except OSError as error:
                self._raise_translated(error)

    def _raise_translated(self, error: OSError | sqlite3.DatabaseError) -> NoReturn:
        if isinstance(error, (OSError, sqlite3.OperationalError)):
            why, helps = sqlite_file.explain(error, self._path)
            raise StoreUnavailableError(f"{self._path}: {why}", helps=helps) from error
        if not sqlite_file.is_damage(error):
            raise error  # a constraint or a misuse: our bug, not a bad file
        why = f"{self._path} is damaged: {error}"
        raise StoreUnavailableError(why, helps=_DAMAGE_HINT) from error

    def _newer(self) -> StoreError:
        message = f"{self._path} is a store of a newer vaultsync"
        hint = "update vaultsync on this machine, and restart the programs that use it"
        return StoreError(message, hint=hint)

    def _open(self) -> sqlite3.Connection:
        """The open file, which is reopened if another file has its name."""
        if self._closed:
            why = "it was closed"
            raise StoreUnavailableError(why, helps="open it again")
        self.check_use()
        if self._create:
            sqlite_file.make_private(self._path)
        if self._db is None:
            self._db = self._connect()
            self._place = sqlite_file.file_identity(self._path)
            self._create = False
        else:
            self._check_place()
        return self._db

    def _check_place(self) -> None:
        if self._place != sqlite_file.file_identity(self._path):
            self._disconnect()
            why = f"{self._path} was replaced by another file"
            raise StoreUnavailableError(why)

    def _connect(self) -> sqlite3.Connection:
        db, schema = sqlite_file.open_migrated(
            self._path, MIGRATIONS, create=self._create, log_pages=_LOG_PAGES
        )
        try:
            self._check(db, schema)
        except BaseException:
            db.close()
            raise
        return db

    def _check(self, db: sqlite3.Connection, schema: str) -> None:
        if schema == "newer":
            raise self._newer()
        why = f"{self._path} holds no store"
        if schema == "ready":
            (store_id,) = db.execute("SELECT store_id FROM store").fetchone()
            if self._store_id in ("", store_id):
                self._store_id = store_id
                return
            why = f"{self._path} was replaced by another store"
        raise StoreUnavailableError(why)

    def _disconnect(self) -> None:
        if self._db is not None:
            sqlite_file.close_file(self._db, self._path, self._place)
        self._db = None


def _write_all(
    db: sqlite3.Connection,
    writes: Sequence[StoreWrite],
    columns: Sequence[tuple[str | None, ...]],
    *,
    at: str,
) -> list[str | RevisionMismatch]:
    seq, facts = db.execute("SELECT seq, facts FROM store").fetchone()
    known = _revisions(db, [write.fact_id for write in writes])
    answers: list[str | RevisionMismatch] = []
    refused = set()
    rows, log = [], []
    kept: dict[str, tuple[str, str | None] | None] = {}
    for write, texts in zip(writes, columns, strict=True):
        found, deleted = known.get(write.fact_id, (None, True))
        if found != write.expect or write.needs in refused:
            refused.add(write.fact_id)
            answers.append(RevisionMismatch(write.fact_id, found))
            continue
        seq += 1
        # It counts only versions of the fact: agents see it, and must not learn how
        # often others write. A restored store counts the same again; the random part differs.
        version = int((found or "0").partition("-")[0]) + 1
        revision = f"{version}-{os.urandom(4).hex()}"
        gone = write.fact is None
        facts += deleted - gone
        known[write.fact_id] = (revision, gone)
        source = (write.actor, at, write.op or None)
        rows.append((write.fact_id, seq, revision, gone, *source, *texts))
        # Of the versions that a batch replaces, only earlier ones were ever visible.
        kept.setdefault(write.fact_id, None if write.recorded else (write.fact_id, texts[-1]))
        log.append((seq, revision))
        answers.append(revision)
    db.executemany(_KEEP, filter(None, kept.values()))
    db.executemany(_WRITE, rows)
    db.executemany("INSERT INTO log VALUES (?, ?)", log)
    if rows:
        db.execute("UPDATE store SET seq = ?, facts = ?", (seq, facts))
    return answers


def _revisions(
    db: sqlite3.Connection, fact_ids: Sequence[str]
) -> dict[str, tuple[str | None, bool]]:
    """Fact id -> its revision, and whether it is a tombstone."""
    rows = db.execute(
        "SELECT id, revision, deleted FROM facts WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(fact_ids),),
    )
    return {row[0]: (row[1], row[2]) for row in rows}


def _columns(fact: Fact | None) -> tuple[str | None, ...]:
    if fact is None:
        return (None, None, None, None)
    return (fact.type, fact.scope, fact.status, wire.fact_line(fact).decode())


def _fact(row: tuple[Any, ...]) -> Fact:
    revision, body, times, used, _ = row
    fact = _stored_fact(body, revision)
    return fact if times is None else with_accesses(fact, AccessCount(times, used))


def _stored_fact(body: str, revision: str) -> Fact:
    return wire.fact_from_stored_values(msgspec.json.decode(body), revision=revision)
