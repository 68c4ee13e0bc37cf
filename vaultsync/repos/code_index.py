"""Contracts of the repo map: reading and caching symbols."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from vaultsync.repos.code_graph import CodeGraph
from vaultsync.repos.symbols import Definition, FileSymbols


class SymbolKey(NamedTuple):
    """The cache key of a file's symbols: its content and its language."""

    blob: str
    """The id of the content, which git gives it."""
    language: str


class SymbolReader(Protocol):
    """Reads the symbols of source code, which is untrusted."""

    @property
    def parser(self) -> str:
        """Name and version of the parser; symbols of another one are read again."""
        ...

    def read(self, files: Sequence[tuple[str, bytes]]) -> list[FileSymbols]:
        """The symbols of files, each a language and a source; none if one cannot be parsed."""
        ...

    def close(self) -> None:
        """Release what it holds; harmless when repeated."""
        ...


class CodeIndex(Protocol):
    """A cache of the symbols and graphs of one repository; it can always be rebuilt."""

    def missing(self, keys: Collection[SymbolKey], parser: str) -> set[SymbolKey]:
        """Those keys whose symbols are not cached, or are of another parser."""
        ...

    def save(self, symbols: Mapping[SymbolKey, FileSymbols], parser: str) -> None:
        """Cache symbols, replacing earlier ones of their keys."""
        ...

    def definitions(self, keys: Iterable[SymbolKey]) -> Iterator[tuple[Definition, ...]]:
        """The definitions of each key, in the order of the keys; none for an unknown one."""
        ...

    def references(self, keys: Iterable[SymbolKey]) -> Iterator[Mapping[str, int]]:
        """The references of each key, in the order of the keys; none for an unknown one."""
        ...

    def find_graph(self, version: str) -> CodeGraph | None:
        """The graph of one version of the files."""
        ...

    def save_graph(self, version: str, graph: CodeGraph, keys: Collection[SymbolKey]) -> None:
        """Save the graph of a version, and drop old graphs and symbols that fill the cache.

        `keys` are those whose symbols the version needs. If one of them is gone, as another
        process may remove it, nothing is saved.
        """
        ...
