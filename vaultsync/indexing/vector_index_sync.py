"""Update the vector index from the store's feed, the most important and newest facts first.

A *round* brings the vectors from one row of the feed to a later one, its goal, in the order
of importance. What a kill leaves of a round is in the record: its goal, and the place in the
order that it reached. Rows behind the goal, which come while it lasts, go before what waits,
and are looked at once more in the next round, which then finds their vectors.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple, TypeAlias

from vaultsync.errors import DerivedError, EmbedderError, StoreUnavailableError
from vaultsync.indexing.chunking import MAX_CHUNK_SIZE, Chunk, token_quarters
from vaultsync.indexing.embedding_texts import (
    embedding_chunks,
    embedding_identity,
    facts_losing_context,
    instructions_for,
)
from vaultsync.indexing.ports import Embedder, NoteIndex, VectorIndex, VectorRow
from vaultsync.model.canonical import to_microseconds
from vaultsync.model.fact import Fact
from vaultsync.storage.clock import Clock
from vaultsync.storage.feed_cursor import (
    feed_backlog,
    make_version,
    seq_of_version,
    store_seq_of_version,
)
from vaultsync.storage.store import FeedRow, Store
from vaultsync.sync.context import ReadContext
from vaultsync.sync.report import EmbedReport, Progress

FACTS_PER_PAGE = 256
"""Facts that are compared with the index at once."""
FACTS_PER_READ = 1_000
"""Facts that are read at once to tell their order."""
TEXTS_PER_PUT = 256
"""Maximum number of texts after which their vectors are written."""
FIRST_PUT, SECONDS_PER_PUT = 64, 4.0
"""The texts of the first put, and how long those of the following ones may take: a kill loses
no more."""
TEXTS_PER_REQUEST = 300
"""Maximum number of texts per call of the embedder, which divides them into its own batches."""
FIRST_REQUEST, SECONDS_PER_REQUEST = 4 * MAX_CHUNK_SIZE, 0.5
"""The size of the first call, in `token_quarters()`, and how long the following ones may take:
a request to stop is looked at between two of them."""
CHARS_PER_TEXT = 300
"""Characters of a long fact for each of its texts, on average: the first estimate."""
PROBE_TEXT = "Is anyone there?"
"""Embedded to tell a text that cannot be embedded from a model that does not answer."""


def embed_pending(
    ctx: ReadContext,
    vectors: VectorIndex,
    embedder: Embedder,
    index: NoteIndex,
    *,
    progress: Progress | None = None,
    catch_up: Callable[[], object] | None = None,
) -> EmbedReport:
    """Bring the vectors up to the store's feed; failures are in the report.

    The facts of the highest priority come first, of equal ones the newest. Facts of a session
    are embedded in their context, so facts that the note index has not taken in yet wait for
    it. An interrupted run continues where it stopped. Vectors of another model, dimension or
    chunker are deleted, but not before the model has answered; `estimate_embedding_cost()`
    says what replacing them costs.

    Args:
        ctx: the store and the clock.
        vectors: the index to update.
        embedder: makes the vectors.
        index: the note index, for session context.
        progress: called with "embed", the texts done and the texts in all, as the lengths of
            the facts tell them.
        catch_up: brings the note index up to date. With it, facts that are written meanwhile
            are processed before those that wait; without it they are left to the next run.
    """
    began = ctx.clock.monotonic()
    store = ctx.redacted_store
    work = _EmbeddingRun(store, vectors, embedder, index, ctx.clock, progress, catch_up)
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
    facts = 0
    with suppress(DerivedError):  # the index may be what is unavailable
        facts = vectors.count()
    return EmbedReport(
        facts=facts,
        put=work.put,
        embedded=work.embedded,
        reused=work.reused,
        removed=work.removed,
        left=work.left,
        waiting=waiting,
        seconds=ctx.clock.monotonic() - began,
        degraded=why,
    )


Place: TypeAlias = tuple[int, int, int]
"""Where a fact stands in the order: its priority, its age, and that of its row."""


class _IndexRecord(NamedTuple):
    """The record that is stored with the vectors."""

    version: str | None = None
    """Of the last round that was finished."""
    waiting: Mapping[str, str] = {}
    goal: str | None = None
    """The version that the present round ends at."""
    done: Place | None = None
    """The place that it reached."""

    @classmethod
    def parse(cls, text: str | None) -> _IndexRecord:
        values = json.loads(text) if text else {}
        if values.get("done"):
            values["done"] = tuple(values["done"])
        return cls(**values)

    def __str__(self) -> str:
        return json.dumps(self._asdict())


class _Queued(NamedTuple):
    """A fact of the feed that is to be processed."""

    place: Place
    fact_id: str
    texts: int
    """How many it has, as its length tells."""
    in_round: bool = True
    """Whether the round advances by it."""


class _FactChunks(NamedTuple):
    """A fact to process with its chunks; without both when it was deleted."""

    fact_id: str
    fact: Fact | None = None
    chunks: Sequence[Chunk] = ()
    queued: _Queued | None = None
    """None when the feed does not name it."""


def unembedded_note(ctx: ReadContext, vectors: VectorIndex, share: float) -> list[str]:
    """A sentence that says which share of the facts semantic search knows so far.

    Nothing if each fact that gets vectors has them: observations that are pending or in the
    background get none.
    """
    with suppress(StoreUnavailableError):
        state = ctx.redacted_store.state()
        version = _IndexRecord.parse(vectors.record()).version
        if store_seq_of_version(version, state.store_id) >= state.seq:
            return []
    known = f"Semantic search knows {int(100 * share)} % of the facts so far"
    return [f"{known}; keyword search finds the others (`vaultsync status` shows the progress)."]


@dataclass(slots=True)
class _EmbeddingRun:
    """One run of `embed_pending()`, and how far it has come."""

    store: Store
    vectors: VectorIndex
    embedder: Embedder
    index: NoteIndex
    clock: Clock
    progress: Progress | None
    catch_up: Callable[[], object] | None
    identity: str = ""
    store_id: str = ""
    record: _IndexRecord = field(default_factory=_IndexRecord)
    seen: int = 0
    """The last row of the feed that was looked at."""
    news: dict[str, int] = field(default_factory=dict)
    """The facts that were processed ahead of the round, and their rows of the feed."""
    processed: set[str] = field(default_factory=set)
    """All facts that were."""
    left: int = 0
    """Facts of the feed that are not processed yet."""
    estimated_left: int = 0
    """Their texts, as their lengths tell."""
    estimated: int = 0
    """The same of the facts that were processed, which had `texts`."""
    texts: int = 0
    put: int = 0
    embedded: int = 0
    reused: int = 0
    removed: int = 0
    request_size: float = FIRST_REQUEST
    """Of the next call of the embedder, in `token_quarters()`."""
    reported_at: float = 0.0
    """When the progress was reported last."""
    texts_per_put: int = field(default_factory=lambda: min(FIRST_PUT, TEXTS_PER_PUT))

    def run(self) -> None:
        """Process the feed, facts that wait, and what differs.

        Raises:
            DerivedError, StoreUnavailableError, OSError: it was interrupted; what was done
                until then is in the record.
        """
        self.reported_at = self.clock.monotonic()
        self.identity = embedding_identity(self.embedder)
        if self.vectors.identity() != self.identity:
            self.embedder.embed([PROBE_TEXT])
            self.vectors.reset(self.identity)
        self.record = _IndexRecord.parse(self.vectors.record())
        waited = self.record.waiting.keys()
        complete = self._round()
        self._process_facts([_FactChunks(each) for each in sorted(waited - self.processed)])
        while complete and self.catch_up is not None and self._has_news():
            self.catch_up()
            complete = self._round()
        if self.put or self.removed:
            self.vectors.tidy()

    def _round(self) -> bool:
        """Go from the record's version as far as the note index; whether that is the end."""
        record = self.record
        backlog = feed_backlog(self.store, record.version, self.identity)
        self.store_id, rows, self.seen = backlog.store_id, backlog.rows, backlog.end.seq
        goal = seq_of_version(self.store, self.store_id, record.goal, self.identity)
        if backlog.is_full and (goal is None or record.version):
            goal, record = None, _IndexRecord()
        reached = store_seq_of_version(self.index.version(), self.store_id)
        known = [row for row in rows if row.seq <= reached]
        self.left += sum(self.news.get(row.fact_id) != row.seq for row in rows)
        if rows and not known:
            raise DerivedError(
                "the note index is out of date, so the context of the changed facts is unknown",
                hint="the next run continues",
            )
        if goal is None:
            goal = known[-1].seq if known else self.seen
            record = record._replace(
                goal=make_version(self.store, self.store_id, goal, self.identity), done=None
            )
        self.record = record
        self._process_ahead([row for row in known if row.seq > goal])
        queue = self._queue(row for row in known if row.seq <= goal)
        done = [each for each in queue if record.done and each.place <= record.done]
        self.left -= len(done)
        self.estimated_left -= sum(each.texts for each in done)
        for page in self._pages(queue[len(done) :]):
            self._process_queued(page)
            self._process_news()
        complete = len(known) == len(rows)
        if complete and (rows or backlog.is_full):
            self._compare()
        before, self.record = self.record, _IndexRecord(self.record.goal, self.record.waiting)
        if rows or self.record.version != before.version:
            self.vectors.put([], record=str(self.record))
        return complete

    def _has_news(self) -> bool:
        return self.store.state().seq != self.seen

    def _process_news(self) -> None:
        """Process what was written since the feed was last looked at."""
        if self.catch_up is None or not self._has_news():
            return
        self.catch_up()
        reached = store_seq_of_version(self.index.version(), self.store_id)
        rows = [row for row in self.store.feed(self.seen) if row.seq <= reached]
        if rows:
            self.seen = rows[-1].seq
            self.left += len(rows)
            self._process_ahead(rows)

    def _process_ahead(self, rows: Collection[FeedRow]) -> None:
        """Process rows behind the goal of the round, which does not advance by them."""
        for page in self._pages(self._queue(rows)):
            self._process_queued([each._replace(in_round=False) for each in page])
        self.news.update((row.fact_id, row.seq) for row in rows)

    def _pages(self, queue: Sequence[_Queued]) -> Iterator[list[_Queued]]:
        """A queue in pages of about as many texts as are put at once."""
        page: list[_Queued] = []
        texts = 0
        for each in queue:
            page.append(each)
            texts += each.texts
            if texts >= self.texts_per_put or len(page) >= FACTS_PER_PAGE:
                yield page
                page, texts = [], 0
        if page:
            yield page

    def _queue(self, rows: Iterable[FeedRow]) -> list[_Queued]:
        """The facts of rows in the order in which they are processed, deleted ones first.

        Those that were processed ahead of the round are left out.
        """
        new = [row for row in rows if self.news.get(row.fact_id) != row.seq]
        queue = []
        for start in range(0, len(new), FACTS_PER_READ):
            page = new[start : start + FACTS_PER_READ]
            facts = self.store.find_many([row.fact_id for row in page])
            queue += [_queued(row, facts.get(row.fact_id)) for row in page]
        self.estimated_left += sum(each.texts for each in queue)
        return sorted(queue)

    def _process_queued(self, page: Sequence[_Queued]) -> None:
        """Process facts of the feed.

        Their neighbours are processed too, because their context changed.
        """
        facts = self.store.find_many([each.fact_id for each in page])
        gone = [each.fact_id for each in page if each.fact_id not in facts]
        losing = facts_losing_context(self.store, self.index, facts, gone)
        # Those without vectors are in the feed themselves.
        neighbours = self.store.find_many(self.vectors.chunks(losing))
        items = [*map(_FactChunks, neighbours)]
        items += [_FactChunks(each.fact_id, queued=each) for each in page]
        self._process(self._chunked(items, {**facts, **neighbours}))

    def _process_facts(self, items: Sequence[_FactChunks]) -> None:
        """Process facts that the feed does not name."""
        for start in range(0, len(items), FACTS_PER_PAGE):
            page = items[start : start + FACTS_PER_PAGE]
            facts = self.store.find_many([each.fact_id for each in page])
            self._process(self._chunked(page, facts))

    def _chunked(
        self, items: Sequence[_FactChunks], facts: Mapping[str, Fact]
    ) -> list[_FactChunks]:
        """Items with their facts, where these exist, and the chunks of these."""
        chunks = embedding_chunks(self.store, self.index, facts)
        return [
            each._replace(fact=facts.get(each.fact_id), chunks=chunks.get(each.fact_id, ()))
            for each in items
        ]

    def _compare(self) -> None:
        """Process the facts in which index and store differ, if their numbers do."""
        missing = self.record.waiting.keys() - self.vectors.chunks(self.record.waiting)
        if self.vectors.count() + len(missing) == self.store.state().facts:
            return
        alive = {row.fact_id for row in self.store.feed() if not row.deleted}
        indexed = self.vectors.chunks().keys()
        self._process_facts([_FactChunks(each) for each in sorted((indexed ^ alive) - missing)])

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
            if len(to_embed) >= self.texts_per_put:
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
        began = self.clock.monotonic()
        embedded, failed = self._embed(to_embed)
        took = self.clock.monotonic() - began
        if took > 0 and to_embed:
            in_time = round(len(to_embed) * SECONDS_PER_PUT / took)
            self.texts_per_put = max(1, min(in_time, TEXTS_PER_PUT))
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
        reached = [item.queued for item in batch if item.queued]
        places = [each.place for each in reached if each.in_round]
        done = places[-1] if places else self.record.done
        record = self.record._replace(waiting=waiting, done=done)
        if put or record != self.record:
            replace = [item.fact_id for item in put]
            self.vectors.put(rows, replace=replace, record=str(record))
            self.record = record
        gone = sum(item.fact is None for item in put)
        self.removed += gone
        self.put += len(put) - gone
        self.embedded += len(embedded)
        self.reused += len(rows) - len({row.chunk_id for row in rows} & embedded.keys())
        self.processed |= processed
        self._count(reached, sum(len(item.chunks) for item in batch if item.queued))

    def _count(self, reached: Collection[_Queued], texts: int) -> None:
        """Count facts of the feed that were processed, and tell the progress."""
        estimated = sum(each.texts for each in reached)
        self.left -= len(reached)
        self.estimated_left -= estimated
        self.estimated += estimated
        self.texts += texts
        if reached:
            self._report()

    def _report(self) -> None:
        """Report the progress; the callback may stop the run by an exception."""
        self.reported_at = self.clock.monotonic()
        if self.progress is not None:
            left = self.estimated_left * self.texts / max(self.estimated, 1)
            self.progress("embed", self.texts, self.texts + round(left))

    def _embed(
        self, chunks: Mapping[str, Chunk]
    ) -> tuple[dict[str, Sequence[float]], dict[str, str]]:
        """Chunk id -> vector, and chunk id -> why it could not be embedded.

        Raises:
            EmbedderError: the model does not answer at all.
        """
        before = instructions_for(self.embedder.model).text
        embedded: dict[str, Sequence[float]] = {}
        failed: dict[str, str] = {}
        # A model embeds texts of similar length with little padding.
        ordered = deque(sorted(chunks.values(), key=lambda each: (len(each.text), each.id)))
        while ordered:
            batch = self._next_request(ordered)
            began = self.clock.monotonic()
            try:
                vectors = self.embedder.embed([before + each.text for each in batch])
            except EmbedderError:
                self.embedder.embed([PROBE_TEXT])
                for each in batch:
                    try:
                        (embedded[each.id],) = self.embedder.embed([before + each.text])
                    except EmbedderError as error:
                        failed[each.id] = error.message
                    self._report_in_time()
            else:
                embedded |= zip((each.id for each in batch), vectors, strict=True)
                self._fit_request(batch, self.clock.monotonic() - began)
                self._report_in_time()
        return embedded, failed

    def _fit_request(self, batch: Iterable[Chunk], seconds: float) -> None:
        """Fit the size of the next call to the time of the last one."""
        size = sum(token_quarters(each.text) for each in batch)
        self.request_size = size * SECONDS_PER_REQUEST / seconds if seconds > 0 else inf

    def _report_in_time(self) -> None:
        if self.clock.monotonic() - self.reported_at >= SECONDS_PER_REQUEST:
            self._report()

    def _next_request(self, ordered: deque[Chunk]) -> list[Chunk]:
        """Take the texts of the next call of the embedder: one at least, or as many as fit."""
        batch: list[Chunk] = []
        size = 0
        while ordered and len(batch) < TEXTS_PER_REQUEST:
            size += token_quarters(ordered[0].text)
            if batch and size > self.request_size:
                break
            batch.append(ordered.popleft())
        return batch


def _queued(row: FeedRow, fact: Fact | None) -> _Queued:
    """A fact of the feed, and where it stands in the order."""
    if fact is None:
        return _Queued((-1, 0, -row.seq), row.fact_id, 0)
    age = -to_microseconds(fact.updated_at or fact.created_at)
    size = len(fact.content)
    if size > MAX_CHUNK_SIZE:
        from vaultsync.markdown.encoded_data import without_encoded_data  # noqa: PLC0415 - rare

        size = len(without_encoded_data(fact.content))
    texts = 1 + size // CHARS_PER_TEXT if size > MAX_CHUNK_SIZE else 1
    return _Queued((fact.priority, age, -row.seq), row.fact_id, texts)
