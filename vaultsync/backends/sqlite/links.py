"""The links between notes in one SQLite file, beside the other indexes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

from vaultsync.backends.sqlite import database as sqlite_file
from vaultsync.backends.sqlite.derived_file import GIVEN, DerivedFile
from vaultsync.links.ports import EntityRecord, LinkedFact, LinkReference
from vaultsync.links.wikilinks import name_key

_SELECT = (
    "SELECT facts.id, text, subpath, kind, key FROM links"
    " JOIN targets ON targets.n = links.target JOIN facts ON facts.n = links.fact"
)
_SAY = (
    "INSERT INTO facts (id, scope, names) VALUES (?, ?, ?)"
    " ON CONFLICT (id) DO UPDATE SET scope = excluded.scope, names = excluded.names"
)
_AIM = "INSERT OR IGNORE INTO targets (text, name) VALUES (?, ?)"
_SELECT_CALLED = "SELECT DISTINCT id FROM titles JOIN facts ON facts.n = titles.fact"


def m001_facts(db: sqlite3.Connection) -> None:
    """Facts with their names, links by source and by target name, titles; the version.

    Facts and targets are numbered, because most are in many links: this takes a third of the bytes.
    """
    tables = """
        CREATE TABLE version (version TEXT NOT NULL);
        CREATE TABLE facts (
            n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, scope TEXT NOT NULL,
            names TEXT NOT NULL);
        CREATE INDEX facts_entities ON facts (id) WHERE scope != '';
        CREATE TABLE targets (n INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE, name TEXT NOT NULL);
        CREATE INDEX targets_by_name ON targets (name) WHERE name != '';
        CREATE TABLE links (
            fact INTEGER NOT NULL, at INTEGER NOT NULL, target INTEGER NOT NULL,
            subpath TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL,
            PRIMARY KEY (fact, at)) WITHOUT ROWID;
        CREATE INDEX links_by_target ON links (target);
        CREATE TABLE titles (
            name TEXT NOT NULL, fact INTEGER NOT NULL, PRIMARY KEY (name, fact)) WITHOUT ROWID;
        CREATE INDEX titles_by_fact ON titles (fact)
    """
    for statement in tables.split(";"):
        db.execute(statement)


MIGRATIONS: tuple[sqlite_file.Migration, ...] = (m001_facts,)
_TABLES = ("version", "links", "targets", "titles", "facts")


class SqliteLinks(DerivedFile):
    """A `LinkIndex` in one file."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(path, MIGRATIONS, "the link index")

    def update(self, put: Sequence[LinkedFact], drop: Iterable[str], *, version: str) -> None:
        gone = list(drop)
        values = [(each.id, each.entity_scope, json.dumps(each.names)) for each in put]

        texts = sorted({link.target for each in put for link in each.links})
        with self._updating() as db:
            db.executemany(_SAY, values)
            db.executemany(_AIM, [(each, name_key(each)) for each in texts])
            facts = _numbers(db, "facts", "id", [*gone, *(each.id for each in put)])
            targets = _numbers(db, "targets", "text", texts)
            links = (
                (facts[each.id], at, targets[link.target], link.subpath, link.kind, link.key)
                for each in put
                for at, link in enumerate(each.links)
            )
            called = {(name_key(name), facts[each.id]) for each in put for name in each.names}
            db.executemany("DELETE FROM links WHERE fact = ?", zip(facts.values()))
            db.executemany("INSERT INTO links VALUES (?, ?, ?, ?, ?, ?)", links)
            db.executemany("DELETE FROM titles WHERE fact = ?", zip(facts.values()))
            db.executemany("INSERT INTO titles VALUES (?, ?)", sorted(called))
            db.executemany("DELETE FROM facts WHERE id = ?", zip(gone))
            db.execute("DELETE FROM version")
            db.execute("INSERT INTO version VALUES (?)", (version,))

    def clear(self) -> None:
        self._empty(_TABLES)

    def links_from(self, fact_id: str) -> list[LinkReference]:
        rows = self._rows(f"{_SELECT} WHERE facts.id = ? ORDER BY at", fact_id)
        return [LinkReference(*row) for row in rows]

    def links_to(self, names: Iterable[str]) -> list[LinkReference]:
        query = f"{_SELECT} WHERE name != '' AND name {GIVEN} ORDER BY facts.id, at"
        same: dict[str, str] = {}  # thousands of links to a hub have few different texts
        rows = self._rows(query, _keys(names))
        return [LinkReference(*(same.setdefault(each, each) for each in row)) for row in rows]

    def called(self, names: Iterable[str]) -> list[str]:
        rows = self._rows(f"{_SELECT_CALLED} WHERE name {GIVEN} ORDER BY id", _keys(names))
        return [fact_id for (fact_id,) in rows]

    def entities(self) -> list[EntityRecord]:
        rows = self._rows("SELECT id, scope, names FROM facts WHERE scope != '' ORDER BY id")
        return [EntityRecord(row[0], row[1], tuple(json.loads(row[2]))) for row in rows]

    def _compact(self, db: sqlite3.Connection) -> None:
        db.execute("DELETE FROM targets WHERE n NOT IN (SELECT target FROM links)")
        super()._compact(db)


def _keys(names: Iterable[str]) -> str:
    """The folded names as a list of JSON."""
    return json.dumps(sorted({name_key(name) for name in names} - {""}))


def _numbers(
    db: sqlite3.Connection, table: str, column: str, values: Sequence[str]
) -> dict[str, int]:
    """The numbers of facts or targets."""
    query = f"SELECT {column}, n FROM {table} WHERE {column} {GIVEN}"  # noqa: S608 - ours
    return dict(db.execute(query, (json.dumps(values),)))
