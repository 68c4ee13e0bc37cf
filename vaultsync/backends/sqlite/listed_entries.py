"""The entries of the index files in one SQLite file, beside the other indexes."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from vaultsync.backends.sqlite import database as sqlite_file
from vaultsync.backends.sqlite.derived_file import GIVEN, DerivedFile
from vaultsync.index_files.entry import IndexEntry, ListedEntry, bucket_of, ordinal_of
from vaultsync.index_files.ports import (
    LAST_DAY,
    LETTERED,
    TYPED,
    EntityGroup,
    Mentions,
    PartKeys,
    Totals,
    Volume,
)
from vaultsync.model.paths import VaultPath, path_key

_ENTRY = msgspec.json.Decoder(IndexEntry)
_SELECT = "SELECT entry, path, line FROM listed "
_SELECT_GROUPS = "SELECT key, heading, label, letter, mentions, lines FROM entities "
_ORDER = "ORDER BY weight, day, id"
_PART, _BETWEEN = ("type", "month"), "bucket >= ? AND bucket < ?"
_Volumes: TypeAlias = defaultdict[tuple[str, str, int], list[int]]
"""Kind, part and bucket -> lines and size, as a `Volume` that can be added to."""
_TABLES = ("version", "listed", "named", "mentioned", "entities", "volumes")
_DAY, _PRIORITY, _TYPE, _SPELLED = "day", "priority", "type", "spelled"
"""Kinds of volumes, by what is counted."""


def m001_listed(db: sqlite3.Connection) -> None:
    """Entries in their orders; names and the facts that mention them; sizes.

    `weight` and `day` are negative, so that the first entries come first.
    """
    tables = """
        CREATE TABLE version (version TEXT NOT NULL);
        CREATE TABLE listed (
            id TEXT PRIMARY KEY, weight REAL NOT NULL, day INTEGER NOT NULL,
            type TEXT NOT NULL, month TEXT NOT NULL, bucket INTEGER NOT NULL,
            priority INTEGER NOT NULL, path TEXT NOT NULL, line TEXT NOT NULL, entry TEXT NOT NULL);
        CREATE INDEX listed_by_type ON listed (type, weight, day, id);
        CREATE INDEX listed_by_part ON listed (type, month, bucket);
        CREATE INDEX listed_by_priority ON listed (priority, weight, day, id);
        CREATE INDEX listed_by_day ON listed (day, weight, id);
        CREATE TABLE named (
            name TEXT NOT NULL, kind INTEGER NOT NULL, path TEXT NOT NULL, id TEXT NOT NULL,
            PRIMARY KEY (name, kind, path, id)) WITHOUT ROWID;
        CREATE INDEX named_by_fact ON named (id);
        CREATE TABLE mentioned (
            name TEXT NOT NULL, weight REAL NOT NULL, day INTEGER NOT NULL, id TEXT NOT NULL,
            PRIMARY KEY (name, weight, day, id)) WITHOUT ROWID;
        CREATE TABLE entities (
            key TEXT PRIMARY KEY, letter TEXT NOT NULL, bucket INTEGER NOT NULL,
            mentions INTEGER NOT NULL, label TEXT NOT NULL, heading TEXT NOT NULL,
            lines TEXT NOT NULL) WITHOUT ROWID;
        CREATE INDEX entities_by_part ON entities (letter, bucket);
        CREATE TABLE volumes (
            kind TEXT NOT NULL, part TEXT NOT NULL, bucket INTEGER NOT NULL,
            lines INTEGER NOT NULL, size INTEGER NOT NULL,
            PRIMARY KEY (kind, part, bucket)) WITHOUT ROWID
    """
    for statement in tables.split(";"):
        db.execute(statement)


MIGRATIONS: tuple[sqlite_file.Migration, ...] = (m001_listed,)


class SqliteEntries(DerivedFile):
    """An `EntryTable` in one file."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(path, MIGRATIONS, "the list of entries")

    @contextmanager
    def changing(self) -> Iterator[None]:
        with self._changing():
            yield

    def clear(self) -> None:
        for table in _TABLES:
            self._many(f"DELETE FROM {table}", [()])  # noqa: S608 - one of these

    def set_version(self, version: str) -> None:
        self._many("DELETE FROM version", [()])
        self._many("INSERT INTO version VALUES (?)", [(version,)])

    def put(self, new: Sequence[ListedEntry], old: Sequence[ListedEntry]) -> None:
        gone = [(each.id,) for each in old]
        self._many("DELETE FROM listed WHERE id = ?", gone)
        self._many("DELETE FROM named WHERE id = ?", gone)
        places = ((name, *each.rank) for each in old for name in each.mentioned)
        self._many(
            "DELETE FROM mentioned WHERE name = ? AND weight = ? AND day = ? AND id = ?", places
        )
        self._many("INSERT INTO listed VALUES (?,?,?,?,?,?,?,?,?,?)", map(_row, new))
        names = ((name, kind, each.path, each.id) for each in new for kind, name in each.own_names)
        self._many("INSERT OR IGNORE INTO named VALUES (?, ?, ?, ?)", names)
        mentions = ((name, *each.rank) for each in new for name in each.mentioned)
        self._many("INSERT INTO mentioned VALUES (?, ?, ?, ?)", mentions)
        self._count(_entry_volumes(new), _entry_volumes(old))

    def put_groups(self, new: Sequence[EntityGroup], old: Sequence[EntityGroup]) -> None:
        self._many("DELETE FROM entities WHERE key = ?", ((each.key,) for each in old))
        rows = (
            (
                *(each.key, each.letter, bucket_of(each.key), each.mentions, each.label),
                *(each.heading, json.dumps(each.lines)),
            )
            for each in new
        )
        self._many("INSERT INTO entities VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        self._count(_group_volumes(new), _group_volumes(old))

    def find(self, fact_ids: Collection[str]) -> dict[str, ListedEntry]:
        rows = self._rows(f"{_SELECT} WHERE id {GIVEN}", json.dumps(list(fact_ids)))
        return {each.id: each for each in map(_listed, rows)}

    def iter_listed(self) -> Iterator[ListedEntry]:
        after = ""
        query = f"{_SELECT} WHERE id > ? ORDER BY id LIMIT {sqlite_file.BATCH_ROWS}"
        while rows := self._rows(query, after):
            yield from map(_listed, rows)
            after = _listed(rows[-1]).id

    def totals(self, until: str = LAST_DAY) -> Totals:
        ((facts, tokens),) = self._rows(
            "SELECT coalesce(sum(lines), 0), coalesce(sum(size), 0) FROM volumes WHERE kind = ?",
            _PRIORITY,
        )
        first = self._rows("SELECT min(day) FROM listed WHERE day >= ?", -ordinal_of(until))[0][0]
        return Totals(facts, tokens, date.fromordinal(-first).isoformat() if first else "")

    def newest(self, since: str, until: str, limit: int) -> tuple[int, list[ListedEntry]]:
        days = -ordinal_of(until), -ordinal_of(since)
        ((number,),) = self._rows(
            "SELECT coalesce(sum(lines), 0) FROM volumes WHERE kind = ?"
            " AND bucket BETWEEN ? AND ? AND part = ''",
            *(_DAY, *days),
        )
        query = f"{_SELECT} WHERE day BETWEEN ? AND ? ORDER BY day, weight, id LIMIT ?"
        return number, [*map(_listed, self._rows(query, *days, limit))]

    def by_type(self, limit: int) -> dict[str, tuple[int, list[ListedEntry]]]:
        return {key: self._best("type", key, n, limit) for key, n in self._numbers(_TYPE)}

    def by_priority(self, limit: int) -> dict[int, tuple[int, list[ListedEntry]]]:
        numbers = self._numbers(_PRIORITY)
        return {int(key): self._best("priority", int(key), n, limit) for key, n in numbers}

    def _best(
        self, column: str, key: str | int, number: int, limit: int
    ) -> tuple[int, list[ListedEntry]]:
        rows = self._rows(f"{_SELECT} WHERE {column} = ? {_ORDER} LIMIT ?", key, limit)
        return number, [*map(_listed, rows)]

    def owners(self, names: Collection[str]) -> dict[str, str]:
        rows = self._rows(
            f"SELECT name, id FROM named WHERE name {GIVEN}"  # noqa: S608 - ours
            " ORDER BY name, kind DESC, path DESC, id DESC",
            json.dumps(list(names)),
        )
        return dict(rows)

    def mentions(self, names: Collection[str], limit: int) -> Mentions:
        spelled: Counter[str] = Counter()
        facts = 0
        for name in names:
            begin = f"{json.dumps(name)}\n"
            rows = self._rows(
                "SELECT part, lines FROM volumes WHERE kind = ? AND part >= ? AND part < ?",
                *(_SPELLED, begin, f"{begin}\U0010ffff"),
            )
            for part, number in rows:
                facts += number
                for each in json.loads(part.removeprefix(begin)):
                    spelled[each] += number
        if len(names) > 1:  # a fact may mention an entity by several of them
            count = f"SELECT count(DISTINCT id) FROM mentioned WHERE name {GIVEN}"  # noqa: S608 - ours
            ((facts,),) = self._rows(count, json.dumps(list(names)))
        first: dict[str, tuple[float, int, str]] = {}
        for name in names:
            query = "SELECT weight, day, id FROM mentioned WHERE name = ?"
            for row in self._rows(f"{query} {_ORDER} LIMIT ?", name, limit):
                first[row[2]] = row
        best = [row[2] for row in sorted(first.values())[:limit]]
        found = self.find(best)
        return Mentions(facts, spelled, [found[each] for each in best])

    def find_groups(self, keys: Collection[str]) -> dict[str, EntityGroup]:
        rows = self._rows(f"{_SELECT_GROUPS} WHERE key {GIVEN}", json.dumps(list(keys)))
        return {row[0]: _group(row) for row in rows}

    def parts(self, kind: str) -> dict[PartKeys, Volume]:
        rows = self._rows("SELECT part, lines, size FROM volumes WHERE kind = ?", kind)
        return {tuple(part.split("\n")): Volume(*volume) for part, *volume in rows}

    def buckets(self, kind: str, keys: PartKeys) -> dict[int, Volume]:
        query = "SELECT bucket, lines, size FROM volumes WHERE kind = ? AND part = ?"
        rows = self._rows(query, f"{kind} bucket", "\n".join(keys))
        return {bucket: Volume(*volume) for bucket, *volume in rows}

    def typed(self, keys: PartKeys, buckets: range) -> list[tuple[str, str]]:
        where = " AND ".join([*(f"{x} = ?" for x in _PART[: len(keys)]), _BETWEEN])
        query = f"SELECT type, line FROM listed WHERE {where} {_ORDER}"  # noqa: S608 - ours
        return self._rows(query, *keys, buckets.start, buckets.stop)

    def entities(self, keys: PartKeys, buckets: range) -> list[EntityGroup]:
        where = " AND ".join([*("letter = ?" for _ in keys), _BETWEEN])
        found = self._rows(f"{_SELECT_GROUPS} WHERE {where}", *keys, buckets.start, buckets.stop)
        return sorted(map(_group, found), key=lambda each: each.rank)

    def _many(self, statement: str, rows: Iterable[tuple[Any, ...]]) -> None:
        if given := list(rows):
            self._answer(lambda db: db.executemany(statement, given))

    def _numbers(self, kind: str) -> list[tuple[str, int]]:
        return self._rows("SELECT part, lines FROM volumes WHERE kind = ?", kind)

    def _count(self, more: _Volumes, less: _Volumes) -> None:
        """Count added and removed entries."""
        for key, (lines, size) in less.items():
            _add(more, key, -size, -lines)
        changed = [(*key, *volume) for key, volume in more.items() if any(volume)]
        self._many(
            "INSERT INTO volumes VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
            " lines = lines + excluded.lines, size = size + excluded.size",
            changed,
        )
        none = "DELETE FROM volumes WHERE kind = ? AND part = ? AND bucket = ? AND lines = 0"
        self._many(none, (key for key, (lines, _) in more.items() if lines < 0))


def _entry_volumes(entries: Iterable[ListedEntry]) -> _Volumes:
    found = _no_volumes()
    names: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for each in entries:
        part, size = "\n".join(each.keys), each.size
        _add(found, (_TYPE, each.entry.type, 0), 0)
        _add(found, (_PRIORITY, str(each.entry.priority), 0), each.entry.tokens)
        _add(found, (_DAY, "", -each.ordinal), 0)
        _add(found, (TYPED, part, 0), size)
        _add(found, (f"{TYPED} bucket", part, bucket_of(each.id)), size)
        names.update((name, tuple(spelled)) for name, spelled in _spelled(each).items())
    for (name, spelled), number in names.items():
        _add(found, (_SPELLED, f"{json.dumps(name)}\n{json.dumps(spelled)}", 0), 0, number)
    return found


def _group_volumes(groups: Iterable[EntityGroup]) -> _Volumes:
    found = _no_volumes()
    for each in groups:
        lines, size = each.volume
        _add(found, (LETTERED, each.letter, 0), size, lines)
        _add(found, (f"{LETTERED} bucket", each.letter, bucket_of(each.key)), size, lines)
    return found


def _no_volumes() -> _Volumes:
    return defaultdict(lambda: [0, 0])


def _add(found: _Volumes, key: tuple[str, str, int], size: int, lines: int = 1) -> None:
    held = found[key]
    held[0] += lines
    held[1] += size


def _row(each: ListedEntry) -> tuple[Any, ...]:
    weight, day, fact_id = each.rank
    return (
        *(fact_id, weight, day, *each.keys, bucket_of(fact_id), each.entry.priority),
        *(each.path, each.line, msgspec.json.encode(each.entry).decode()),
    )


def _listed(row: tuple[Any, ...]) -> ListedEntry:
    entry, path, line = row
    return ListedEntry(_ENTRY.decode(entry), VaultPath(path), line)


def _group(row: tuple[Any, ...]) -> EntityGroup:
    key, heading, label, letter, mentions, lines = row
    return EntityGroup(key, heading, label, letter, mentions, tuple(json.loads(lines)))


def _spelled(each: ListedEntry) -> Mapping[str, list[str]]:
    """Folded name -> its spelling in the fact."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in each.entry.entities:
        found[path_key(name)].append(name)
    return found
