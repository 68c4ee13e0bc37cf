"""Symbols and graphs of a repository's code in one SQLite file, `indexes/code.sqlite3`."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from vaultsync.backends.sqlite import database as sqlite_file
from vaultsync.backends.sqlite.derived_file import DerivedFile
from vaultsync.repos.code_graph import CodeGraph
from vaultsync.repos.code_index import SymbolKey
from vaultsync.repos.symbols import Definition, FileSymbols

_DEFINITIONS = msgspec.msgpack.Decoder(tuple[Definition, ...])
_REFERENCES = msgspec.msgpack.Decoder(dict[str, int])
_GRAPH = msgspec.msgpack.Decoder(CodeGraph)
_ENCODER = msgspec.msgpack.Encoder()
MAX_GRAPHS = 4
"""Number of versions of the files whose graphs are kept: those of a few commits or branches."""
_SPARE = 2
"""Symbols are removed when there are this many times more than the saved graphs need."""


def m001_code(db: sqlite3.Connection) -> None:
    """Symbols by the content of their file, and graphs by the version of the files."""
    db.execute(
        "CREATE TABLE symbols (blob TEXT NOT NULL, language TEXT NOT NULL, parser TEXT NOT NULL,"
        " definitions BLOB NOT NULL, refs BLOB NOT NULL,"
        " PRIMARY KEY (blob, language)) WITHOUT ROWID"
    )
    db.execute(
        "CREATE TABLE graphs (number INTEGER PRIMARY KEY AUTOINCREMENT,"
        " version TEXT NOT NULL UNIQUE, graph BLOB NOT NULL)"
    )


MIGRATIONS: tuple[sqlite_file.Migration, ...] = (m001_code,)


class SqliteCodeIndex(DerivedFile):
    """A `CodeIndex` in one file."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(path, MIGRATIONS, "the code index")

    def missing(self, keys: Collection[SymbolKey], parser: str) -> set[SymbolKey]:
        rows = self._rows("SELECT blob, language FROM symbols WHERE parser = ?", parser)
        return {*keys}.difference(SymbolKey(*row) for row in rows)

    def save(self, symbols: Mapping[SymbolKey, FileSymbols], parser: str) -> None:
        rows = [
            (*key, parser, _ENCODER.encode(each.definitions), _ENCODER.encode(each.references))
            for key, each in symbols.items()
        ]

        with self._changing() as db:
            db.executemany("INSERT OR REPLACE INTO symbols VALUES (?, ?, ?, ?, ?)", rows)

    def definitions(self, keys: Iterable[SymbolKey]) -> Iterator[tuple[Definition, ...]]:
        for data in self._column("definitions", keys):
            yield () if data is None else _DEFINITIONS.decode(data)

    def references(self, keys: Iterable[SymbolKey]) -> Iterator[Mapping[str, int]]:
        for data in self._column("refs", keys):
            yield {} if data is None else _REFERENCES.decode(data)

    def _column(self, column: str, keys: Iterable[SymbolKey]) -> Iterator[bytes | None]:
        query = f"SELECT {column} FROM symbols WHERE blob = ? AND language = ?"  # noqa: S608 - ours
        for key in keys:
            rows = self._rows(query, *key) if key.language else []
            yield rows[0][0] if rows else None

    def find_graph(self, version: str) -> CodeGraph | None:
        rows = self._rows("SELECT graph FROM graphs WHERE version = ?", version)
        return _decoded(rows[0][0]) if rows else None

    def save_graph(self, version: str, graph: CodeGraph, keys: Collection[SymbolKey]) -> None:
        with self._changing() as db:
            kept = {SymbolKey(*row) for row in db.execute("SELECT blob, language FROM symbols")}
            if not kept.issuperset(keys):
                return  # another process removed some, so that the graph may lack their definitions
            db.execute("DELETE FROM graphs WHERE version = ?", (version,))
            db.execute(
                "INSERT INTO graphs (version, graph) VALUES (?, ?)",
                (version, _ENCODER.encode(graph)),
            )
            db.execute(
                "DELETE FROM graphs WHERE number <= (SELECT max(number) FROM graphs) - ?",
                (MAX_GRAPHS,),
            )
            if len(kept) > _SPARE * len(keys):
                needed = {*keys}.union(*map(_keys_of, db.execute("SELECT graph FROM graphs")))
                if len(kept) > _SPARE * len(needed):
                    unused = sorted(kept.difference(needed))
                    db.executemany("DELETE FROM symbols WHERE blob = ? AND language = ?", unused)


def _keys_of(row: tuple[bytes]) -> Iterator[SymbolKey]:
    """The keys whose symbols a saved graph needs, such as that of another branch."""
    graph = _decoded(*row)
    return iter(()) if graph is None else map(SymbolKey, graph.blobs, graph.languages)


def _decoded(data: bytes) -> CodeGraph | None:
    try:
        return _GRAPH.decode(data)
    except msgspec.DecodeError:  # written by another version of vaultsync
        return None
