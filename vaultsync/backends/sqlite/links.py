"""The links between notes in one SQLite file, beside the other indexes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from vaultsync.backends.sqlite import database as sqlite_file
from vaultsync.backends.sqlite.derived_file import DerivedFile
from vaultsync.links.ports import EntityRecord, LinkReference
from vaultsync.links.wikilinks import name_key

_GIVEN = "IN (SELECT value FROM json_each(?))"
_SELECT = (
    "SELECT facts.id, text, subpath, kind, key FROM links"
    " JOIN targets ON targets.n = links.target JOIN facts ON facts.n = links.fact"
)
_SELECT_CALLED = "SELECT DISTINCT id FROM titles JOIN facts ON facts.n = titles.fact"


def m001_numbered(db: sqlite3.Connection) -> None:
    """Links by source and by target name; titles; the names of entities; the version.

    Facts and targets are numbered, because most are in many links: this takes a third of the bytes.
    """
    tables = """
        CREATE TABLE version (version TEXT NOT NULL);
        CREATE TABLE facts (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE);
        CREATE TABLE targets (n INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE, name TEXT NOT NULL);
        CREATE INDEX targets_by_name ON targets (name) WHERE name != '';
        CREATE TABLE links (
            fact INTEGER NOT NULL, at INTEGER NOT NULL, target INTEGER NOT NULL,
            subpath TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL,
            PRIMARY KEY (fact, at)) WITHOUT ROWID;
        CREATE INDEX links_by_target ON links (target);
        CREATE TABLE titles (
            name TEXT NOT NULL, fact INTEGER NOT NULL, PRIMARY KEY (name, fact)) WITHOUT ROWID;
        CREATE INDEX titles_by_fact ON titles (fact);
        CREATE TABLE entities (
            fact_id TEXT PRIMARY KEY, scope TEXT NOT NULL, names TEXT NOT NULL) WITHOUT ROWID
    """
    for statement in tables.split(";"):
        db.execute(statement)


MIGRATIONS: tuple[sqlite_file.Migration, ...] = (m001_numbered,)
_TABLES = ("version", "links", "targets", "titles", "entities", "facts")


class SqliteLinks(DerivedFile):
    """A `LinkIndex` in one file."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(path, MIGRATIONS, "the link index")

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
        named = [(each.fact_id, each.scope, json.dumps(each.names)) for each in entities]

        def change(db: sqlite3.Connection) -> None:
            held = _stored_links(db, put)  # most edits change no link
            fresh = {key: many for key, many in put.items() if held[key] != [*many]}
            facts = _numbered(db, "facts", "id", {*gone, *put, *titles})
            targets = _numbered(
                db, "targets", "text", {link.target for many in fresh.values() for link in many}
            )
            links = (
                (facts[fact_id], at, targets[link.target], link.subpath, link.kind, link.key)
                for fact_id, many in fresh.items()
                for at, link in enumerate(many)
            )
            old = zip(facts[key] for key in (*gone, *(key for key in fresh if held[key])))
            db.executemany("DELETE FROM links WHERE fact = ?", old)
            db.executemany("DELETE FROM entities WHERE fact_id = ?", zip((*gone, *put)))
            db.executemany("INSERT INTO links VALUES (?, ?, ?, ?, ?, ?)", links)
            db.executemany("REPLACE INTO entities VALUES (?, ?, ?)", named)
            called = {(name_key(each), facts[key]) for key, many in titles.items() for each in many}
            db.executemany(
                "DELETE FROM titles WHERE fact = ?", zip(facts[key] for key in (*gone, *put))
            )
            db.executemany("INSERT INTO titles VALUES (?, ?)", sorted(called))
            db.executemany("DELETE FROM facts WHERE id = ?", zip(gone))
            db.execute("DELETE FROM version")
            db.execute("INSERT INTO version VALUES (?)", (version,))

        self._change(change)

    def clear(self) -> None:
        def change(db: sqlite3.Connection) -> None:
            for table in _TABLES:
                db.execute(f"DELETE FROM {table}")  # noqa: S608 - one of these

        self._change(change)

    def links_from(self, fact_id: str) -> list[LinkReference]:
        rows = self._rows(f"{_SELECT} WHERE facts.id = ? ORDER BY at", fact_id)
        return [LinkReference(*row) for row in rows]

    def links_to(self, names: Iterable[str]) -> list[LinkReference]:
        query = f"{_SELECT} WHERE name != '' AND name {_GIVEN} ORDER BY facts.id, at"
        same: dict[str, str] = {}  # thousands of links to a hub have few different texts
        rows = self._rows(query, _keys(names))
        return [LinkReference(*(same.setdefault(each, each) for each in row)) for row in rows]

    def called(self, names: Iterable[str]) -> list[str]:
        rows = self._rows(f"{_SELECT_CALLED} WHERE name {_GIVEN} ORDER BY id", _keys(names))
        return [fact_id for (fact_id,) in rows]

    def entities(self) -> list[EntityRecord]:
        rows = self._rows("SELECT fact_id, scope, names FROM entities ORDER BY fact_id")
        return [EntityRecord(row[0], row[1], tuple(json.loads(row[2]))) for row in rows]

    def _compact(self, db: sqlite3.Connection) -> None:
        db.execute("DELETE FROM targets WHERE n NOT IN (SELECT target FROM links)")
        super()._compact(db)


def _keys(names: Iterable[str]) -> str:
    """The folded names as a list of JSON."""
    return json.dumps(sorted({name_key(name) for name in names} - {""}))


def _numbered(
    db: sqlite3.Connection, table: str, column: str, values: Collection[str]
) -> Mapping[str, int]:
    """The numbers of facts or targets; new ones get a number."""
    query = f"SELECT {column}, n FROM {table} WHERE {column} {_GIVEN}"  # noqa: S608 - ours
    found = dict(db.execute(query, (json.dumps(list(values)),)))
    new = [each for each in values if each not in found]
    if table == "targets":
        rows = [(each, name_key(each)) for each in new]
        db.executemany("INSERT INTO targets (text, name) VALUES (?, ?)", rows)
    else:
        db.executemany("INSERT INTO facts (id) VALUES (?)", zip(new))
    return found | dict(db.execute(query, (json.dumps(new),))) if new else found


def _stored_links(
    db: sqlite3.Connection, fact_ids: Iterable[str]
) -> dict[str, list[LinkReference]]:
    """The stored links of each fact, in order."""
    found: dict[str, list[LinkReference]] = {fact_id: [] for fact_id in fact_ids}
    query = f"{_SELECT} WHERE facts.id {_GIVEN} ORDER BY facts.id, at"
    for row in db.execute(query, (json.dumps(list(found)),)):
        found[row[0]].append(LinkReference(*row))
    return found
