"""The note index in a folder of files, by tantivy.

Facts into the files of the note index. No adapter of a port.
"""

from __future__ import annotations

import errno
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import tantivy
from tantivy import Query
from tantivy.tantivy import __version__ as tantivy_version

from vaultsync.backends.replace_file import replace_file
from vaultsync.backends.tantivy.analysis import Analyzers
from vaultsync.backends.tantivy.query import (
    NAME_FIELDS,
    QueryBuilder,
    best_hits,
    column_ranges,
    read_columns,
    sort_matches,
)
from vaultsync.backends.tantivy.schema import (
    ANALYZER_NAME,
    VERSION_DOC_ID,
    columns_of,
    id_from_columns,
    make_schema,
    texts_of,
)
from vaultsync.errors import IndexBusyError
from vaultsync.indexing.language import ENGLISH, SAMPLE_CHARS, language_of
from vaultsync.indexing.ports import IndexDocument, IndexMatch
from vaultsync.indexing.session_context import SessionTurn
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.recall.ranking import FIELD_WEIGHTS


class IndexUpdate:
    """What one `update()` writes.

    `languages` are those held, None in a new index; `told` gives
    what tantivy says the class it has.
    """

    def __init__(
        self,
        schema: tantivy.Schema,
        terms: Analyzers,
        writer: tantivy.IndexWriter,
        *,
        told: Callable[[ValueError], Exception],
        languages: Iterable[str] | None,
    ) -> None:
        self._schema = schema
        self._terms = terms
        self._writer = writer
        self._told = told
        self._fresh = languages is None
        self._done: set[str] = set()
        self._languages = {terms.default, *(languages or ())}

    def drop(self, fact_id: str) -> None:
        """Remove what is held of a fact."""
        self._writer.delete_documents_by_term("id", fact_id)

    def put(self, entry: IndexDocument) -> None:
        """Hold a fact in the place of what was held of it."""
        fact = entry.fact
        if not self._fresh or fact.id in self._done:
            self.drop(fact.id)
        self._done.add(fact.id)
        language = (
            language_of(f"{fact.title}\n{fact.content[:SAMPLE_CHARS]}") or self._terms.default
        )
        texts = texts_of(entry)
        columns = columns_of(entry) | {"name": self._names(fact, language)}
        if language == self._terms.default:
            self._add(columns | texts)
            return
        self._languages.add(language)
        analyzer = self._terms.analyzer(language)
        document = tantivy.Document.from_dict(columns, self._schema)
        for name, text in texts.items():
            document.add_pre_tokenized_text(name, analyzer.pre_tokenize(text))
        self._write(document)

    def _names(self, fact: Fact, language: str) -> list[str]:
        """What the fact is called, each whole name a term with its field before it."""
        told = [("title", fact.title), *(("aliases", each) for each in fact.aliases)]
        return [f"{field} {self._terms.of_name(text, language)}" for field, text in told]

    def tell(self, made: str, version: str) -> None:
        """Say how far the index goes, with the same commit."""
        self.drop(VERSION_DOC_ID)
        said = f"{made}\n{' '.join(sorted(self._languages))}\n{version}"
        self._add({"id": VERSION_DOC_ID, "meta": said})

    def _add(self, values: dict[str, Any]) -> None:
        self._write(tantivy.Document.from_dict(values, self._schema))

    def _write(self, document: tantivy.Document) -> None:
        try:
            self._writer.add_document(document)
        except ValueError as error:
            raise self._told(error) from error


_FORMAT = f"4 {tantivy_version}"
"""Changes with all that changes what is in the files."""
_HEAP = 50_000_000
"""Bytes per thread of a writer; what does not fit makes another segment."""
_TWO_THREADS_FROM = 2_000
"""From so many entries on, two threads write."""
_PAUSES = (0.01, 0.1, 0.5)
"""Seconds between tries to remove the folder: a moment after a commit tantivy still
tidies up there, and writes a list of its files while they are removed."""
_VERSION_FILE = "version"
"""The file that tells of a later version, to which nothing else had to be changed."""


class _CommitReader(NamedTuple):
    """A commit, as it can be read."""

    opened: tantivy.Index
    searcher: tantivy.Searcher
    languages: tuple[str, ...]
    """Of the texts it holds."""
    committed: str
    version: str


class TantivyIndex:
    """A `NoteIndex` in one folder, which may be deleted at any time.

    Whatever cannot be read there is nothing, and is built anew by the next `update()`.
    `language` is that of texts whose language cannot be told; `weights` replace some of
    `FIELDS`.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        weights: Mapping[str, float] = FIELD_WEIGHTS,
        language: str = ENGLISH,
    ) -> None:
        self._folder = Path(folder)
        self._schema = make_schema()
        self._terms = Analyzers(language)
        self._asking = QueryBuilder(self._schema, self._terms, {**FIELD_WEIGHTS, **weights})
        self._asking_names = QueryBuilder(self._schema, self._terms, NAME_FIELDS)
        self._format = f"{_FORMAT} {language}"
        self._looking = threading.Lock()
        self._view: _CommitReader | None = None
        self._seen: tuple[int, ...] = ()
        """The stamps of the files when they were looked at last."""

    # ---------------------------------------------------------------------- reading

    def version(self) -> str | None:
        view = self._look()
        return view.version if view else None

    def count(self) -> int:
        view = self._look()
        return view.searcher.num_docs - 1 if view else 0

    def tokens(self, text: str) -> list[str]:
        return self._terms.of_text(text)

    def search(
        self,
        words: str,
        filters: FactFilters,
        *,
        phrases: Sequence[str] = (),
        limit: int,
        names_only: bool = False,
    ) -> list[IndexMatch]:
        view = self._look()
        if view is None or limit < 1:
            return []
        asking = self._asking_names if names_only else self._asking
        asked = asking.asked(words, phrases, view.languages)
        if not asked:
            return []
        asked += self._asking.tags(filters)
        with self._reading():
            hits = best_hits(view.searcher, asked, column_ranges(filters), limit)
            if hits is None:
                asked += self._asking.filters(filters)
                hits = best_hits(view.searcher, asked, {}, limit)
            return sort_matches(view.searcher, hits or [], limit)
        return []

    def turns(self, sessions: Iterable[int], facts: Iterable[str]) -> list[SessionTurn]:
        view = self._look()
        if view is None:
            return []
        with self._reading():
            found = self._turns(view.searcher, "id", list(facts))
            wanted = {*sessions, *(each.session for each in found)} - {0}
            found |= self._turns(view.searcher, "session", sorted(wanted))
            return list(found)
        return []

    def _turns(
        self, searcher: tantivy.Searcher, name: str, values: Sequence[str | int]
    ) -> set[SessionTurn]:
        if not values:
            return set()
        query = Query.term_set_query(self._schema, name, values)
        hits = searcher.search(query, searcher.num_docs, count=False).hits
        names = ("session", "created", "id_high", "id_low", "mark")
        return {
            SessionTurn(session, created, id_from_columns(high, low), mark)
            for session, created, high, low, mark in read_columns(searcher, hits, *names)
        }

    def _look(self) -> _CommitReader | None:
        """The last commit, of whichever process; None when there is none to read."""
        seen = self._stamps()
        if seen != self._seen:
            with self._looking:
                self._look_again(seen)
        return self._view

    def _look_again(self, seen: tuple[int, ...]) -> None:
        if seen == self._seen:
            return
        view = None
        if seen:
            with self._reading():
                view = self._read(self._view.opened if self._view else self._open())
        self._view, self._seen = view, seen

    def _stamps(self) -> tuple[int, ...]:
        """What changes with every commit and version; empty when there is no index."""
        found: tuple[int, ...] = ()
        with suppress(OSError):
            for name in ("meta.json", _VERSION_FILE):
                stat = os.stat(self._folder / name)  # noqa: PTH116 - for each search
                found += (stat.st_ino, stat.st_mtime_ns, stat.st_size)
        return found

    def _open(self) -> tantivy.Index:
        index = tantivy.Index(self._schema, str(self._folder))
        index.register_tokenizer(ANALYZER_NAME, self._terms.analyzer(self._terms.default))
        index.config_reader("manual")
        return index

    def _read(self, index: tantivy.Index) -> _CommitReader | None:
        index.reload()
        searcher = index.searcher()
        hits = searcher.search(Query.term_query(self._schema, "id", VERSION_DOC_ID), 1).hits
        if not hits:
            return None
        said = str(searcher.doc(hits[0][1])["meta"][0])
        made, languages, committed = said.split("\n", 2)
        if made != self._format:
            return None
        version = committed
        with suppress(OSError, UnicodeDecodeError):
            ahead = (self._folder / _VERSION_FILE).read_text(encoding="utf-8")
            if ahead.startswith(f"{committed}\n"):
                version = ahead[len(committed) + 1 :]
        return _CommitReader(index, searcher, tuple(languages.split()), committed, version)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Take damage for nothing that is there."""
        try:
            yield
        except BaseException as error:
            if not _is_damage(error):
                raise
            self._view = None

    # ---------------------------------------------------------------------- writing

    def update(self, put: Iterable[IndexDocument], drop: Iterable[str], *, version: str) -> None:
        gone = list(drop)
        view = self._look()
        if view is not None and not put and not gone:
            self._say_ahead(view, version)
            return
        with self._locked():
            view = self._look()
            entries = iter(put)
            first = list(islice(entries, _TWO_THREADS_FROM))
            with self._writing(view, threads=2 if len(first) == _TWO_THREADS_FROM else 1) as work:
                for each in gone:
                    work.drop(each)
                for entry in chain(first, entries):
                    work.put(entry)
                work.tell(self._format, version)

    def clear(self) -> None:
        with self._locked():
            self._remove()

    def close(self) -> None:
        self._view, self._seen = None, ()

    def _say_ahead(self, view: _CommitReader, version: str) -> None:
        """Needs no lock: it is about one commit, and nobody reads it with another."""
        if version != view.version:
            text = f"{view.committed}\n{version}"
            replace_file(self._folder / _VERSION_FILE, text.encode(), durable=False)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        import filelock  # dear to load, and a question writes nothing

        self._folder.parent.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(f"{self._folder}.lock", mode=0o600)
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            raise _busy() from None
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def _writing(self, view: _CommitReader | None, *, threads: int) -> Iterator[IndexUpdate]:
        if view is None:
            self._remove()
            self._folder.mkdir(mode=0o700)
        with self._on_disk():
            index = view.opened if view else self._open()
            writer = index.writer(_HEAP * threads, threads)
        try:
            yield IndexUpdate(
                self._schema,
                self._terms,
                writer,
                told=self._told,
                languages=view.languages if view else None,
            )
            with self._on_disk():
                writer.commit()
        except BaseException:
            with suppress(ValueError):
                writer.rollback()
            raise
        finally:
            # What was committed stays so when segments cannot be merged.
            with suppress(ValueError):
                writer.wait_merging_threads()

    @contextmanager
    def _on_disk(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            if not _is_damage(error) or isinstance(error, OSError):
                raise
            raise self._told(error) from error

    def _told(self, error: BaseException) -> IndexBusyError | OSError:
        """What tantivy says in words, by the class of the error."""
        if "LockBusy" in str(error):
            return _busy()
        return _disk_error(str(error), self._folder)

    def _remove(self) -> None:
        import shutil  # late: it loads compressors

        self.close()
        if not self._folder.is_dir():
            self._folder.unlink(missing_ok=True)
            return
        for pause in _PAUSES:
            with suppress(OSError):
                shutil.rmtree(self._folder)
                return
            time.sleep(pause)
        shutil.rmtree(self._folder)


def _busy() -> IndexBusyError:
    return IndexBusyError(
        "another process is writing the note index",
        hint="wait until it is done; what changed is found after that",
    )


def _is_damage(error: BaseException) -> bool:
    """Whether tantivy met files that are not what it wrote.

    Where it trusts what it reads it panics, which is no `Exception`.
    """
    return isinstance(error, (OSError, ValueError)) or (type(error).__name__ == "PanicException")


def _disk_error(said: str, folder: Path) -> OSError:
    """The error of the system that tantivy tells of in words, or keeps to itself."""
    import shutil

    number = re.search(r"os error (\d+)", said)
    code = int(number[1]) if number else errno.EIO
    if not number and shutil.disk_usage(folder).free < 2 * _HEAP:
        code = errno.ENOSPC
    return OSError(code, os.strerror(code), str(folder))
