"""The note index in a folder of files, by tantivy."""

from __future__ import annotations

import errno
import os
import re
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from copy import copy
from itertools import chain, islice, product, starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tantivy
from msgspec import Struct
from tantivy import Occur, Query
from tantivy.tantivy import __version__ as tantivy_version

from vaultsync.backends.replace_file import read_file, replace_file
from vaultsync.backends.tantivy.analysis import Analyzers, stemming_analyzer, stems_of
from vaultsync.backends.tantivy.index_fields import (
    ANALYZER_NAME,
    BOX_CODES,
    PHRASE_FIELDS,
    VERSION_DOC_ID,
    make_schema,
    name_code,
)
from vaultsync.backends.tantivy.query_builder import (
    NAME_FIELDS,
    Clause,
    ColumnRange,
    QueryBuilder,
    best_hits,
    column_ranges,
    id_from_columns,
    read_columns,
    sort_matches,
)
from vaultsync.errors import IndexBusyError, IndexChangedError
from vaultsync.indexing.language import ENGLISH, GERMAN
from vaultsync.indexing.ports import (
    IMPORTANT,
    NEWEST,
    OLDEST,
    IndexDocument,
    IndexMatch,
    SessionTurn,
)
from vaultsync.indexing.text_normalization import query_words
from vaultsync.model.canonical import FOREVER, NEVER
from vaultsync.model.filters import FactFilters
from vaultsync.model.permissions import Reader
from vaultsync.recall.ranking import FIELD_WEIGHTS

if TYPE_CHECKING:  # questions erase nothing, and few are in German
    from tempfile import TemporaryDirectory

    from vaultsync.indexing.compounds import Vocabulary
    from vaultsync.storage.erasure import Traces

_FORMAT = f"15 {tantivy_version}"
"""The version of the format; it changes with anything that changes the content of the files."""
_HEAP = 15_000_000
"""Bytes per writer thread, the minimum of tantivy; more data makes another segment."""
_TWO_THREADS_FROM = 2_000
"""Minimum number of entries for which two threads write."""
_PAUSES = (0.01, 0.1, 0.5)
"""Seconds between attempts to remove the folder: shortly after a commit, tantivy still writes a
list of its files there."""
_ORDERS = {
    IMPORTANT: ("standing", tantivy.Order.Desc),
    NEWEST: ("created", tantivy.Order.Desc),
    OLDEST: ("created", tantivy.Order.Asc),
}
"""Order of a set -> the column to sort by, and the direction."""
ERASE_SECONDS = 10.0
"""Seconds for which a purge waits for a writer: a question about deleted facts is one, too."""
_VERSION_FILE = "version"
"""The file with a later version for which the index did not change."""
_REMOVAL_FILE = "removal"
"""The file with the id of the last removal of the index."""
_NAME = "the note index"


class _CommitReader(Struct):
    """A commit that is open for reading."""

    opened: tantivy.Index
    searcher: tantivy.Searcher
    languages: tuple[str, ...]
    """The languages of the texts it contains."""
    scopes: tuple[str, ...]
    """The scopes of the facts it contains or contained."""
    committed: str
    version: str
    first_expiry: int
    """When the first fact expires, in microseconds."""
    vocabulary: Vocabulary | None = None
    """Its terms; read only for questions that may be in German."""
    is_damaged: bool = False


class TantivyIndex:
    """A `NoteIndex` in one folder, which may be deleted at any time.

    An unreadable index counts as missing; the next `update()` rebuilds it.
    `language` is used for texts whose language is not recognised; `weights` replace some of
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
        self._stamped = [str(self._folder / name) for name in ("meta.json", _VERSION_FILE)]
        self._schema = make_schema()
        self._terms = Analyzers(language)
        self._asking = QueryBuilder(self._schema, self._terms, {**FIELD_WEIGHTS, **weights})
        self._asking_names = QueryBuilder(self._schema, self._terms, NAME_FIELDS)
        self._format = f"{_FORMAT} {language}"
        self._looking = threading.Lock()
        self._view: _CommitReader | None = None
        self.is_fixed = False
        """Whether later commits are ignored."""
        self._seen: tuple[int, ...] = ()
        """The stamps of the files that were read last."""
        self._asked: tuple[object, list[Clause]] = (None, [])
        """The arguments of the last query, and the query."""
        self._links: TemporaryDirectory[str] | None = None
        """A folder of links to the files, where the folder itself cannot be written."""
        self._known: str | None = None
        """The state that this process read or wrote last; None before the first `version()`."""

    # ---------------------------------------------------------------------- reading

    def version(self) -> str | None:
        view = self._look()
        self._known = self._state(view)
        return view.version if view else None

    def last_commit(self) -> TantivyIndex:
        self._look()
        fixed = copy(self)
        fixed.is_fixed = True
        return fixed

    def count(self, reader: Reader | None = None) -> int:
        view = self._look()
        if view is None:
            return 0
        if reader is None or all(map(reader.reads, view.scopes)):
            return view.searcher.num_docs - 1
        codes = frozenset(map(name_code, filter(reader.reads, view.scopes)))
        visible = self._asking.ranges({"scope": ColumnRange(codes)})
        with self._reading():
            return _count(view, visible)
        return 0

    def tokens(self, text: str) -> list[str]:
        view = self._look()
        return self._terms.of_text(text, view.languages if view else ())

    def stemmer(self, text: str) -> Callable[[str], Collection[str]]:
        view = self._look()
        return self._terms.stemmer(text, view.languages if view else ())

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
        ranges = column_ranges(filters, view.scopes)
        with self._reading():
            asked = self._query(asking, view, words, phrases, filters)
            if not asked:
                return []
            limit = min(limit, view.searcher.num_docs)  # tantivy allocates memory for the limit
            hits = best_hits(view.searcher, asked, ranges, limit)
            if hits is None:
                hits = best_hits(view.searcher, asked + asking.ranges(ranges), {}, limit)
            return sort_matches(view.searcher, hits or [], limit)
        return []

    def _query(
        self,
        asking: QueryBuilder,
        view: _CommitReader,
        words: str,
        phrases: Sequence[str],
        filters: FactFilters,
    ) -> list[Clause]:
        """The query for words, cached because an answer needs it more than once."""
        key = (asking, view.searcher, words, tuple(phrases), filters.plain_tags, filters.themes)
        before, clauses = self._asked
        if before != key:
            clauses = asking.asked(view.searcher, words, phrases, view.languages, filters)
            self._asked = key, clauses
        return clauses

    def browse(
        self,
        filters: FactFilters,
        *,
        order: str = IMPORTANT,
        limit: int,
        boxes: str = "",
        tags: AbstractSet[str] = frozenset(),
    ) -> list[str]:
        view = self._look()
        if view is None or limit < 1:
            return []
        ranges = column_ranges(filters, view.scopes)
        if boxes:
            ranges["boxes"] = ColumnRange(BOX_CODES[boxes])
        asked = Query.boolean_query(self._asking.browsed(filters, ranges, tags))
        column, direction = _ORDERS[order]
        with self._reading():
            limit = min(limit, view.searcher.num_docs)
            hits = view.searcher.search(
                asked, limit, count=False, order_by_field=column, order=direction
            ).hits
            ids = read_columns(view.searcher, hits, "id_high", "id_low")
            return [id_from_columns(*each) for each in ids]
        return []

    def facts_with(self, terms: Iterable[str]) -> dict[str, int]:
        view, found = self._look(), dict.fromkeys(terms, 0)
        if view is None:
            return found
        languages = frozenset(view.languages)
        with self._reading():
            for term in found:
                # A term may have another stem in the language of the facts.
                found[term] = _most_facts(view, [term]) or _most_facts(
                    view, stems_of(query_words(term), languages) - {term}
                )
        return found

    def near_terms(self, term: str) -> list[str]:
        # Only for words that no fact has.
        from vaultsync.indexing.spelling import letters_off, near_terms

        view = self._look()
        if view is None or not letters_off(term):
            return []
        with self._reading():
            words = (view.searcher.terms_with_prefix(x, term[0]) for x in ("title", "content"))
            return near_terms(term, (each for each, _ in chain(*words)))
        return []

    def languages(self) -> frozenset[str]:
        view = self._look()
        return frozenset(view.languages if view else ())

    def terms_beginning_with(self, beginnings: Iterable[str]) -> dict[str, set[str]]:
        view, found = self._look(), {each: set[str]() for each in beginnings}
        if view is not None:
            with self._reading():
                for each, name in product(found, ("title", "content")):
                    found[each] |= {x for x, _ in view.searcher.terms_with_prefix(name, each)}
        return found

    def compounds(self, words: Sequence[str]) -> dict[str, list[str]]:
        view = self._look()
        if view is None or GERMAN not in view.languages:
            return {}
        # Few questions may be in German.
        from vaultsync.backends.tantivy.compound_terms import find_compounds
        from vaultsync.indexing.compounds import Vocabulary

        with self._reading():
            if view.vocabulary is None:
                some = (view.searcher.terms_with_prefix(x, "") for x in ("title", "content"))
                view.vocabulary = Vocabulary(term for term, _ in chain.from_iterable(some))
            return find_compounds(words, view.vocabulary, self.facts_with)
        return {}

    def count_hidden(
        self, words: str | None, filters: FactFilters, *, phrases: Sequence[str] = ()
    ) -> Mapping[str, int]:
        view, found = self._look(), dict[str, int]()
        if view is None:
            return found
        with self._reading():
            hiding = self._asking.hiding(view.searcher, view.first_expiry, filters)
            if not hiding:
                return found
            ranges = column_ranges(filters.unhidden, view.scopes)
            if words is None:
                asked = self._asking.browsed(filters, ranges)
            else:
                asked = self._query(self._asking, view, words, phrases, filters)
                if not asked:
                    return found
                asked = asked + self._asking.ranges(ranges)
            for reason, query in hiding.items():
                found[reason] = _count(view, [*asked, (Occur.Must, query)])
                asked = [*asked, (Occur.MustNot, query)]
        return {reason: count for reason, count in found.items() if count}

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
        names = ("session", "place", "id_high", "id_low", "mark")
        return {
            SessionTurn(session, place, id_from_columns(high, low), mark)
            for session, place, high, low, mark in read_columns(searcher, hits, *names)
        }

    def _look(self) -> _CommitReader | None:
        """The last commit of any process; None if there is no readable one."""
        if self._view is not None and self._view.is_damaged:
            self._view = None
        if not self.is_fixed and (seen := self._stamps()) != self._seen:
            with self._looking:
                view = None
                if seen:
                    with self._reading():
                        view = self._read(self._view.opened if self._view else self._open())
                self._view, self._seen = view, seen
        return self._view

    def _stamps(self) -> tuple[int, ...]:
        """Stamps that change with every commit and version; empty if there is no index."""
        found: tuple[int, ...] = ()
        with suppress(OSError):  # it may have no later version
            for path in self._stamped:
                stat = os.stat(path)  # noqa: PTH116 - for each search
                found += (stat.st_ino, stat.st_mtime_ns, stat.st_size)
        return found

    def _check_files(self) -> None:
        """Check that nothing in the folder, such as a pipe, would block tantivy.

        Raises:
            OSError: it contains something other than regular files. That counts as damage, and
                the index is rebuilt without it.
        """
        with os.scandir(self._folder) as entries:
            for each in entries:
                if not each.is_file(follow_symlinks=False):
                    raise OSError(errno.EINVAL, "it is not a regular file", each.path)

    def _open(self) -> tantivy.Index:
        self._check_files()
        folder = str(self._folder)
        if not os.access(folder, os.W_OK):
            folder = self._linked()
        index = tantivy.Index(self._schema, folder)
        index.register_tokenizer(ANALYZER_NAME, stemming_analyzer(self._terms.default))
        index.config_reader("manual")
        return index

    def _linked(self) -> str:
        """A folder of links to all files, because tantivy also makes a lock in order to read."""
        if self._links is None:
            from tempfile import TemporaryDirectory  # few folders need it

            self._links = TemporaryDirectory(prefix="vaultsync-")
        for each in self._folder.iterdir():
            if not each.name.endswith(".lock"):
                with suppress(FileExistsError):
                    Path(self._links.name, each.name).symlink_to(each.absolute())
        return self._links.name

    def _read(self, index: tantivy.Index) -> _CommitReader | None:
        self._check_files()
        if self._links is not None:
            self._linked()
        index.reload()
        searcher = index.searcher()
        hits = searcher.search(Query.term_query(self._schema, "id", VERSION_DOC_ID), 1).hits
        if not hits:
            return None
        text = str(searcher.doc(hits[0][1])["meta"][0])
        format_, _, rest = text.partition("\n")
        if format_ != self._format:
            return None
        languages, scopes, committed = rest.split("\n", 2)
        version = committed
        with suppress(OSError, UnicodeDecodeError):  # the commit has its own version
            stored = read_file(self._folder / _VERSION_FILE).decode()
            if stored.startswith(f"{committed}\n"):
                version = stored[len(committed) + 1 :]
        first_expiry = self._first_expiry(searcher)
        return _CommitReader(
            index,
            searcher,
            tuple(languages.split()),
            tuple(scopes.split()),
            committed,
            version,
            first_expiry,
        )

    def _first_expiry(self, searcher: tantivy.Searcher) -> int:
        """When the first fact expires, in microseconds; `FOREVER` if none does."""
        kind = tantivy.FieldType.Integer
        expiring = Query.range_query(self._schema, "expires", kind, NEVER, FOREVER - 1)
        hits = searcher.search(
            expiring, 1, count=False, order_by_field="expires", order=tantivy.Order.Asc
        ).hits
        (found,) = read_columns(searcher, hits, "expires") or [(FOREVER,)]
        return int(found[0])

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Treat a damaged index as a missing one."""
        try:
            yield
        except BaseException as error:
            if not _is_damage(error):
                raise
            if self._view is not None:
                self._view.is_damaged = True  # also for those who have the same commit

    # ---------------------------------------------------------------------- writing

    def update(self, put: Iterable[IndexDocument], drop: Iterable[str], *, version: str) -> None:
        gone = list(drop)
        view = self._unchanged()
        if view is not None and not put and not gone:
            # Needs no lock: the file contains its commit, and is ignored for any other.
            if version != view.version:
                text = f"{view.committed}\n{version}"
                replace_file(self._folder / _VERSION_FILE, text.encode(), durable=False)
            self._known = version
            return
        # Questions load this module, and most find the index up to date.
        from vaultsync.backends.tantivy.index_documents import fact_document

        with self._locked():
            view = self._unchanged()
            entries = iter(put)
            first = list(islice(entries, _TWO_THREADS_FROM))
            with self._writing(view, threads=2 if len(first) == _TWO_THREADS_FROM else 1) as writer:
                languages = {self._terms.default, *(view.languages if view else ())}
                scopes = {*(view.scopes if view else ())}
                done: set[str] = set()
                for each in gone:
                    writer.delete_documents_by_term("id", each)
                for entry in chain(first, entries):
                    if view is not None or entry.fact.id in done:
                        writer.delete_documents_by_term("id", entry.fact.id)
                    done.add(entry.fact.id)
                    language, document = fact_document(entry, self._schema, self._terms)
                    languages.add(language)
                    scopes.add(entry.fact.scope)
                    with self._on_disk():
                        writer.add_document(document)
                self._put_version(writer, languages, scopes, version)
            self._known = version

    def _unchanged(self) -> _CommitReader | None:
        """The last commit; raises IndexChangedError if others wrote since `version()`."""
        view = self._look()
        if self._known not in (None, self._state(view)):
            raise IndexChangedError(_NAME)
        return view

    def _state(self, view: _CommitReader | None) -> str:
        """The version of the last commit; without one, the id of the last removal.

        So an index that was removed meanwhile, as by a purge, differs from one that never was.
        """
        if view is not None:
            return view.version
        with suppress(OSError):  # it was never removed
            return read_file(self._folder / _REMOVAL_FILE).decode(errors="replace")
        return ""

    def _put_version(
        self, writer: tantivy.IndexWriter, languages: set[str], scopes: set[str], version: str
    ) -> None:
        """Write the version of the index in the same commit."""
        writer.delete_documents_by_term("id", VERSION_DOC_ID)
        known = "\n".join(" ".join(sorted(each)) for each in (languages, scopes))
        meta = f"{self._format}\n{known}\n{version}"
        document = tantivy.Document.from_dict({"id": VERSION_DOC_ID, "meta": meta}, self._schema)
        with self._on_disk():
            writer.add_document(document)

    def clear(self) -> None:
        with self._locked():
            self._remove()

    def erase(self, traces: Traces) -> dict[str, int]:
        """Discard the index, as an `Erasable`.

        A deletion would leave the texts in compressed segments until they are merged.
        """
        held = sum(bool(self.turns([], [each])) for each in traces.fact_ids)
        with self._locked(ERASE_SECONDS):
            self._remove()
        return {"note index": held}

    def close(self) -> None:
        self._view, self._seen, self._asked = None, (), (None, [])
        if self._links is not None:
            self._links.cleanup()
            self._links = None

    @contextmanager
    def _locked(self, seconds: float = 0.0) -> Iterator[None]:
        import filelock  # slow to load, and not needed for questions

        self._folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            with filelock.FileLock(f"{self._folder}.lock", timeout=seconds, mode=0o600):
                yield
        except filelock.Timeout:
            raise _busy() from None

    @contextmanager
    def _writing(
        self, view: _CommitReader | None, *, threads: int
    ) -> Iterator[tantivy.IndexWriter]:
        if view is None and not self._is_removed():
            self._remove()
        with self._on_disk():
            try:
                self._check_files()
            except OSError:
                self.close()  # the next reader finds no index, and rebuilds it
                raise
            index = view.opened if view else self._open()
            if self._links is not None:
                self.close()  # the folder may be writable next time
                raise OSError(errno.EACCES, os.strerror(errno.EACCES), str(self._folder))
            writer = index.writer(_HEAP * threads, threads)
        try:
            yield writer
            with self._on_disk():
                writer.commit()
        except BaseException:
            with suppress(ValueError):  # the first error is raised instead
                writer.rollback()
            raise
        finally:
            with suppress(ValueError):  # the commit is valid even if merging fails
                writer.wait_merging_threads()

    @contextmanager
    def _on_disk(self) -> Iterator[None]:
        """Raise the port's errors for those that tantivy only describes in a message."""
        try:
            yield
        except BaseException as error:
            if not _is_damage(error) or isinstance(error, OSError):
                raise
            if "LockBusy" in str(error):
                raise _busy() from error
            raise _disk_error(str(error), self._folder) from error

    def _is_removed(self) -> bool:
        with suppress(OSError):  # there is no folder, or no permission
            return os.listdir(self._folder) == [_REMOVAL_FILE]  # noqa: PTH208 - names only
        return False

    def _remove(self) -> None:
        """Remove the index; what stays is a folder with the id of the removal."""
        self.close()
        _remove_folder(self._folder)
        self._folder.mkdir(mode=0o700, exist_ok=True)  # a process that starts makes it, too
        self._known = os.urandom(8).hex()
        replace_file(self._folder / _REMOVAL_FILE, self._known.encode(), durable=False)


def _remove_folder(folder: Path) -> None:
    import shutil  # imported here because it loads compressors

    if not folder.is_dir():
        folder.unlink(missing_ok=True)
        return
    for pause in _PAUSES:
        with suppress(OSError):  # retried
            shutil.rmtree(folder)
            return
        time.sleep(pause)
    shutil.rmtree(folder)


def _count(view: _CommitReader, clauses: Sequence[Clause]) -> int:
    # Sorting by a column computes no scores.
    asked = Query.boolean_query(clauses)
    found: Any = view.searcher.search(asked, 1, count=True, order_by_field="priority")
    return int(found.count)


def _most_facts(view: _CommitReader, terms: Iterable[str]) -> int:
    """The number of facts with the most common term, in its most common field."""
    return max(starmap(view.searcher.doc_freq, product(PHRASE_FIELDS, terms)), default=0)


def _busy() -> IndexBusyError:
    return IndexBusyError(
        f"another process is writing {_NAME}",
        hint="wait until it has finished; changes are found after that",
    )


def _is_damage(error: BaseException) -> bool:
    """Whether an error means that tantivy's files are damaged.

    If tantivy does not expect that, it panics, which does not raise an `Exception`.
    """
    return isinstance(error, (OSError, ValueError)) or (type(error).__name__ == "PanicException")


def _disk_error(message: str, folder: Path) -> OSError:
    """The system error in a message of tantivy, if it names one."""
    import shutil

    number = re.search(r"os error (\d+)", message)
    code = int(number[1]) if number else errno.EIO
    if not number and shutil.disk_usage(folder).free < 2 * _HEAP:
        code = errno.ENOSPC
    return OSError(code, os.strerror(code), str(folder))
