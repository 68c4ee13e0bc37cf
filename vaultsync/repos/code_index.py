"""Contracts of the repo map: what reads symbols, and what keeps them between two maps."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from vaultsync.repos.code_graph import CodeGraph
from vaultsync.repos.symbols import Definition, FileSymbols


class SymbolKey(NamedTuple):
    """What symbols are kept by: the same bytes in another language have other symbols."""

    blob: str
    """The id of the content, which git gives it."""
    language: str


class SymbolReader(Protocol):
    """Reads the symbols of source code, which is untrusted."""

    @property
    def parser(self) -> str:
        """What reads them: symbols of another parser are read again."""
        ...

    def read(self, files: Sequence[tuple[str, bytes]]) -> list[FileSymbols]:
        """The symbols of each file, of a language and a source; none of what cannot be read."""
        ...

    def close(self) -> None:
        """Release what it holds; harmless when repeated."""
        ...


class CodeIndex(Protocol):
    """Keeps symbols and graphs of one repository. It is derived: everything can be read again."""

    def missing(self, keys: Collection[SymbolKey], parser: str) -> set[SymbolKey]:
        """Those keys whose symbols are not here, or are of another parser."""
        ...

    def load(self, keys: Collection[SymbolKey], parser: str) -> Mapping[SymbolKey, FileSymbols]:
        """The symbols of those keys that are here and of this parser."""
        ...

    def save(self, symbols: Mapping[SymbolKey, FileSymbols], parser: str) -> None:
        """Keep symbols, in place of what was kept for their keys."""
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
        """Keep the graph of a version, and of what older versions need only a little.

        Args:
            version: of the files.
            graph: of them.
            keys: whose symbols this version needs.
        """
        ...
