"""Answer a question: keyword search first, semantic search when that is not confident enough.

An index proposes candidates and the store decides: each candidate is loaded from the store
and checked again, so that an answer holds nothing that an index has not heard of yet, or
that the agent must not see.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import filterfalse, islice

from vaultsync.errors import DerivedError, InvalidFieldError, StoreUnavailableError
from vaultsync.indexing.note_index_sync import catch_up_note_index
from vaultsync.indexing.ports import NearFact, VectorIndex
from vaultsync.model.decay import recency, utility
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.model.scope import can_see
from vaultsync.recall.explanation import (
    SNIPPET_LENGTH,
    QueryTerms,
    explain_hit,
    fact_text,
    has_phrases,
    snippet,
)
from vaultsync.recall.hidden_facts import count_hidden
from vaultsync.recall.query import hinted_filters, parse_request
from vaultsync.recall.ranking import (
    HINT_MISMATCH_FACTOR,
    RankingSignals,
    blend_reranked,
    chunks_similarity,
    confidence,
    fuse,
    rescale_similarities,
    weighted_score,
)
from vaultsync.recall.recall_request import RecallRequest
from vaultsync.recall.result import Hit, RecallResult, RecallSources, RecallStage, StageCandidate

_log = logging.getLogger(__name__)

RECALL_MODES = ("auto", "index", "vector", "fused")
INDEX_ONLY_CONFIDENCE = 0.35
"""Minimum confidence with which keyword search answers alone. Measured: on LoCoMo it then
answers four of five questions with recall@5 0.69; semantic search every time gives 0.71."""
POOL_SIZE = 30
"""Best candidates that are loaded and scored; three times the limit where that is more."""
CONFIDENCE_HITS = 5
"""The confidence is about the first five hits, so it looks at these."""
FUSED_CANDIDATES = 50
"""Candidates of each search that are fused. Measured: with 30 or 100, LoCoMo's recall@5 is
the same to 0.005."""
RERANKED_HITS = 20
"""Best candidates that a reranker reads, `RERANKED_CHARS` of each."""
RERANKED_CHARS = 2_000


class RecallSearch:
    """One question on its way to an answer.

    Args:
        sources: where facts and indexes are.
        request: the question and its filters.
        min_similarity: minimum similarity of a hit, 0 to 1.

    Raises:
        InvalidFieldError, UnknownTypeError, InvalidScopeError: a filter is invalid.
    """

    def __init__(
        self, sources: RecallSources, request: RecallRequest, *, min_similarity: float = 0.0
    ) -> None:
        if request.mode not in RECALL_MODES:
            raise InvalidFieldError("mode", request.mode, "one of " + ", ".join(RECALL_MODES))
        self._clock = sources.ctx.clock
        self._began = self._stage_began = self._clock.monotonic()
        self._sources = sources
        self.index = sources.index
        """The index that answers; an agent may have one of its own."""
        self._request = request
        self._min_similarity = min_similarity
        query, self._filters = parse_request(request, now=self._clock.now())
        self._query = query
        self._filters_to_ask = [self._filters]
        """The filters and, in a query of its own, what of that the question hints at."""
        if query.has_hints:
            self._filters_to_ask.append(hinted_filters(query, self._filters))
        self._pool_size = max(POOL_SIZE, 3 * request.limit)
        self._terms = QueryTerms(sources.index.tokens(query.words))
        self._keyword_scores: dict[str, float] = {}
        self._keyword_limit = 0
        """How many facts the note index was asked for so far."""
        self._cosines: dict[str, float] = {}
        self._nearest_chunks: dict[str, str] = {}
        self._hinted: set[str] = set()
        """Candidates that match the hints of the question."""
        self._facts: dict[str, Fact] = {}
        """Candidates that were loaded and may be shown."""
        self._rejected: set[str] = set()
        """Candidates that were loaded and may not, or are gone."""
        self._invisible: set[str] = set()
        """Those of the rejected ones that the agent cannot see, or that are gone."""
        self._matched_words: dict[str, dict[int, str]] = {}
        self._similarities: dict[str, float] = {}
        self._trust = 1.0
        self._confidence = 0.0
        self._degraded: list[str] = [*map(sources.ctx.view.redact_text, query.not_filters)]
        """What was missing, a sentence each."""
        self._stages: list[RecallStage] = []
        self.facts: list[Fact] = []
        """Those of the hits, in their order, each with the path of its note."""

    def answer(self) -> RecallResult:
        """The facts that answer the question, best first. Writes nothing but the indexes."""
        source = self._search(self._request.mode)
        hits, query = self._hits(), self._query
        _log.debug("%d hits from %s, confidence %.3f", len(hits), source, self._confidence)
        return RecallResult(
            query=self._sources.ctx.view.redact_text(self._request.query),
            source=source,
            confidence=round(self._confidence, 3),
            degraded=tuple(dict.fromkeys(self._degraded)),
            seconds=self._clock.monotonic() - self._began,
            hits=hits,
            hidden=count_hidden(self.index, query, self._filters),
            stages=tuple(self._stages),
        )

    # --------------------------------------------------------------------- stages

    def _search(self, mode: str) -> str:
        """Find candidates by one search or both; returns the source of the answer."""
        if mode != "vector":
            self._search_keywords()
            if mode == "index" or (mode == "auto" and self._confidence >= INDEX_ONLY_CONFIDENCE):
                return "index"
        missing = self._search_vectors(mode)
        if missing:
            self._degraded.append(f"Semantic search was not possible: {missing}.")
            if mode == "vector":
                self._search_keywords()
            return "index"
        self._rerank()
        return "vector" if mode == "vector" else "fused"

    def _search_keywords(self) -> None:
        ctx = self._sources.ctx
        if self._sources.visible_index is not None:
            ctx, self.index = self._sources.visible_index()
        report = catch_up_note_index(ctx, self.index)
        if report.degraded:
            self._degraded.append(f"The note index may be behind the facts: {report.degraded}.")
        self._record_stage("catch-up", {})
        self._collect(self._query_note_index, limit=self._pool_size + 1)
        self._record_stage("index", self._keyword_scores)

    def _search_vectors(self, mode: str) -> str:
        """Add what is similar in meaning; returns what is missing if that is not possible."""
        # A cold question that keyword search answers loads no code for vectors.
        from vaultsync.indexing.embedding_texts import embedding_identity  # noqa: PLC0415
        from vaultsync.indexing.instructions import instructions_for  # noqa: PLC0415

        try:
            vectors, embedder = self._sources.vectors(), self._sources.embedder()
            if vectors is None or embedder is None:
                return "there is no embedding model"
            identity = vectors.identity()
            if identity is None:
                return "there are no vectors yet; `vaultsync index` creates them"
            if identity != embedding_identity(embedder):
                return "the vectors are of another model; `vaultsync index` replaces them"
            before = instructions_for(embedder.model).question
            (vector,) = embedder.embed([before + self._query.text_without_filters])
            self._record_stage("embed", {})
            searches: list[Callable[[int], int]] = [
                partial(self._query_vector_index, vectors, vector)
            ]
            if mode != "vector":
                searches.append(self._query_note_index)
            self._collect(*searches, limit=max(FUSED_CANDIDATES, self._pool_size + 1))
        except (DerivedError, ImportError, OSError) as error:
            return str(error)
        self._tell_share(vectors)
        self._record_stage("vector", self._cosines)
        self._record_stage("fused", self._similarities)
        return ""

    def _tell_share(self, vectors: VectorIndex) -> None:
        """Say how much of the facts semantic search knows yet, unless it is all of them."""
        embedded, facts = vectors.count(), self._sources.index.count()
        if embedded < facts:
            share = int(100 * embedded / facts)
            self._degraded.append(
                f"Semantic search knows {share} % of the facts so far: the others are found by"
                " their words until they are embedded (`vaultsync status` shows how far that is)."
            )

    def _rerank(self) -> None:
        reranker = self._sources.reranker()
        if reranker is None or not self._similarities:
            return
        self._load([each for each in self._similarities if each not in self._facts])
        similarities = {k: each for k, each in self._similarities.items() if k in self._facts}
        best = list(islice(similarities, RERANKED_HITS))
        texts = [fact_text(self._facts[each])[:RERANKED_CHARS] for each in best]
        try:
            scores = reranker.scores(self._query.text_without_filters, texts)
        except DerivedError as error:
            self._degraded.append(f"The hits were not reranked: {error}.")
            return
        self._similarities = blend_reranked(similarities, dict(zip(best, scores, strict=True)))
        self._record_stage("rerank", self._similarities)

    def _query_note_index(self, limit: int) -> int:
        """Ask for keyword matches; returns how many there are in all."""
        if self._keyword_limit < limit:
            for filters in self._filters_to_ask:
                found = self.index.search(
                    self._query.words, filters, phrases=self._query.phrases, limit=limit
                )
                self._keyword_scores.update(found)
                if filters is not self._filters:
                    self._hinted.update([each.fact_id for each in found])
            self._keyword_limit = limit
        return len(self._keyword_scores)

    def _query_vector_index(self, vectors: VectorIndex, vector: Sequence[float], limit: int) -> int:
        """Ask for the nearest chunks; returns how many facts there are in all."""
        for filters in self._filters_to_ask:
            found = self._visible_nearest(vectors, vector, filters, limit)
            cosines = vectors.cosines(vector, [each.fact_id for each in found])
            for fact_id, chunk_id, cosine in found:
                self._cosines[fact_id] = chunks_similarity(cosines.get(fact_id) or [cosine])
                self._nearest_chunks[fact_id] = chunk_id
                if filters is not self._filters:
                    self._hinted.add(fact_id)
        return len(self._cosines)

    def _visible_nearest(
        self, vectors: VectorIndex, vector: Sequence[float], filters: FactFilters, limit: int
    ) -> list[NearFact]:
        """The nearest facts that the agent may see: others must not shift its scores."""
        # What is left to be checked here is not in the columns, and would change with the time.
        asked = filters._replace(
            hidden_statuses=frozenset(), hide_background=False, alive_at=None, agent=None
        )
        wanted = limit
        while True:
            found = vectors.search(vector, asked, limit=wanted)
            if self._request.agent is None:
                return found
            self._load([x.fact_id for x in found if not self._is_loaded(x.fact_id)])
            seen = [each for each in found if each.fact_id not in self._invisible]
            if len(seen) >= limit or len(found) < wanted:
                return seen[:limit]
            wanted *= 4

    def _is_loaded(self, fact_id: str) -> bool:
        return fact_id in self._facts or fact_id in self._rejected

    # ----------------------------------------------------------------- candidates

    def _collect(self, *searches: Callable[[int], int], limit: int) -> None:
        """Search until enough candidates may be shown; rate them and the answer."""
        while True:
            has_more = max([search(limit) for search in searches]) >= limit
            scores = fuse(
                self._keyword_scores,
                self._cosines,
                trust=self._trust,
                vector_weight=self._sources.weights.vectors,
            )
            if self._query.has_hints:
                for each in scores.keys() - self._hinted:
                    scores[each] *= HINT_MISMATCH_FACTOR
            is_full = self._select(scores)
            if is_full or not has_more:
                break
            limit *= 4
        matched = [
            len(self._words_of(self._facts[each]))
            for each in islice(self._similarities, CONFIDENCE_HITS)
        ]
        coverage = max(matched, default=0) / max(len(self._terms.stems), 1)
        self._confidence = confidence(
            [self._keyword_scores[k] for k in self._similarities if k in self._keyword_scores],
            [self._cosines[k] for k in self._similarities if k in self._cosines],
            coverage=coverage,
            fact_count=self.index.count(),
        )
        if not self._cosines:
            self._trust = coverage

    def _select(self, scores: Mapping[str, float]) -> bool:
        """Set the similarities of the best candidates; whether there are more than the pool.

        Candidates are loaded until all of the pool, and the first one left out, may be shown.
        Those below the minimum similarity are not loaded: there the index is trusted.
        """
        ranked = sorted(sorted(scores), key=scores.__getitem__, reverse=True)
        while True:
            allowed = filterfalse(self._rejected.__contains__, ranked)
            kept = list(islice(allowed, self._pool_size + 1))
            is_full = len(kept) > self._pool_size
            self._similarities = rescale_similarities(
                {each: scores[each] for each in kept[: self._pool_size]},
                floor=scores[kept[-1]] if is_full else 0.0,
            )
            unread = [
                each
                for rank, each in enumerate(kept)
                if each not in self._facts
                and (
                    rank < CONFIDENCE_HITS
                    or self._similarities.get(each, 0.0) >= self._min_similarity
                )
            ]
            if not unread:
                return is_full
            self._load(unread)

    def _load(self, fact_ids: Sequence[str]) -> None:
        """Load candidates, and tell apart which may be shown.

        While the store is away, they are loaded from the archive.
        """
        ctx = self._sources.ctx
        try:
            found = ctx.redacted_store.find_many(fact_ids)
        except StoreUnavailableError as error:
            self._degraded.append(f"Facts are as of the last sync run: {error.message}.")
            bases = ctx.archive.find_bases(fact_ids)
            found = {each: ctx.view.redact(base.fact) for each, base in bases.items()}
        for each in fact_ids:
            fact = found.get(each)
            if (
                fact is not None
                and self._filters.admits(fact)
                # The note index has checked the phrases of what it found.
                and (
                    each in self._keyword_scores
                    or has_phrases(self._query.phrases, fact_text(fact))
                )
            ):
                self._facts[each] = fact
            else:
                self._rejected.add(each)
                if fact is None or not can_see(self._request.agent, fact.scope):
                    self._invisible.add(each)

    def _words_of(self, fact: Fact) -> Mapping[int, str]:
        """The terms that a fact contains, as written there; computed once per fact."""
        if fact.id not in self._matched_words:
            self._matched_words[fact.id] = self._terms.matched_words(fact_text(fact))
        return self._matched_words[fact.id]

    # ---------------------------------------------------------------------- hits

    def _hits(self) -> tuple[Hit, ...]:
        """The best candidates by score, as hits."""
        now, weights = self._clock.now(), self._sources.weights
        ranked = []
        for fact_id, similarity in self._similarities.items():
            if similarity < self._min_similarity:
                continue
            fact = self._facts[fact_id]
            signals = RankingSignals(
                similarity,
                recency(fact.created_at, fact.type, now),
                utility(fact.importance, fact.access_count),
            )
            ranked.append((-weighted_score(signals, weights), fact_id, signals))
        ranked.sort()
        self._record_stage("score", {each[1]: -each[0] for each in ranked})
        best = [each for each in ranked[: self._request.limit] if -each[0] >= weights.least]
        paths = self._sources.ctx.archive.note_paths([each[1] for each in best])
        hits = []
        for negative_score, fact_id, signals in best:
            fact = self._facts[fact_id].evolve(path=paths.get(fact_id))
            self.facts.append(fact)
            words, cosine = self._words_of(fact), self._cosines.get(fact_id)
            stage = "index"
            if cosine is not None:
                stage = "fused" if fact_id in self._keyword_scores else "vector"
            hits.append(
                Hit(
                    id=fact_id,
                    title=fact.title,
                    type=fact.type,
                    path=fact.path,
                    score=round(-negative_score, 4),
                    similarity=round(signals.similarity, 4),
                    recency=round(signals.recency, 4),
                    utility=round(signals.utility, 4),
                    stage=stage,
                    why=explain_hit(
                        *self._terms.quoted_words(fact_text(fact)),
                        cosine=cosine,
                        matches_hints=self._query.has_hints and self._query.matches_hints(fact),
                        access_count=fact.access_count,
                        importance=fact.importance,
                    ),
                    snippet=snippet(
                        fact.content if words else self._nearest_passage(fact), self._terms
                    ),
                )
            )
        self._record_stage("tell", {})
        return tuple(hits)

    def _nearest_passage(self, fact: Fact) -> str:
        """The content of the nearest chunk of a long fact; else all of the content."""
        chunk_id = self._nearest_chunks.get(fact.id)
        if chunk_id is None or len(fact.content) <= SNIPPET_LENGTH:
            return fact.content
        # A cold question that keyword search answers loads no code for chunks.
        from vaultsync.indexing.chunking import chunk_fact  # noqa: PLC0415

        for chunk in chunk_fact(fact):
            if chunk.id == chunk_id and chunk.end > chunk.start:
                return fact.content[chunk.start : chunk.end]
        return fact.content

    def _record_stage(self, name: str, scores: Mapping[str, float]) -> None:
        """Record what was done since the stage before, if that was asked for."""
        if self._request.explain:
            began, self._stage_began = self._stage_began, self._clock.monotonic()
            candidates = [StageCandidate(each, round(score, 4)) for each, score in scores.items()]
            self._stages.append(RecallStage(name, self._stage_began - began, tuple(candidates)))
