"""A `CodeIndex` in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from vaultsync.repos.code_graph import CodeGraph
from vaultsync.repos.code_index import SymbolKey
from vaultsync.repos.symbols import Definition, FileSymbols


class MemoryCodeIndex:
    def __init__(self) -> None:
        self.symbols: dict[SymbolKey, tuple[str, FileSymbols]] = {}
        self.graphs: dict[str, CodeGraph] = {}

    def missing(self, keys: Collection[SymbolKey], parser: str) -> set[SymbolKey]:
        return {key for key in keys if self.symbols.get(key, ("", None))[0] != parser}

    def save(self, symbols: Mapping[SymbolKey, FileSymbols], parser: str) -> None:
        self.symbols |= {key: (parser, each) for key, each in symbols.items()}

    def definitions(self, keys: Iterable[SymbolKey]) -> Iterator[tuple[Definition, ...]]:
        return (self._symbols(key).definitions for key in keys)

    def references(self, keys: Iterable[SymbolKey]) -> Iterator[Mapping[str, int]]:
        return (self._symbols(key).references for key in keys)

    def _symbols(self, key: SymbolKey) -> FileSymbols:
        return self.symbols.get(key, ("", FileSymbols()))[1]

    def find_graph(self, version: str) -> CodeGraph | None:
        return self.graphs.get(version)

    def save_graph(self, version: str, graph: CodeGraph, keys: Collection[SymbolKey]) -> None:
        if self.symbols.keys() >= {*keys}:
            self.graphs[version] = graph
