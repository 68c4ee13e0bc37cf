"""The repo map: the most referenced definitions of a repository, file by file, within a budget.

A map is a text for agents. It shows tracked files as they were last added or committed, because
an agent knows what it is editing. Only files that are new since the last map are read.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import TypeAlias

from msgspec import Struct

from vaultsync.errors import DerivedError
from vaultsync.model.counts import count_noun
from vaultsync.repos.code_graph import CodeFile, CodeGraph, RankedCode, build_graph
from vaultsync.repos.code_index import CodeIndex, SymbolKey, SymbolReader
from vaultsync.repos.symbol_patterns import PARSER as PATTERNS
from vaultsync.repos.symbol_patterns import read_by_patterns
from vaultsync.repos.symbols import Definition, FileSymbols, is_source, language_of, one_line

DEFAULT_MAX_CHARS = 4_000
"""About 1,000 tokens, which is what the map of aider takes."""
FORMAT = "2"
"""The version of saved graphs; those of another version are made again."""
_BATCH_FILES = 256
_MAX_MISSES = 20
"""Give up after this number of definitions that do not fit into the rest of the budget."""
_MAX_PATH = 200
_MARKUP = re.compile(r"[#>+*`~=|<\[-]|[0-9]{1,9}[.)](?:\s|$)")
_TAIL = len("… 1,000,000 more definitions and 1,000,000 more files\n")

ReadBlobs: TypeAlias = Callable[[Sequence[str]], Iterable[tuple[str, bytes]]]
"""The contents of blobs by their ids, without those that cannot be read; large ones are empty."""


class RepoMap(Struct, frozen=True, kw_only=True):
    """A map of the code of a repository."""

    text: str
    chars: int
    max_chars: int
    cached: bool
    """Whether no file was read for it."""
    read: int
    """The number of files that were read for it."""
    files: int
    """The number of files that git tracks."""
    definitions: int
    """The number of all definitions, of which the text shows the most referenced ones."""
    parser: str
    """`tree-sitter` and its version, or `patterns`: without parsers, definitions are guessed."""


class PatternReader:
    """Reads symbols by patterns, where no parser is installed."""

    parser = PATTERNS

    def read(self, files: Sequence[tuple[str, bytes]]) -> list[FileSymbols]:
        """The symbols of files, each given as language and source."""
        return [read_by_patterns(language, source) for language, source in files]

    def close(self) -> None:
        """It holds nothing."""


class CodeMapper:
    """Makes maps of one repository; `redact` replaces the secrets of a text."""

    def __init__(
        self, index: CodeIndex, reader: SymbolReader, redact: Callable[[str], str]
    ) -> None:
        self._index = index
        self._reader = reader
        self._redact = redact

    def make_map(
        self,
        files: Mapping[str, str],
        read_blobs: ReadBlobs,
        *,
        changed: Collection[str] = (),
        max_chars: int = DEFAULT_MAX_CHARS,
        refresh: bool = False,
        max_read: int | None = None,
    ) -> RepoMap:
        """The map of some files.

        `files` are path -> the id of the content. Around `changed` paths, definitions count more.
        With `refresh`, all files are read again.

        Raises:
            DerivedError: more than `max_read` files would have to be read; nothing was read.
        """
        version = self._version(files)
        graph = None if refresh else self._index.find_graph(version)
        read = 0
        if graph is None:
            paths = sorted(files)
            keys = [SymbolKey(files[path], language_of(path)) for path in paths]
            known = {key for key in keys if key.language}
            missing = known if refresh else self._index.missing(known, self._reader.parser)
            if max_read is not None and len(missing) > max_read:
                message = f"the map requires reading {count_noun(len(missing), 'file')}"
                raise DerivedError(message, hint="`vaultsync repo map` reads them")
            read = self._read(sorted(missing), read_blobs)
            graph = self._build(paths, keys)
            if read == len(missing):
                self._index.save_graph(version, graph, known)
        ranked = RankedCode(graph)
        text = self._text(ranked, changed, max_chars)
        return RepoMap(
            text=text,
            chars=len(text),
            max_chars=max_chars,
            cached=not read,
            read=read,
            files=len(files),
            definitions=ranked.definition_count,
            parser=self._reader.parser,
        )

    def _version(self, files: Mapping[str, str]) -> str:
        parts = (FORMAT, self._reader.parser, *files, *files.values())
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()

    def _read(self, missing: Sequence[SymbolKey], read_blobs: ReadBlobs) -> int:
        """Read and cache symbols; returns the number of files that could be read."""
        todo, read = iter(missing), 0
        while batch := list(islice(todo, _BATCH_FILES)):
            contents = dict(read_blobs([key.blob for key in batch]))
            sources = {
                key: self._without_secrets(contents[key.blob])
                for key in batch
                if is_source(contents.get(key.blob, b""))
            }
            found = self._reader.read([(key.language, text) for key, text in sources.items()])
            here = (key for key in batch if key.blob in contents)
            symbols = dict.fromkeys(here, FileSymbols()) | dict(zip(sources, found, strict=True))
            self._index.save(symbols, self._reader.parser)
            read += len(symbols)
        return read

    def _without_secrets(self, source: bytes) -> bytes:
        """Source without secrets, so that neither the cache nor the map has a part of one."""
        text = source.decode("utf-8", "replace")
        redacted = self._redact(text)
        return source if redacted == text else redacted.encode()

    def _build(self, paths: Sequence[str], keys: Sequence[SymbolKey]) -> CodeGraph:
        files = [
            CodeFile(path, key.blob, key.language, definitions)
            for path, key, definitions in zip(
                paths, keys, self._index.definitions(keys), strict=True
            )
        ]
        return build_graph(files, self._index.references(keys))

    def _text(self, ranked: RankedCode, changed: Collection[str], max_chars: int) -> str:
        graph = ranked.graph
        budget = max_chars - _TAIL
        chosen: defaultdict[int, dict[int, str]] = defaultdict(dict)
        cache: dict[int, tuple[Definition, ...]] = {}
        misses = 0
        for number in ranked.best(changed):
            file, place = ranked.place_of(number)
            if file not in cache:
                key = SymbolKey(graph.blobs[file], graph.languages[file])
                [cache[file]] = self._index.definitions([key])
            if place >= len(cache[file]):
                continue  # another process has removed it
            line = _definition_line(cache[file][place])
            cost = len(line) + (0 if file in chosen else len(self._file_line(graph.paths[file])))
            if cost > budget:
                misses += 1
                if misses > _MAX_MISSES:
                    break
                continue
            budget -= cost
            chosen[file][place] = line
        lines: list[str] = []
        for file, places in chosen.items():
            lines.append(self._file_line(graph.paths[file]))
            lines += [places[place] for place in sorted(places)]
        named = 0
        undefined = (file for file, count in enumerate(ranked.definition_counts()) if not count)
        for file in undefined if not misses else ():
            line = self._file_line(graph.paths[file])
            if len(line) > budget:
                break
            budget -= len(line)
            lines.append(line)
            named += 1
        more = ranked.definition_count - sum(map(len, chosen.values()))
        rest = len(graph.paths) - len(chosen) - named
        if more or rest:
            lines.append(f"… {more:,} more definitions and {rest:,} more files\n")
        text = "".join(lines)
        return text if len(text) <= max_chars else ""

    def _file_line(self, path: str) -> str:
        name = one_line(self._redact(path), _MAX_PATH)
        # A name must not look like a heading or a list item.
        return f"./{name}\n" if _MARKUP.match(name) else f"{name}\n"


def _definition_line(definition: Definition) -> str:
    member = f"{definition.parent} > " if definition.parent else ""
    summary = f"  # {definition.summary}" if definition.summary else ""
    return f"  {definition.line}: {member}{definition.signature}{summary}\n"
