"""The links between notes in one SQLite file, beside the other indexes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from vaultsync.backends.sqlite import database as sqlite_file
from vaultsync.backends.sqlite.derived_file import DerivedFile
from vaultsync.links.ports import EntityRecord, LinkReference
from vaultsync.links.wikilinks import name_key
from vaultsync.storage.erasure import Traces

_COLUMNS = "fact_id, target, subpath, kind, key"


def m001_links(db: sqlite3.Connection) -> None:
    """Links by source and by the name they end in; the names of entities; the version."""
    tables = """
        CREATE TABLE version (version TEXT NOT NULL);
        CREATE TABLE links (
            fact_id TEXT NOT NULL, n INTEGER NOT NULL, name TEXT NOT NULL,
            target TEXT NOT NULL, subpath TEXT NOT NULL, kind TEXT NOT NULL,
            key TEXT NOT NULL, PRIMARY KEY (fact_id, n)) WITHOUT ROWID;
        CREATE INDEX links_by_name ON links (name, fact_id, n) WHERE name != '';
        CREATE TABLE entities (
            fact_id TEXT PRIMARY KEY, scope TEXT NOT NULL, names TEXT NOT NULL)
            WITHOUT ROWID
    """
    for statement in tables.split(";"):
        db.execute(statement)


def m002_titles(db: sqlite3.Connection) -> None:
    """What facts are called. An index without it is built again, for its version says so."""
    db.execute(
        "CREATE TABLE titles (name TEXT NOT NULL, fact_id TEXT NOT NULL,"
        " PRIMARY KEY (name, fact_id)) WITHOUT ROWID"
    )
    db.execute("CREATE INDEX titles_by_fact ON titles (fact_id)")


MIGRATIONS: tuple[sqlite_file.Migration, ...] = (m001_links, m002_titles)


class SqliteLinks(DerivedFile):
    """A `LinkIndex` in one file."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(path, MIGRATIONS, "the link index")

    def version(self) -> str | None:
        rows = self._rows("SELECT version FROM version")
        return rows[0][0] if rows else None

    def update(
        self,
        put: Mapping[str, Sequence[LinkReference]],
        drop: Iterable[str],
        *,
        version: str,
        entities: Iterable[EntityRecord] = (),
        titles: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> None:
        gone = list(drop)
        called = {(name_key(each), key) for key, many in titles.items() for each in many}
        named = [(each.fact_id, each.scope, json.dumps(each.names)) for each in entities]

        def change(db: sqlite3.Connection) -> None:
            held = _stored_links(db, put)  # most edits change no link
            fresh = {key: many for key, many in put.items() if held[key] != [*many]}
            links = (
                (fact_id, n, name_key(link.target), *link[1:])
                for fact_id, many in fresh.items()
                for n, link in enumerate(many)
            )
            old = zip((*gone, *(key for key in fresh if held[key])))
            db.executemany("DELETE FROM links WHERE fact_id = ?", old)
            db.executemany("DELETE FROM entities WHERE fact_id = ?", zip((*gone, *put)))
            db.executemany("INSERT INTO links VALUES (?, ?, ?, ?, ?, ?, ?)", links)
            db.executemany("REPLACE INTO entities VALUES (?, ?, ?)", named)
            db.executemany("DELETE FROM titles WHERE fact_id = ?", zip((*gone, *put)))
            db.executemany("INSERT INTO titles VALUES (?, ?)", sorted(called))
            db.execute("DELETE FROM version")
            db.execute("INSERT INTO version VALUES (?)", (version,))

        self._change(change)

    def clear(self) -> None:
        def change(db: sqlite3.Connection) -> None:
            for table in ("version", "links", "entities", "titles"):
                db.execute(f"DELETE FROM {table}")  # noqa: S608 - one of these four

        self._change(change)

    def links_from(self, fact_id: str) -> list[LinkReference]:
        query = f"SELECT {_COLUMNS} FROM links WHERE fact_id = ? ORDER BY n"  # noqa: S608 - a constant
        return [LinkReference(*row) for row in self._rows(query, fact_id)]

    def links_to(self, names: Iterable[str]) -> list[LinkReference]:
        wanted = json.dumps(sorted({name_key(name) for name in names} - {""}))
        query = (
            f"SELECT {_COLUMNS} FROM links WHERE name != ''"  # noqa: S608 - a constant
            " AND name IN (SELECT value FROM json_each(?)) ORDER BY fact_id, n"
        )
        return [LinkReference(*row) for row in self._rows(query, wanted)]

    def called(self, names: Iterable[str]) -> list[str]:
        wanted = json.dumps(sorted({name_key(name) for name in names} - {""}))
        rows = self._rows(
            "SELECT DISTINCT fact_id FROM titles"
            " WHERE name IN (SELECT value FROM json_each(?)) ORDER BY fact_id",
            wanted,
        )
        return [fact_id for (fact_id,) in rows]

    def entities(self) -> list[EntityRecord]:
        rows = self._rows("SELECT fact_id, scope, names FROM entities ORDER BY fact_id")
        return [EntityRecord(row[0], row[1], tuple(json.loads(row[2]))) for row in rows]

    def erase(self, traces: Traces) -> dict[str, int]:
        """Throw the file away, as an `Erasable`: it is derived, and holds texts of links."""
        with self._lock:
            held = sum(len(self.links_from(each)) for each in traces.fact_ids)
            self._throw_away()
        return {"links": held}


def _stored_links(
    db: sqlite3.Connection, fact_ids: Iterable[str]
) -> dict[str, list[LinkReference]]:
    """The links that are held of each fact, in their order."""
    found: dict[str, list[LinkReference]] = {fact_id: [] for fact_id in fact_ids}
    query = (
        f"SELECT {_COLUMNS} FROM links"  # noqa: S608 - a constant
        " WHERE fact_id IN (SELECT value FROM json_each(?)) ORDER BY fact_id, n"
    )
    for row in db.execute(query, (json.dumps(list(found)),)):
        found[row[0]].append(LinkReference(*row))
    return found
