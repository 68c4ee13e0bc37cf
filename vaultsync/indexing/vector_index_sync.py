"""Vectors up to date with the store."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from vaultsync.errors import DerivedError, EmbedderError, StoreUnavailableError
from vaultsync.indexing.chunking import Chunk
from vaultsync.indexing.embedding_texts import (
    batches_by_length,
    embedding_chunks,
    embedding_identity,
    facts_losing_context,
)
from vaultsync.indexing.ports import Embedder, NoteIndex, VectorIndex, VectorRow
from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value
from vaultsync.storage.feed_cursor import (
    feed_backlog,
    make_version,
    store_seq_of_version,
)
from vaultsync.storage.store import FeedRow
from vaultsync.sync.context import ReadContext
from vaultsync.sync.report import Progress

FACTS_PER_PAGE = 256
"""Facts that are looked at together."""
TEXTS_PER_PUT = 256
"""Texts that are embedded before their vectors are put: some seconds of work."""
TEXTS_PER_REQUEST = 300
"""Three requests of a hundred to a service; local models cut it up themselves."""
PROBE_TEXT = "Is anybody there?"


@dataclass(frozen=True, slots=True)
class EmbedReport:
    """What was done to bring the vectors up to date."""

    facts: int = 0
    """Facts that have vectors now."""
    put: int = 0
    """Facts whose vectors were put, with vectors that were there before too."""
    embedded: int = 0
    """Texts that were embedded."""
    reused: int = 0
    """Texts that were put with vectors that were there before."""
    removed: int = 0
    """Facts whose vectors went, because the facts had gone."""
    left: int = 0
    """Changed facts that were not reached."""
    waiting: Mapping[str, str] = field(default_factory=dict)
    """Facts of which a text could not be embedded, and why; tried again next time."""
    seconds: float = 0.0
    degraded: str = ""
    """Why the vectors may be behind the facts; empty when they are not."""

    def as_json(self) -> dict[str, Value]:
        """The report as JSON."""
        return {
            "facts": self.facts,
            "put": self.put,
            "embedded": self.embedded,
            "reused": self.reused,
            "removed": self.removed,
            "left": self.left,
            "waiting": dict(self.waiting),
            "seconds": self.seconds,
            "degraded": self.degraded,
        }


def embed_pending(
    ctx: ReadContext,
    vectors: VectorIndex,
    embedder: Embedder,
    *,
    index: NoteIndex | None = None,
    budget: int | None = None,
    progress: Progress | None = None,
) -> EmbedReport:
    """Bring the vectors up to the store's feed; it never fails the pass.

    With a note index the facts of a session lend each other text, and what the note index
    has not taken in waits for it. At most `budget` texts are embedded; None is no limit,
    0 takes in what needs no embedding. It goes on where it stopped. When model, dimension
    or chunker are others, all vectors are forgotten, but not before the model has
    answered; `cost_of_change()` tells what that costs.
    """
    began = ctx.clock.monotonic()
    work = _EmbeddingRun(ctx, vectors, embedder, index, budget=budget, progress=progress)
    why = ""
    try:
        work.run()
    except (DerivedError, StoreUnavailableError) as error:
        why = error.message
    except OSError as error:
        why = f"the vectors cannot be written: {error.strerror or error}"
    return work.report(why, ctx.clock.monotonic() - began)


class _IndexRecord(NamedTuple):
    """What is noted with the vectors."""

    version: str | None = None
    waiting: Mapping[str, str] = {}

    @classmethod
    def parse(cls, text: str | None) -> _IndexRecord:
        return cls(**json.loads(text)) if text else cls()

    def __str__(self) -> str:
        return json.dumps({"version": self.version, "waiting": dict(self.waiting)})


class _FactChunks(NamedTuple):
    """A fact that is looked at, or the id of one that has gone."""

    fact_id: str
    fact: Fact | None = None
    chunks: Sequence[Chunk] = ()
    row: FeedRow | None = None
    """Of the feed, which is taken in up to it once this is done."""


class _EmbeddingRun:
    """The work of one `embed_pending()`, and how much of it is done."""

    def __init__(
        self,
        ctx: ReadContext,
        vectors: VectorIndex,
        embedder: Embedder,
        index: NoteIndex | None,
        *,
        budget: int | None,
        progress: Progress | None,
    ) -> None:
        self._store = ctx.redacted_store
        self._vectors = vectors
        self._embedder = embedder
        self._index = index
        self._budget = budget
        self._progress = progress
        self._identity = self._store_id = ""
        self._record = _IndexRecord()
        self._all = self._done = 0
        self._put = self._embedded = self._reused = self._removed = 0

    def run(self) -> None:
        """Do it, as far as the budget goes.

        Raises:
            DerivedError, StoreUnavailableError, OSError: it broke off; what was put is
            noted.
        """
        self._identity = str(embedding_identity(self._embedder, lends=self._index is not None))
        if self._vectors.identity() != self._identity:
            self._embedder.embed([PROBE_TEXT])
            self._vectors.reset(self._identity)
        self._record = _IndexRecord.parse(self._vectors.record())
        todo = feed_backlog(self._store, self._record.version, self._identity)
        self._store_id, self._all = todo.store_id, len(todo.rows)
        if todo.anew:
            self._record = _IndexRecord()
        changed = {row.fact_id for row in todo.rows}
        again = sorted(self._record.waiting.keys() - changed)
        known = self._known(todo.rows)
        whole = self._follow(known) and self._look_at(again)
        if whole and len(known) == len(todo.rows) and (changed or todo.anew):
            self._compare()
            record = self._record._replace(version=self._version(todo.seq))
            if record != self._record:  # the feed was empty
                self._vectors.put([], record=str(record))
        if self._put or self._removed:
            self._vectors.tidy()
        if todo.rows and not known:
            raise DerivedError(
                "the note index is behind, so what facts lend each other is not known",
                hint="the next pass goes on",
            )

    def _known(self, rows: list[FeedRow]) -> list[FeedRow]:
        """The rows of the feed that the note index has taken in, if there is one."""
        if self._index is None:
            return rows
        reached = store_seq_of_version(self._index.version(), self._store_id)
        return [row for row in rows if row.seq <= reached]

    def report(self, why: str, seconds: float) -> EmbedReport:
        """What was done."""
        waiting = self._record.waiting
        if waiting and not why:
            why = f"of {len(waiting)} facts a text could not be embedded"
        return EmbedReport(
            facts=self._vectors.count(),
            put=self._put,
            embedded=self._embedded,
            reused=self._reused,
            removed=self._removed,
            left=self._all - self._done,
            waiting=waiting,
            seconds=seconds,
            degraded=why,
        )

    def _follow(self, rows: Sequence[FeedRow]) -> bool:
        """Take in the feed; False when the budget ended it."""
        for start in range(0, len(rows), FACTS_PER_PAGE):
            page = rows[start : start + FACTS_PER_PAGE]
            facts = self._store.find_many([row.fact_id for row in page if not row.deleted])
            gone = [row.fact_id for row in page if row.fact_id not in facts]
            beside = facts_losing_context(self._store, self._index, facts, gone)
            # Those without vectors come by themselves.
            lenders = self._store.find_many(self._vectors.chunks(beside))
            chunks = embedding_chunks(self._store, self._index, facts | lenders)
            items = [
                *(_FactChunks(key, fact, chunks[key]) for key, fact in lenders.items()),
                *(
                    _FactChunks(
                        row.fact_id,
                        facts.get(row.fact_id),
                        chunks.get(row.fact_id, ()),
                        row,
                    )
                    for row in page
                ),
            ]
            if not self._take(items):
                return False
        return True

    def _look_at(self, fact_ids: Sequence[str]) -> bool:
        """Take in facts that the feed does not name; False when the budget ended it."""
        for start in range(0, len(fact_ids), FACTS_PER_PAGE):
            page = fact_ids[start : start + FACTS_PER_PAGE]
            facts = self._store.find_many(page)
            chunks = embedding_chunks(self._store, self._index, facts)
            items = [_FactChunks(each, facts.get(each), chunks.get(each, ())) for each in page]
            if not self._take(items):
                return False
        return True

    def _compare(self) -> None:
        """Remove what should not be there, and add what should, if anything differs."""
        unheld = self._record.waiting.keys() - self._vectors.chunks(self._record.waiting)
        if self._vectors.count() + len(unheld) == self._store.state().facts:
            return
        alive = {row.fact_id for row in self._store.feed() if not row.deleted}
        held = self._vectors.chunks().keys()
        self._look_at(sorted((held ^ alive) - unheld))

    def _take(self, items: Sequence[_FactChunks]) -> bool:
        """Put what changed of some facts; False when the budget ended it."""
        held = self._vectors.chunks(item.fact_id for item in items)
        old = self._vectors.outdated(item.fact for item in items if item.fact)
        changed = {
            item.fact_id
            for item in items
            if item.fact_id in old
            or held.get(item.fact_id, set()) != {chunk.id for chunk in item.chunks}
        }
        known = self._vectors.vectors(
            chunk.id for item in items if item.fact_id in changed for chunk in item.chunks
        )
        group: list[_FactChunks] = []
        fresh: dict[str, Chunk] = {}
        for item in items:
            wanted = {**fresh}
            if item.fact_id in changed:
                wanted |= {each.id: each for each in item.chunks if each.id not in known}
            if self._budget is not None and self._embedded + len(wanted) > self._budget:
                self._write(group, changed, known, fresh)
                return False
            group, fresh = [*group, item], wanted
            if len(fresh) >= TEXTS_PER_PUT:
                self._write(group, changed, known, fresh)
                group, fresh = [], {}
        self._write(group, changed, known, fresh)
        return True

    def _write(
        self,
        group: Sequence[_FactChunks],
        changed: Collection[str],
        known: dict[str, Sequence[float]],
        fresh: Mapping[str, Chunk],
    ) -> None:
        """Embed the texts that are fresh, and put those of the group that changed."""
        made, failed = self._embed(fresh)
        known |= made
        put = [item for item in group if item.fact_id in changed]
        rows = [
            VectorRow(item.fact, each.id, known[each.id])
            for item in put
            if item.fact is not None
            for each in item.chunks
            if each.id in known
        ]
        waiting = {
            key: why
            for key, why in self._record.waiting.items()
            if key not in {item.fact_id for item in group}
        }
        for item in put:
            for each in item.chunks:
                if each.id in failed:
                    waiting[item.fact_id] = failed[each.id]
        reached = [item.row.seq for item in group if item.row is not None]
        version = self._version(reached[-1]) if reached else self._record.version
        record = _IndexRecord(version, waiting)
        if put or record != self._record:
            replace = [item.fact_id for item in put]
            self._vectors.put(rows, replace=replace, record=str(record))
            self._record = record
        gone = sum(item.fact is None for item in put)
        self._removed += gone
        self._put += len(put) - gone
        self._embedded += len(made)
        self._reused += len(rows) - len({row.chunk_id for row in rows} & made.keys())
        self._done += len(reached)
        if reached and self._progress is not None:
            self._progress("embed", self._done, self._all)

    def _embed(
        self, chunks: Mapping[str, Chunk]
    ) -> tuple[dict[str, Sequence[float]], dict[str, str]]:
        """The vectors of chunks by their ids, and why some have none.

        Raises:
            EmbedderError: the model does not answer at all.
        """
        made: dict[str, Sequence[float]] = {}
        failed: dict[str, str] = {}
        for batch in batches_by_length(chunks.values(), TEXTS_PER_REQUEST):
            try:
                found = self._embedder.embed([each.text for each in batch])
            except EmbedderError:
                self._embedder.embed([PROBE_TEXT])
                for each in batch:
                    try:
                        (made[each.id],) = self._embedder.embed([each.text])
                    except EmbedderError as error:
                        failed[each.id] = error.message
            else:
                made |= zip((each.id for each in batch), found, strict=True)
        return made, failed

    def _version(self, seq: int) -> str:
        return make_version(self._store, self._store_id, seq, self._identity)
