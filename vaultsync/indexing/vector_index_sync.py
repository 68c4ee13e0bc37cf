"""Bring the vector index up to the store's feed."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec import Struct

from vaultsync.errors import DerivedError, EmbedderError, StoreUnavailableError
from vaultsync.indexing.chunking import Chunk
from vaultsync.indexing.embedding_texts import (
    embedding_chunks,
    embedding_identity,
    facts_losing_context,
)
from vaultsync.indexing.ports import Embedder, NoteIndex, VectorIndex, VectorRow
from vaultsync.model.fact import Fact
from vaultsync.storage.feed_cursor import feed_backlog, make_version, store_seq_of_version
from vaultsync.storage.store import Store
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
    index: NoteIndex,
    *,
    progress: Progress | None = None,
) -> EmbedReport:
    """Bring the vectors up to the store's feed; failures are in the report.

    Facts of a session are embedded in their context, so facts that the note index has not
    taken in yet wait for it. An interrupted run continues where it
    stopped. Vectors of another model, dimension or chunker are deleted, but not before the
    model has answered; `estimate_embedding_cost()` says what replacing them costs.

    Args:
        ctx: the store and the clock.
        vectors: the index to update.
        embedder: makes the vectors.
        index: the note index, for session context.
        progress: called with "embed", the facts done and the facts in all.
    """
    began = ctx.clock.monotonic()
    work = _EmbeddingRun(ctx.redacted_store, vectors, embedder, index, progress)
    why = ""
    try:
        work.run()
    except (DerivedError, StoreUnavailableError) as error:
        why = error.message
    except OSError as error:
        why = f"the vectors cannot be written: {error.strerror or error}"
    waiting = work.record.waiting
    if waiting and not why:
        number = f"{len(waiting)} fact{'s' if len(waiting) > 1 else ''}"
        why = f"a text of {number} could not be embedded"
    return EmbedReport(
        facts=vectors.count(),
        put=work.put,
        embedded=work.embedded,
        reused=work.reused,
        removed=work.removed,
        left=work.total - work.done,
        waiting=waiting,
        seconds=ctx.clock.monotonic() - began,
        degraded=why,
    )


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


@dataclass(slots=True)
class _EmbeddingRun:
    """One run of `embed_pending()`, and how far it has come."""

    store: Store
    vectors: VectorIndex
    embedder: Embedder
    index: NoteIndex
    progress: Progress | None
    identity: str = ""
    store_id: str = ""
    record: _IndexRecord = field(default_factory=_IndexRecord)
    total: int = 0
    """Rows of the feed."""
    done: int = 0
    """Of them."""
    put: int = 0
    embedded: int = 0
    reused: int = 0
    removed: int = 0

    def run(self) -> None:
        """Process the feed, facts that wait, and what differs.

        Raises:
            DerivedError, StoreUnavailableError, OSError: it was interrupted; what was done
                until then is in the record.
        """
        self.identity = embedding_identity(self.embedder)
        if self.vectors.identity() != self.identity:
            self.embedder.embed([PROBE_TEXT])
            self.vectors.reset(self.identity)
        self.record = _IndexRecord.parse(self.vectors.record())
        backlog = feed_backlog(self.store, self.record.version, self.identity)
        self.store_id, self.total = backlog.store_id, len(backlog.rows)
        if backlog.is_full:
            self.record = _IndexRecord()
        changed = {row.fact_id for row in backlog.rows}
        retried = dict.fromkeys(sorted(self.record.waiting.keys() - changed), 0)
        reached = store_seq_of_version(self.index.version(), self.store_id)
        rows = [row for row in backlog.rows if row.seq <= reached]
        self._process_facts({row.fact_id: row.seq for row in rows})
        self._process_facts(retried)
        if len(rows) == len(backlog.rows) and (changed or backlog.is_full):
            self._compare()
            record = self.record._replace(version=self._version(backlog.end.seq))
            if record != self.record:  # the feed was empty
                self.vectors.put([], record=str(record))
        if self.put or self.removed:
            self.vectors.tidy()
        if backlog.rows and not rows:
            raise DerivedError(
                "the note index is behind, so the context of the changed facts is not known",
                hint="the next run continues",
            )

    def _process_facts(self, seqs: Mapping[str, int]) -> None:
        """Process facts, each with its seq in the feed or 0.

        Neighbours of facts in the feed are processed too, because their context changed.
        """
        fact_ids = list(seqs)
        for start in range(0, len(fact_ids), FACTS_PER_PAGE):
            page = fact_ids[start : start + FACTS_PER_PAGE]
            facts = self.store.find_many(page)
            neighbours: Mapping[str, Fact] = {}
            if seqs[page[0]]:
                gone = [each for each in page if each not in facts]
                losing = facts_losing_context(self.store, self.index, facts, gone)
                # Those without vectors are in the feed themselves.
                neighbours = self.store.find_many(self.vectors.chunks(losing))
            chunks = embedding_chunks(self.store, self.index, {**facts, **neighbours})
            items = [_FactChunks(key, fact, chunks[key]) for key, fact in neighbours.items()]
            items += [
                _FactChunks(each, facts.get(each), chunks.get(each, ()), seqs[each])
                for each in page
            ]
            self._process(items)

    def _compare(self) -> None:
        """Process the facts in which index and store differ, if their numbers do."""
        missing = self.record.waiting.keys() - self.vectors.chunks(self.record.waiting)
        if self.vectors.count() + len(missing) == self.store.state().facts:
            return
        alive = {row.fact_id for row in self.store.feed() if not row.deleted}
        indexed = self.vectors.chunks().keys()
        self._process_facts(dict.fromkeys(sorted((indexed ^ alive) - missing), 0))

    def _process(self, items: Sequence[_FactChunks]) -> None:
        """Write the vectors of facts that changed."""
        indexed = self.vectors.chunks(item.fact_id for item in items)
        outdated = self.vectors.outdated(item.fact for item in items if item.fact)
        changed = {
            item.fact_id
            for item in items
            if item.fact_id in outdated
            or indexed.get(item.fact_id, set()) != {chunk.id for chunk in item.chunks}
        }
        known = self.vectors.vectors(
            chunk.id for item in items if item.fact_id in changed for chunk in item.chunks
        )
        batch: list[_FactChunks] = []
        to_embed: dict[str, Chunk] = {}
        for item in items:
            batch.append(item)
            if item.fact_id in changed:
                to_embed |= {each.id: each for each in item.chunks if each.id not in known}
            if len(to_embed) >= TEXTS_PER_PUT:
                self._write(batch, changed, known, to_embed)
                batch, to_embed = [], {}
        self._write(batch, changed, known, to_embed)

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
        waiting = {k: why for k, why in self.record.waiting.items() if k not in processed}
        for item in put:
            for each in item.chunks:
                if each.id in failed:
                    waiting[item.fact_id] = failed[each.id]
        reached = [item.seq for item in batch if item.seq]
        version = self._version(reached[-1]) if reached else self.record.version
        record = _IndexRecord(version, waiting)
        if put or record != self.record:
            replace = [item.fact_id for item in put]
            self.vectors.put(rows, replace=replace, record=str(record))
            self.record = record
        gone = sum(item.fact is None for item in put)
        self.removed += gone
        self.put += len(put) - gone
        self.embedded += len(embedded)
        self.reused += len(rows) - len({row.chunk_id for row in rows} & embedded.keys())
        self.done += len(reached)
        if reached and self.progress is not None:
            self.progress("embed", self.done, self.total)

    def _embed(
        self, chunks: Mapping[str, Chunk]
    ) -> tuple[dict[str, Sequence[float]], dict[str, str]]:
        """Chunk id -> vector, and chunk id -> why it could not be embedded.

        Raises:
            EmbedderError: the model does not answer at all.
        """
        embedded: dict[str, Sequence[float]] = {}
        failed: dict[str, str] = {}
        # A model embeds texts of similar length with little padding.
        ordered = sorted(chunks.values(), key=lambda each: (len(each.text), each.id))
        for start in range(0, len(ordered), TEXTS_PER_REQUEST):
            batch = ordered[start : start + TEXTS_PER_REQUEST]
            try:
                vectors = self.embedder.embed([each.text for each in batch])
            except EmbedderError:
                self.embedder.embed([PROBE_TEXT])
                for each in batch:
                    try:
                        (embedded[each.id],) = self.embedder.embed([each.text])
                    except EmbedderError as error:
                        failed[each.id] = error.message
            else:
                embedded |= zip((each.id for each in batch), vectors, strict=True)
        return embedded, failed

    def _version(self, seq: int) -> str:
        return make_version(self.store, self.store_id, seq, self.identity)
