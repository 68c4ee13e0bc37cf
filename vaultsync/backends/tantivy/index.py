"""The note index in a folder of files, by tantivy."""

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
from vaultsync.backends.tantivy.index_fields import (
    ANALYZER_NAME,
    VERSION_DOC_ID,
    columns_of,
    id_from_columns,
    make_schema,
    texts_of,
)
from vaultsync.backends.tantivy.query_builder import (
    NAME_FIELDS,
    QueryBuilder,
    best_hits,
    column_ranges,
    read_columns,
    sort_matches,
)
from vaultsync.errors import IndexBusyError
from vaultsync.indexing.language import ENGLISH, SAMPLE_CHARS, language_of
from vaultsync.indexing.ports import IndexDocument, IndexMatch, SessionTurn
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.recall.ranking import FIELD_WEIGHTS


class IndexUpdate:
    """The documents that one `update()` writes.

    `languages` are those of the held texts, None in a new index; `translate` turns an error
    of tantivy into one of the port.
    """

    def __init__(
        self,
        schema: tantivy.Schema,
        terms: Analyzers,
        writer: tantivy.IndexWriter,
        *,
        translate: Callable[[ValueError], Exception],
        languages: Iterable[str] | None,
    ) -> None:
        self._schema = schema
        self._terms = terms
        self._writer = writer
        self._translate = translate
        self._fresh = languages is None
        self._done: set[str] = set()
        self._languages = {terms.default, *(languages or ())}

    def drop(self, fact_id: str) -> None:
        """Remove the document of a fact."""
        self._writer.delete_documents_by_term("id", fact_id)

    def put(self, entry: IndexDocument) -> None:
        """Replace the document of a fact."""
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
        """The names of a fact, each one term with its field before it."""
        names = [("title", fact.title), *(("aliases", each) for each in fact.aliases)]
        terms = self._terms
        return [f"{field} {terms.of_name(x, language, stemmed=language)}" for field, x in names]

    def put_version(self, format_: str, version: str) -> None:
        """Write the version of the index, with the same commit."""
        self.drop(VERSION_DOC_ID)
        text = f"{format_}\n{' '.join(sorted(self._languages))}\n{version}"
        self._add({"id": VERSION_DOC_ID, "meta": text})

    def _add(self, values: dict[str, Any]) -> None:
        self._write(tantivy.Document.from_dict(values, self._schema))

    def _write(self, document: tantivy.Document) -> None:
        try:
            self._writer.add_document(document)
        except ValueError as error:
            raise self._translate(error) from error


_FORMAT = f"4 {tantivy_version}"
"""Changes with everything that changes the content of the files."""
_HEAP = 50_000_000
"""Bytes per thread of a writer; more makes another segment."""
_TWO_THREADS_FROM = 2_000
"""The number of entries from which on two threads write."""
_PAUSES = (0.01, 0.1, 0.5)
"""Seconds between tries to remove the folder: for a moment after a commit tantivy still
writes a list of its files there."""
_VERSION_FILE = "version"
"""The file with a later version that needed no change of the index."""


class _CommitReader(NamedTuple):
    """A commit that is open for reading."""

    opened: tantivy.Index
    searcher: tantivy.Searcher
    languages: tuple[str, ...]
    """Of the texts it holds."""
    committed: str
    version: str


class TantivyIndex:
    """A `NoteIndex` in one folder, which may be deleted at any time.

    An index that cannot be read counts as missing; the next `update()` builds it again.
    `language` is that of texts whose language is not recognised; `weights` replace some of
    `FIELD_WEIGHTS`.
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
        """The stamps of the files that were read last."""

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
        """The last commit of any process; None when there is none to read."""
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
        """Stamps that change with every commit and version; empty when there is no index."""
        found: tuple[int, ...] = ()
        with suppress(OSError):  # it may have no later version
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
        text = str(searcher.doc(hits[0][1])["meta"][0])
        format_, languages, committed = text.split("\n", 2)
        if format_ != self._format:
            return None
        version = committed
        with suppress(OSError, UnicodeDecodeError):  # the commit has its own version
            stored = (self._folder / _VERSION_FILE).read_text(encoding="utf-8")
            if stored.startswith(f"{committed}\n"):
                version = stored[len(committed) + 1 :]
        return _CommitReader(index, searcher, tuple(languages.split()), committed, version)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Treat a damaged index as a missing one."""
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
                work.put_version(self._format, version)

    def clear(self) -> None:
        with self._locked():
            self._remove()

    def close(self) -> None:
        self._view, self._seen = None, ()

    def _say_ahead(self, view: _CommitReader, version: str) -> None:
        """Needs no lock: the file names its commit, and is ignored with any other."""
        if version != view.version:
            text = f"{view.committed}\n{version}"
            replace_file(self._folder / _VERSION_FILE, text.encode(), durable=False)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        import filelock  # slow to load, and a question writes nothing

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
                translate=self._translate,
                languages=view.languages if view else None,
            )
            with self._on_disk():
                writer.commit()
        except BaseException:
            with suppress(ValueError):  # the first error is raised
                writer.rollback()
            raise
        finally:
            with suppress(ValueError):  # a commit stands when its segments cannot be merged
                writer.wait_merging_threads()

    @contextmanager
    def _on_disk(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            if not _is_damage(error) or isinstance(error, OSError):
                raise
            raise self._translate(error) from error

    def _translate(self, error: BaseException) -> IndexBusyError | OSError:
        """The error of the port for one that tantivy describes only in its message."""
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
            with suppress(OSError):  # tried again
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
    """Whether tantivy read files that are not as it wrote them.

    Where it does not expect that it panics, which raises no `Exception`.
    """
    return isinstance(error, (OSError, ValueError)) or (type(error).__name__ == "PanicException")


def _disk_error(message: str, folder: Path) -> OSError:
    """The error of the system in a message of tantivy, which may not name it."""
    import shutil

    number = re.search(r"os error (\d+)", message)
    code = int(number[1]) if number else errno.EIO
    if not number and shutil.disk_usage(folder).free < 2 * _HEAP:
        code = errno.ENOSPC
    return OSError(code, os.strerror(code), str(folder))
