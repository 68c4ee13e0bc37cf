"""Bring the vector index up to the store's feed."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

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
from vaultsync.storage.feed_cursor import feed_backlog, make_version, store_seq_of_version
from vaultsync.storage.store import FeedRow
from vaultsync.sync.context import ReadContext
from vaultsync.sync.report import Progress

FACTS_PER_PAGE = 256
"""Facts that are compared with the index at once."""
TEXTS_PER_PUT = 256
"""Texts after which their vectors are written: a few seconds of work."""
TEXTS_PER_REQUEST = 300
"""Texts per call of the embedder, which divides them into its own batches."""
PROBE_TEXT = "Is anyone there?"
"""Embedded to tell a text that cannot be embedded from a model that does not answer."""


class EmbedReport(Struct, frozen=True):
    """What was done to bring the vectors up to date."""

    facts: int = 0
    """Facts in the index."""
    put: int = 0
    """Facts whose vectors were written, reused ones among them."""
    embedded: int = 0
    """Texts that were embedded."""
    reused: int = 0
    """Texts whose vectors were in the index before."""
    removed: int = 0
    """Deleted facts whose vectors were removed."""
    left: int = 0
    """Changed facts that were not processed."""
    waiting: Mapping[str, str] = {}
    """Id of each fact with a text that could not be embedded -> why; retried next time."""
    seconds: float = 0.0
    degraded: str = ""
    """Why the vectors may be behind the facts; empty when they are not."""


def embed_pending(
    ctx: ReadContext,
    vectors: VectorIndex,
    embedder: Embedder,
    *,
    index: NoteIndex | None = None,
    budget: int | None = None,
    progress: Progress | None = None,
) -> EmbedReport:
    """Bring the vectors up to the store's feed; failures are in the report.

    With a note index, facts of a session are embedded in their context, and facts that the
    note index has not taken in yet wait for it. An interrupted run continues where it
    stopped. Vectors of another model, dimension or chunker are deleted, but not before the
    model has answered; `estimate_embedding_cost()` says what replacing them costs.

    Args:
        ctx: the store and the clock.
        vectors: the index to update.
        embedder: makes the vectors.
        index: the note index, for session context; None for none.
        budget: maximum number of texts to embed; None is no limit, 0 processes only facts
            that need no embedding.
        progress: called with "embed", the facts done and the facts in all.
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
    """The record that is stored with the vectors."""

    version: str | None = None
    waiting: Mapping[str, str] = {}

    @classmethod
    def parse(cls, text: str | None) -> _IndexRecord:
        return cls(**json.loads(text)) if text else cls()

    def __str__(self) -> str:
        return json.dumps({"version": self.version, "waiting": dict(self.waiting)})


class _FactChunks(NamedTuple):
    """A fact to process with its chunks; without both when it was deleted."""

    fact_id: str
    fact: Fact | None = None
    chunks: Sequence[Chunk] = ()
    seq: int = 0
    """Of its row in the feed; 0 when the feed does not name it."""


class _EmbeddingRun:
    """One run of `embed_pending()`, and how far it has come."""

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
        """Process the feed, facts that wait, and what differs, until the budget is spent.

        Raises:
            DerivedError, StoreUnavailableError, OSError: it was interrupted; what was done
                until then is in the record.
        """
        with_context = self._index is not None
        self._identity = str(embedding_identity(self._embedder, with_context=with_context))
        if self._vectors.identity() != self._identity:
            self._embedder.embed([PROBE_TEXT])
            self._vectors.reset(self._identity)
        self._record = _IndexRecord.parse(self._vectors.record())
        backlog = feed_backlog(self._store, self._record.version, self._identity)
        self._store_id, self._all = backlog.store_id, len(backlog.rows)
        if backlog.is_full:
            self._record = _IndexRecord()
        changed = {row.fact_id for row in backlog.rows}
        retried = dict.fromkeys(sorted(self._record.waiting.keys() - changed), 0)
        rows = self._indexed_rows(backlog.rows)
        in_feed = {row.fact_id: row.seq for row in rows}
        is_complete = self._process_facts(in_feed) and self._process_facts(retried)
        if is_complete and len(rows) == len(backlog.rows) and (changed or backlog.is_full):
            self._compare()
            record = self._record._replace(version=self._version(backlog.end.seq))
            if record != self._record:  # the feed was empty
                self._vectors.put([], record=str(record))
        if self._put or self._removed:
            self._vectors.tidy()
        if backlog.rows and not rows:
            raise DerivedError(
                "the note index is behind, so the context of the changed facts is not known",
                hint="the next run continues",
            )

    def _indexed_rows(self, rows: list[FeedRow]) -> list[FeedRow]:
        """The rows of the feed that the note index has taken in, if there is one."""
        if self._index is None:
            return rows
        reached = store_seq_of_version(self._index.version(), self._store_id)
        return [row for row in rows if row.seq <= reached]

    def report(self, why: str, seconds: float) -> EmbedReport:
        waiting = self._record.waiting
        if waiting and not why:
            number = f"{len(waiting)} fact{'s' if len(waiting) > 1 else ''}"
            why = f"a text of {number} could not be embedded"
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

    def _process_facts(self, seqs: Mapping[str, int]) -> bool:
        """Process facts, each with its seq in the feed or 0; False when the budget is spent.

        Neighbours of facts in the feed are processed too, because their context changed.
        """
        fact_ids = list(seqs)
        for start in range(0, len(fact_ids), FACTS_PER_PAGE):
            page = fact_ids[start : start + FACTS_PER_PAGE]
            facts = self._store.find_many(page)
            neighbours: Mapping[str, Fact] = {}
            if seqs[page[0]]:
                gone = [each for each in page if each not in facts]
                losing = facts_losing_context(self._store, self._index, facts, gone)
                # Those without vectors are in the feed themselves.
                neighbours = self._store.find_many(self._vectors.chunks(losing))
            chunks = embedding_chunks(self._store, self._index, {**facts, **neighbours})
            items = [_FactChunks(key, fact, chunks[key]) for key, fact in neighbours.items()]
            items += [
                _FactChunks(each, facts.get(each), chunks.get(each, ()), seqs[each])
                for each in page
            ]
            if not self._process(items):
                return False
        return True

    def _compare(self) -> None:
        """Process the facts in which index and store differ, if their numbers do."""
        missing = self._record.waiting.keys() - self._vectors.chunks(self._record.waiting)
        if self._vectors.count() + len(missing) == self._store.state().facts:
            return
        alive = {row.fact_id for row in self._store.feed() if not row.deleted}
        indexed = self._vectors.chunks().keys()
        self._process_facts(dict.fromkeys(sorted((indexed ^ alive) - missing), 0))

    def _process(self, items: Sequence[_FactChunks]) -> bool:
        """Write the vectors of facts that changed; False when the budget is spent."""
        indexed = self._vectors.chunks(item.fact_id for item in items)
        outdated = self._vectors.outdated(item.fact for item in items if item.fact)
        changed = {
            item.fact_id
            for item in items
            if item.fact_id in outdated
            or indexed.get(item.fact_id, set()) != {chunk.id for chunk in item.chunks}
        }
        known = self._vectors.vectors(
            chunk.id for item in items if item.fact_id in changed for chunk in item.chunks
        )
        batch: list[_FactChunks] = []
        to_embed: dict[str, Chunk] = {}
        for item in items:
            wanted = {**to_embed}
            if item.fact_id in changed:
                wanted |= {each.id: each for each in item.chunks if each.id not in known}
            if self._budget is not None and self._embedded + len(wanted) > self._budget:
                self._write(batch, changed, known, to_embed)
                return False
            batch, to_embed = [*batch, item], wanted
            if len(to_embed) >= TEXTS_PER_PUT:
                self._write(batch, changed, known, to_embed)
                batch, to_embed = [], {}
        self._write(batch, changed, known, to_embed)
        return True

    def _write(
        self,
        batch: Sequence[_FactChunks],
        changed: Collection[str],
        known: dict[str, Sequence[float]],
        to_embed: Mapping[str, Chunk],
    ) -> None:
        """Embed the new texts of a batch, and write the vectors of facts that changed."""
        embedded, failed = self._embed(to_embed)
        known |= embedded
        put = [item for item in batch if item.fact_id in changed]
        rows = [
            VectorRow(item.fact, each.id, known[each.id])
            for item in put
            if item.fact is not None
            for each in item.chunks
            if each.id in known
        ]
        processed = {item.fact_id for item in batch}
        waiting = {k: why for k, why in self._record.waiting.items() if k not in processed}
        for item in put:
            for each in item.chunks:
                if each.id in failed:
                    waiting[item.fact_id] = failed[each.id]
        reached = [item.seq for item in batch if item.seq]
        version = self._version(reached[-1]) if reached else self._record.version
        record = _IndexRecord(version, waiting)
        if put or record != self._record:
            replace = [item.fact_id for item in put]
            self._vectors.put(rows, replace=replace, record=str(record))
            self._record = record
        gone = sum(item.fact is None for item in put)
        self._removed += gone
        self._put += len(put) - gone
        self._embedded += len(embedded)
        self._reused += len(rows) - len({row.chunk_id for row in rows} & embedded.keys())
        self._done += len(reached)
        if reached and self._progress is not None:
            self._progress("embed", self._done, self._all)

    def _embed(
        self, chunks: Mapping[str, Chunk]
    ) -> tuple[dict[str, Sequence[float]], dict[str, str]]:
        """Chunk id -> vector, and chunk id -> why it could not be embedded.

        Raises:
            EmbedderError: the model does not answer at all.
        """
        embedded: dict[str, Sequence[float]] = {}
        failed: dict[str, str] = {}
        for batch in batches_by_length(chunks.values(), TEXTS_PER_REQUEST):
            try:
                vectors = self._embedder.embed([each.text for each in batch])
            except EmbedderError:
                self._embedder.embed([PROBE_TEXT])
                for each in batch:
                    try:
                        (embedded[each.id],) = self._embedder.embed([each.text])
                    except EmbedderError as error:
                        failed[each.id] = error.message
            else:
                embedded |= zip((each.id for each in batch), vectors, strict=True)
        return embedded, failed

    def _version(self, seq: int) -> str:
        return make_version(self._store, self._store_id, seq, self._identity)
