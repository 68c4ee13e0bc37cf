"""One question on its way to an answer: the index first, vectors when it is not sure.

A question -> hits: the entrance, where what was asked for is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice

from vaultsync.errors import DerivedError, InvalidFieldError
from vaultsync.indexing.note_index_sync import catch_up_note_index
from vaultsync.indexing.ports import VectorIndex
from vaultsync.model.decay import recency, utility
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.model.schema import LOWEST_PRIORITY, TIERS
from vaultsync.model.time_span import TimeSpan
from vaultsync.recall.candidates import CONFIDENCE_HITS, Candidates
from vaultsync.recall.confidence import Evidence, confidence, term_coverage
from vaultsync.recall.explanation import (
    SNIPPET_LENGTH,
    HitReasons,
    QueryTerms,
    explain_hit,
    fact_text,
    snippet,
)
from vaultsync.recall.query import ParsedQuery
from vaultsync.recall.ranking import (
    HINT_MISMATCH_FACTOR,
    RankingSignals,
    blend_reranked,
    fuse,
    weighted_score,
)
from vaultsync.recall.request import RecallRequest, parse_request
from vaultsync.recall.result import Hit, RecallResult, RecallSources, RecallStage, StageCandidate

RECALL_MODES = ("auto", "index", "vector", "fused")
INDEX_ONLY_CONFIDENCE = 0.35
"""The confidence from which on the index answers alone. On LoCoMo it then answers four of
five questions, and the turn recall@5 is 0.69; with vectors every time it is 0.71."""
FUSED_CANDIDATES = 50
"""How many facts each of index and vectors names to be fused: with 30 or 100 the turn
recall@5 of LoCoMo is the same to 0.005."""
RERANKED_HITS = 20
"""How many of the best a reranker reads, and of each `READ` letters."""
RERANKED_CHARS = 2_000


class RecallSearch:
    """One question on its way to an answer."""

    def __init__(
        self,
        sources: RecallSources,
        asked: ParsedQuery,
        filters: FactFilters,
        agent: str | None,
        *,
        limit: int,
        fitting: float,
        explain: bool,
    ) -> None:
        self._sources = sources
        self._asked = asked
        self._filters = filters
        self._limit = limit
        self._explain = explain
        self._terms = QueryTerms(sources.index.tokens(asked.words))
        self._words: dict[str, float] = {}
        self._found = Candidates(
            sources.ctx,
            asked,
            filters,
            agent,
            by_words=self._words,
            limit=limit,
            fitting=fitting,
        )
        self._reached = 0
        """How many the index was asked for."""
        self._held: dict[str, dict[int, str]] = {}
        """Which of the terms facts have, as far as it was looked at."""
        self._near: dict[str, float] = {}
        self._chunks: dict[str, str] = {}
        self._preferred: set[str] = set()
        """Of what was found, that which is what the question hints at."""
        self._similar: dict[str, float] = {}
        self._trust = 1.0
        self.confidence = 0.0
        self.degraded = self._found.degraded
        self.stages: list[RecallStage] = []
        self.facts: list[Fact] = []
        """Those of the hits, in their order, each with the path of its note."""

    # --------------------------------------------------------------------- stages

    def answer(self, mode: str) -> str:
        """Find what fits, by one stage or two; returns which of them answered."""
        if mode != "vector":
            self._look_up()
            if mode == "index" or (mode == "auto" and self.confidence >= INDEX_ONLY_CONFIDENCE):
                return "index"
        missing = self._look_near(mode)
        if missing:
            self.degraded.append(f"Nothing was found by meaning: {missing}.")
            if mode == "vector":
                self._look_up()
            return "index"
        self._rerank()
        return "vector" if mode == "vector" else "fused"

    def _look_up(self) -> None:
        began = self._now()
        report = catch_up_note_index(self._sources.ctx, self._sources.index)
        if report.degraded:
            self.degraded.append(f"The index may be behind: {report.degraded}.")
        self._done("catch-up", began, {})
        began = self._now()
        self._gather(self._ask_words, limit=self._found.wanted + 1)
        self._done("index", began, self._words)

    def _look_near(self, mode: str) -> str:
        """Find what is near in meaning, too; returns why not when it cannot be done."""
        from vaultsync.indexing.embedding_texts import embedding_identity  # noqa: PLC0415 - the index needs none

        began = self._now()
        try:
            vectors, embedder = self._sources.vectors(), self._sources.embedder()
            if vectors is None or embedder is None:
                return "there is no model"
            held = vectors.identity()
            if held is None:
                return "there are no vectors yet; `vaultsync index` makes them"
            if held != str(embedding_identity(embedder, lends=True)):
                return "the vectors are another model's; `vaultsync index` renews them"
            (vector,) = embedder.embed([self._asked.said])
            self._done("embed", began, {})
            began = self._now()
            asks = [] if mode == "vector" else [self._ask_words]
            near = partial(self._ask_vectors, vectors, vector)
            self._gather(near, *asks, limit=max(FUSED_CANDIDATES, self._found.wanted + 1))
        except (DerivedError, ImportError, OSError) as error:
            return str(error)
        self._done("vector", began, self._near)
        self._done("fused", self._now(), self._similar)
        return ""

    def _rerank(self) -> None:
        reranker = self._sources.reranker()
        if reranker is None or not self._similar:
            return
        began = self._now()
        self._similar = self._found.read(self._similar)
        best = dict(islice(self._similar.items(), RERANKED_HITS))
        texts = [fact_text(fact)[:RERANKED_CHARS] for fact in map(self._found.fact, best)]
        try:
            scores = reranker.scores(self._asked.said, texts)
        except DerivedError as error:
            self.degraded.append(f"The hits were not reranked: {error}.")
            return
        self._similar = blend_reranked(self._similar, dict(zip(best, scores, strict=True)))
        self._done("rerank", began, self._similar)

    def _ask_words(self, limit: int) -> int:
        if self._reached < limit:
            for filters in self._narrowing():
                found = self._sources.index.search(
                    self._asked.words,
                    filters,
                    phrases=self._asked.phrases,
                    limit=limit,
                )
                self._words |= {each.fact_id: each.score for each in found}
                self._take_in((each.fact_id for each in found), filters)
            self._reached = limit
        return len(self._words)

    def _ask_vectors(self, vectors: VectorIndex, vector: Sequence[float], limit: int) -> int:
        for filters in self._narrowing():
            found = vectors.search(vector, filters, limit=limit)
            self._near |= {each.fact_id: each.similarity for each in found}
            self._chunks |= {each.fact_id: each.chunk_id for each in found}
            self._take_in((each.fact_id for each in found), filters)
        return len(self._near)

    def _narrowing(self) -> list[FactFilters]:
        """What to ask an index for: what may be found, and of that what is hinted at."""
        asked, wide = self._asked, self._filters
        if not asked.hints:
            return [wide]
        span = TimeSpan(wide.since, wide.until).within(asked.hinted_span or TimeSpan())
        tiers = [each for tier in asked.hinted_tiers for each in TIERS[tier]]
        narrow = wide._replace(
            types=wide.types or asked.hinted_types,
            max_priority=min(wide.max_priority, max(tiers, default=LOWEST_PRIORITY)),
            since=span.since,
            until=span.until,
        )
        return [wide, narrow]

    def _take_in(self, fact_ids: Iterable[str], filters: FactFilters) -> None:
        if filters is not self._filters:
            self._preferred.update(fact_ids)

    # --------------------------------------------------------------------- facts

    def _gather(self, *asks: Callable[[int], int], limit: int) -> None:
        """Ask for candidates until enough of them pass, and say how well each fits."""
        while True:
            full = [ask(limit) >= limit for ask in asks]
            fits = fuse(
                self._words,
                self._near,
                trust=self._trust,
                vectors=self._sources.weights.vectors,
            )
            if self._asked.hints:
                fits = {
                    each: fit if each in self._preferred else HINT_MISMATCH_FACTOR * fit
                    for each, fit in fits.items()
                }
            kept = self._found.passing(fits)
            if len(kept) > self._found.wanted or not any(full):
                break
            limit *= 4
        self._similar = self._found.similar(kept, fits)
        evidence = self._evidence(list(self._similar))
        self.confidence = confidence(evidence)
        if not self._near:
            self._trust = term_coverage(evidence)

    def _terms_in(self, fact: Fact) -> Mapping[int, str]:
        """The terms that a fact has, as they are written there."""
        if fact.id not in self._held:
            self._held[fact.id] = self._terms.held(fact_text(fact))
        return self._held[fact.id]

    def _evidence(self, kept: list[str]) -> Evidence:
        held = [self._terms_in(self._found.fact(each)) for each in kept[:CONFIDENCE_HITS]]
        return Evidence(
            terms=len(self._terms.all),
            held=[len(each) for each in held],
            words=[self._words[each] for each in kept if each in self._words],
            near=[self._near[each] for each in kept if each in self._near],
            facts=self._sources.index.count(),
        )

    # ---------------------------------------------------------------------- hits

    def hits(self) -> tuple[Hit, ...]:
        """The best of what was found and fits, scored with their time and use."""
        began = self._now()
        now = self._sources.ctx.clock.now()
        scored = []
        for fact_id, similar in self._similar.items():
            if not self._found.fits(similar):
                continue
            fact = self._found.fact(fact_id)
            signals = RankingSignals(
                similar,
                recency(fact.created_at, fact.type, now),
                utility(fact.importance, fact.access_count),
            )
            scored.append((-weighted_score(signals, self._sources.weights), fact_id, signals))
        scored.sort(key=lambda each: each[:2])
        self._done("score", began, {each[1]: -each[0] for each in scored})
        began = self._now()
        least = self._sources.weights.least
        best = [each for each in scored[: self._limit] if -each[0] >= least]
        paths = self._sources.ctx.archive.note_paths(each[1] for each in best)
        hits = []
        for total, fact_id, signals in best:
            fact = self._found.fact(fact_id).evolve(path=paths.get(fact_id))
            self.facts.append(fact)
            hits.append(self._hit(fact, -total, signals))
        self._done("tell", began, {})
        return tuple(hits)

    def _hit(self, fact: Fact, total: float, signals: RankingSignals) -> Hit:
        by_words, nearness = fact.id in self._words, self._near.get(fact.id)
        held = self._terms_in(fact)
        reasons = HitReasons(
            words=tuple(held.values()),
            asked=len(self._terms.all),
            nearness=nearness,
            prefers=self._asked.hints and self._asked.prefers(fact),
            accesses=fact.access_count,
            importance=fact.importance,
        )
        stage = "index" if nearness is None else "fused" if by_words else "vector"
        return Hit(
            id=fact.id,
            title=fact.title,
            type=fact.type,
            path=fact.path,
            score=round(total, 4),
            similarity=round(signals.similarity, 4),
            recency=round(signals.recency, 4),
            utility=round(signals.utility, 4),
            stage=stage,
            why=explain_hit(reasons),
            snippet=snippet(self._nearest(fact, held), self._terms),
        )

    def _nearest(self, fact: Fact, held: Mapping[int, str]) -> str:
        """Where in a fact to look for a passage: all of it, or the chunk that is near."""
        chunk = self._chunks.get(fact.id)
        if chunk is None or held or len(fact.content) <= SNIPPET_LENGTH:
            return fact.content
        from vaultsync.indexing.chunking import chunk_fact  # noqa: PLC0415 - the index needs none

        for each in chunk_fact(fact):
            if each.id == chunk and each.end > each.start:
                return fact.content[each.start : each.end]
        return fact.content

    def _now(self) -> float:
        return self._sources.ctx.clock.monotonic()

    def _done(self, name: str, began: float, scores: Mapping[str, float]) -> None:
        if self._explain:
            seen = tuple(StageCandidate(each, round(value, 4)) for each, value in scores.items())
            self.stages.append(RecallStage(name, self._now() - began, seen))


def recall(sources: RecallSources, asked: RecallRequest) -> RecallResult:
    """The facts that answer a question, best first. Changes nothing but the index.

    Written in the question itself, these filter too: `type:…`, `tag:…`, `tier:…`,
    `since:…`, `until:…`; and "phrases" must occur.

    Raises:
        InvalidFieldError, UnknownTypeError, InvalidScopeError: a filter makes no sense.
    """
    return recall_with_facts(sources, asked)[0]


def recall_with_facts(
    sources: RecallSources, asked: RecallRequest, *, fitting: float = 0.0
) -> tuple[RecallResult, Sequence[Fact]]:
    """The same, and the facts of its hits, each with the path of its note.

    What has a similarity less than `fitting` is left out.

    Raises: as `recall()`.
    """
    if asked.mode not in RECALL_MODES:
        raise InvalidFieldError("mode", asked.mode, "one of " + ", ".join(RECALL_MODES))
    began = sources.ctx.clock.monotonic()
    question, filters = parse_request(asked, today=sources.ctx.clock.now().date())
    work = RecallSearch(
        sources,
        question,
        filters,
        asked.agent,
        limit=asked.limit,
        fitting=fitting,
        explain=asked.explain,
    )
    source = work.answer(asked.mode)
    hits = work.hits()
    found = RecallResult(
        query=sources.ctx.view.redact_text(asked.query),
        source=source,
        confidence=round(work.confidence, 3),
        degraded=tuple(dict.fromkeys(work.degraded)),
        seconds=sources.ctx.clock.monotonic() - began,
        hits=hits,
        stages=tuple(work.stages),
    )
    return found, work.facts
