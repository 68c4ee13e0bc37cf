from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from vaultsync.backends.sqlite.symbol_cache import MAX_GRAPHS, SqliteCodeIndex
from vaultsync.repos.code_graph import CodeFile, CodeGraph, build_graph
from vaultsync.repos.code_index import CodeIndex, SymbolKey
from vaultsync.repos.symbols import Definition, FileSymbols

KEY, OTHER = SymbolKey("a" * 40, "python"), SymbolKey("b" * 40, "go")
SYMBOLS = FileSymbols(
    (Definition("run", "function", 3, "def run()", "Run."),), {"stop": 2, ".x": 1}
)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[CodeIndex]:
    opened = SqliteCodeIndex(tmp_path / "indexes" / "code.sqlite3")
    yield opened
    opened.close()


def graph(path: str) -> CodeGraph:
    return build_graph([CodeFile(path, "a" * 40, "python", SYMBOLS.definitions)], [{}])


def test_what_was_saved_is_not_missing_until_the_parser_changes(index: CodeIndex) -> None:
    index.save({KEY: SYMBOLS}, "p 1")

    assert index.missing([KEY, OTHER], "p 1") == {OTHER}
    assert index.missing([KEY], "p 2") == {KEY}


def test_symbols_come_in_the_order_asked_for_and_none_for_an_unknown_key(index: CodeIndex) -> None:
    index.save({OTHER: FileSymbols(), KEY: FileSymbols()}, "p 1")
    index.save({KEY: SYMBOLS}, "p 1")
    unknown = SymbolKey("c" * 40, "")

    assert [*index.definitions([unknown, KEY, OTHER])] == [(), SYMBOLS.definitions, ()]
    assert [*index.references([KEY, unknown])] == [SYMBOLS.references, {}]


def test_a_graph_is_found_by_its_version(index: CodeIndex) -> None:
    index.save({KEY: SYMBOLS}, "p 1")
    index.save_graph("v1", graph("a.py"), [KEY])
    index.save_graph("v1", graph("b.py"), [KEY])

    assert index.find_graph("v1") == graph("b.py")
    assert index.find_graph("v2") is None


def test_a_graph_is_not_kept_without_the_symbols_that_it_was_made_of(index: CodeIndex) -> None:
    index.save({KEY: SYMBOLS}, "p 1")

    index.save_graph("v1", graph("a.py"), [KEY, OTHER])

    assert index.find_graph("v1") is None


def graph_of(keys: Sequence[SymbolKey]) -> CodeGraph:
    return build_graph(
        [CodeFile(f"{key.blob}.py", *key, SYMBOLS.definitions) for key in keys], [{}] * len(keys)
    )


def test_graphs_and_symbols_of_long_ago_are_removed(tmp_path: Path) -> None:
    index = SqliteCodeIndex(tmp_path / "code.sqlite3")
    keys = [SymbolKey(f"{n:040}", "python") for n in range(9)]
    index.save(dict.fromkeys(keys, SYMBOLS), "p 1")

    index.save_graph("main", graph_of(keys[:5]), keys[:5])
    for n in range(1, MAX_GRAPHS):
        index.save_graph(f"docs {n}", graph_of(keys[:1]), keys[:1])
    assert index.missing(keys, "p 1") == set()
    assert index.find_graph("main") == graph_of(keys[:5])
    index.save_graph("last", graph_of(keys[:1]), keys[:1])

    assert index.find_graph("main") is None
    assert index.find_graph("docs 1") == graph_of(keys[:1])
    assert index.missing(keys, "p 1") == {*keys[1:]}
    index.close()


def test_a_damaged_file_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "code.sqlite3"
    path.write_bytes(b"no database at all" * 99)
    index = SqliteCodeIndex(path)

    assert index.find_graph("v") is None
    index.save({KEY: SYMBOLS}, "p 1")
    assert index.missing([KEY], "p 1") == set()
    index.close()
