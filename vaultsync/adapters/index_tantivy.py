"""The note index in a folder of files, by tantivy."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, compress, islice
from pathlib import Path
from typing import Any, TypeAlias

import filelock
import tantivy
from tantivy import DocAddress, Query

from vaultsync.adapters.index_query import Asking, Gate, gates
from vaultsync.adapters.index_schema import (
    FORMAT,
    META,
    TERMS,
    WEIGHTS,
    entry_of,
    fact_id,
    make_analyzer,
    make_schema,
)
from vaultsync.core.around import Turn
from vaultsync.core.words import words_to_find
from vaultsync.errors import IndexBusyError
from vaultsync.ports import Entry, Filters, Match

_HEAP = 50_000_000
"""Bytes per thread of a writer; what does not fit makes another segment."""
_MANY = 2_000
"""From so many entries on, two threads write."""
_SPARE = 100
"""Hits that are looked at beyond twice the limit, and four times as many when those are
not enough: so many of one score are put in order by id; of more, any may come first."""

_Hit: TypeAlias = tuple[float, DocAddress]


class TantivyIndex:
    """A `NoteIndex` in one folder, which may be deleted at any time."""

    def __init__(
        self, folder: str | Path, *, weights: Mapping[str, float] = WEIGHTS
    ) -> None:
        self._folder = Path(folder)
        self._lock = filelock.FileLock(f"{self._folder}.lock", mode=0o600)
        self._schema = make_schema()
        self._analyzer = make_analyzer()
        self._asking = Asking(self._schema, self._analyzer, {**WEIGHTS, **weights})
        self._index: tantivy.Index | None = None
        self._stamp: tuple[int, ...] = ()

    # ---------------------------------------------------------------------- reading

    def version(self) -> str | None:
        """What the last `update()` brought it up to; None when it has to be built."""
        said = self._meta()
        return said[1] if said else None

    def count(self) -> int:
        """How many facts it holds."""
        searcher = self._searcher()
        return searcher.num_docs - 1 if searcher is not None else 0

    def tokens(self, text: str) -> list[str]:
        """The terms that a text is indexed under: stemmed, without stop words."""
        return self._analyzer.analyze(words_to_find(text))

    def search(
        self, words: str, filters: Filters, *, phrases: Sequence[str] = (), limit: int
    ) -> list[Match]:
        """The facts that match some of the words and all of the phrases, best first."""
        searcher = self._searcher()
        asked = self._asking.asked(words, phrases)
        if searcher is None or not asked or limit < 1:
            return []
        asked += self._asking.tags(filters)
        hits = _best(searcher, asked, gates(filters), limit)
        if hits is None:
            asked += self._asking.filters(filters)
            hits = _best(searcher, asked, {}, limit)
        return _in_order(searcher, hits or [], limit)

    def turns(self, sessions: Iterable[int], facts: Iterable[str]) -> list[Turn]:
        """What it holds of some sessions, of facts, and of the sessions they are in."""
        searcher = self._searcher()
        if searcher is None:
            return []
        found = self._turns(searcher, "id", list(facts))
        wanted = {*sessions, *(each.session for each in found)} - {0}
        return list({*found, *self._turns(searcher, "session", sorted(wanted))})

    def _turns(
        self, searcher: tantivy.Searcher, name: str, values: Sequence[str | int]
    ) -> list[Turn]:
        if not values:
            return []
        query = Query.term_set_query(self._schema, name, values)
        hits = searcher.search(query, searcher.num_docs, count=False).hits
        columns = ("session", "created", "id_high", "id_low", "mark")
        return [
            Turn(session, created, fact_id(high, low), mark)
            for session, created, high, low, mark in _columns(searcher, hits, *columns)
        ]

    def _meta(self) -> tuple[str, str] | None:
        """The format and the version that the files tell of."""
        searcher = self._searcher()
        if searcher is None:
            return None
        hits = searcher.search(Query.term_query(self._schema, "id", META), 1).hits
        if not hits:
            return None
        made, _, version = str(searcher.doc(hits[0][1])["meta"][0]).partition("\n")
        return made, version

    def _searcher(self) -> tantivy.Searcher | None:
        """The last commit, of whichever process; None when there is none to read."""
        try:
            found = os.stat(self._folder / "meta.json")  # noqa: PTH116 - for each search
            stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
            if self._index is None:
                self._index = self._opened()
            elif stamp != self._stamp:
                self._index.reload()
            self._stamp = stamp
        except (OSError, ValueError):
            self._index = None
            return None
        return self._index.searcher()

    def _opened(self) -> tantivy.Index:
        index = tantivy.Index(self._schema, str(self._folder))
        index.register_tokenizer(TERMS, self._analyzer)
        index.config_reader("manual")
        index.reload()
        return index

    # ---------------------------------------------------------------------- writing

    def update(
        self, put: Iterable[Entry], drop: Iterable[str], *, version: str
    ) -> None:
        """Replace and remove entries by the ids of their facts, all or none.

        Raises:
            IndexBusyError: another process is writing; nothing was done.
            OSError: the disk is full or broken; the index is as it was.
        """
        entries = iter(put)
        first = list(islice(entries, _MANY))
        with self._writing(2 if len(first) == _MANY else 1) as writer:
            for each in drop:
                writer.delete_documents_by_term("id", each)
            for entry in chain(first, entries):
                writer.delete_documents_by_term("id", entry.fact.id)
                writer.add_document(self._document(entry_of(entry)))
            writer.delete_documents_by_term("id", META)
            said = f"{FORMAT}\n{version}"
            writer.add_document(self._document({"id": META, "meta": said}))

    def clear(self) -> None:
        """Forget everything, the version too. Raises as `update()`."""
        with self._locked():
            self._remove()

    def close(self) -> None:
        """Let go of the files; harmless when repeated."""
        self._index = None

    def _document(self, values: dict[str, Any]) -> tantivy.Document:
        return tantivy.Document.from_dict(values, self._schema)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire(timeout=0)
        except filelock.Timeout:
            raise IndexBusyError(
                "another process is writing the note index",
                hint="wait until it is done; what changed is found after that",
            ) from None
        try:
            yield
        finally:
            self._lock.release()

    @contextmanager
    def _writing(self, threads: int) -> Iterator[tantivy.IndexWriter]:
        with self._locked():
            meta = self._meta()
            index = self._index
            if index is None or meta is None or meta[0] != FORMAT:
                self._remove()
                self._folder.mkdir(mode=0o700)
                self._index = index = self._opened()
            writer = index.writer(_HEAP * threads, threads)
            try:
                yield writer
                writer.commit()
            except BaseException:
                with suppress(ValueError):
                    writer.rollback()
                raise
            finally:
                writer.wait_merging_threads()

    def _remove(self) -> None:
        self._index = None
        with suppress(FileNotFoundError):
            shutil.rmtree(self._folder)


def _best(
    searcher: tantivy.Searcher,
    asked: list[tuple[tantivy.Occur, Query]],
    gates: Mapping[str, Gate],
    limit: int,
) -> list[_Hit] | None:
    """The best hits that pass, with those that equal the last of them.

    None when so few pass that the filters had better be part of the query. As long as
    many do, it is faster to look at a few more hits: tantivy skips what cannot be among
    the best, but only where nothing is asked but words. Measured at 100,000 facts …
    """
    query = asked[0][1] if len(asked) == 1 else Query.boolean_query(asked)
    passed: list[_Hit] = []
    for wanted in (2 * limit + _SPARE, 4 * (2 * limit + _SPARE)):
        hits = searcher.search(query, wanted, count=False).hits
        passed = _passing(searcher, hits, gates)
        enough = len(passed) >= limit
        if len(hits) < wanted or (enough and passed[limit - 1][0] != hits[-1][0]):
            return passed
        if len(passed) * 4 < limit:
            return None
    return passed if len(passed) >= limit else None


def _in_order(searcher: tantivy.Searcher, hits: list[_Hit], limit: int) -> list[Match]:
    """The best matches; equal ones by id."""
    if len(hits) > limit:
        least = hits[limit - 1][0]
        hits = [hit for hit in hits if hit[0] >= least]
    ids = _columns(searcher, hits, "id_high", "id_low")
    found = [
        Match(fact_id(*each), score) for (score, _), each in zip(hits, ids, strict=True)
    ]
    return sorted(found, key=lambda each: (-each.score, each.fact_id))[:limit]


def _passing(
    searcher: tantivy.Searcher, hits: list[_Hit], gates: Mapping[str, Gate]
) -> list[_Hit]:
    for name, gate in gates.items():
        values = searcher.fast_field_values(name, [where for _, where in hits])
        hits = list(compress(hits, map(gate.passes, values)))
    return hits


def _columns(
    searcher: tantivy.Searcher, hits: Sequence[_Hit], *names: str
) -> list[tuple[Any, ...]]:
    """The numbers that are kept of some hits, by column."""
    where = [address for _, address in hits]
    columns = [searcher.fast_field_values(name, where) for name in names]
    return list(zip(*columns, strict=True))
