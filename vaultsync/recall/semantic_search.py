"""Semantic search: the facts whose chunks are nearest to a question."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import inf

from vaultsync.indexing.embedding_texts import embedding_identity
from vaultsync.indexing.ports import Embedder, NearFact, VectorIndex
from vaultsync.model.filters import FactFilters
from vaultsync.recall.question_vectors import cosine_scale, foreign_scale, question_vectors
from vaultsync.recall.question_words import QuestionWords
from vaultsync.recall.ranking import chunks_similarity


class SemanticSearch:
    """A question that is embedded, and what is near to it.

    Raises:
        DerivedError, ImportError, OSError: the model cannot be used.
    """

    def __init__(
        self, vectors: VectorIndex, embedder: Embedder, question: str, words: QuestionWords
    ) -> None:
        self.cosines: dict[str, float] = {}
        """Candidate -> its largest cosine, on the scale of the default model."""
        self.nearest_chunks: dict[str, str] = {}
        """Candidate -> the id of the chunk with that cosine."""
        self._vectors = vectors
        self._rescale = cosine_scale(embedder).rescale
        languages = [] if words.in_english else words.likely_languages()
        self.foreign = foreign_scale(embedder, languages)
        """The scale of the cosines if the model hardly knows the language of the question."""
        self._asked = question_vectors(embedder, question, words.in_english)
        self.is_near_one_event = len(self._asked) > 1
        """Whether the cosines are those of the nearer of two events."""

    def search(
        self,
        filters: FactFilters,
        limit: int,
        invisible: Callable[[Sequence[str]], Collection[str]] | None,
    ) -> list[str]:
        """Find the facts nearest to any part of the question; returns their ids.

        `invisible` loads facts if an agent asks, and returns those that it cannot see; None for
        the user.
        """
        found = []
        for vector in self._asked:
            nearest = self._visible_nearest(vector, filters, limit, invisible)
            cosines = self._vectors.cosines(vector, [each.fact_id for each in nearest])
            for fact_id, chunk_id, cosine in nearest:
                similarity = self._rescale(chunks_similarity(cosines.get(fact_id) or [cosine]))
                if similarity >= self.cosines.get(fact_id, -inf):
                    self.cosines[fact_id] = similarity
                    self.nearest_chunks[fact_id] = chunk_id
                found.append(fact_id)
        return found

    def knows(self, fact_ids: Sequence[str]) -> bool:
        """Whether each of these facts has vectors."""
        return len(self._vectors.cosines(self._asked[0], fact_ids)) == len(fact_ids)

    def _visible_nearest(
        self,
        vector: Sequence[float],
        filters: FactFilters,
        limit: int,
        invisible: Callable[[Sequence[str]], Collection[str]] | None,
    ) -> list[NearFact]:
        """The nearest facts that the agent may see, because others must not shift its scores."""
        # The remaining checks are not in the columns, because they depend on the time.
        vector_filters = filters._replace(
            hidden_statuses=frozenset(), hide_background=False, alive_at=None, reader=None
        )
        count = limit
        while True:
            nearest = self._vectors.search(vector, vector_filters, limit=count)
            if invisible is None:
                return nearest
            hidden = invisible([each.fact_id for each in nearest])
            visible = [each for each in nearest if each.fact_id not in hidden]
            if len(visible) >= limit or len(nearest) < count:
                return visible[:limit]
            count *= 4


def why_unusable(vectors: VectorIndex, embedder: Embedder) -> str:
    """Why a question cannot be compared with the vectors; empty if it can be."""
    identity = vectors.identity()
    if identity is None:
        return "there are no vectors yet; `vaultsync index --wait` waits until there are"
    if identity != embedding_identity(embedder):
        return "the vectors are from another model; `vaultsync index` replaces them"
    return ""
