"""What a reranker reads of a candidate, and how its scores change the ranking."""

from __future__ import annotations

from collections.abc import Mapping

from vaultsync.indexing.chunking import chunk_fact
from vaultsync.model.fact import Fact
from vaultsync.recall.explanation import QueryTerms, densest_passage
from vaultsync.recall.ports import Reranker

RERANKED_CHARS = 2_000
"""Maximum number of characters of a candidate that a reranker reads."""
PASSAGE_CHARS = 400
"""The same for a long candidate without a known chunk: about a paragraph. Dividing it into chunks
takes as long as reading ten such passages."""


def rerank(
    reranker: Reranker,
    question: str,
    passages: Mapping[str, str],
    similarities: Mapping[str, float],
) -> tuple[dict[str, float], list[str]]:
    """The similarities of all candidates after reranking the best, and those that moved up.

    Args:
        reranker: what reads the passages.
        question: the question.
        passages: each of the best candidates, best first -> its `passage_of()`.
        similarities: each candidate -> its similarity.

    Raises:
        DerivedError, ImportError, OSError: the model cannot be used.
    """
    best = list(passages)
    texts = [each[:RERANKED_CHARS] for each in passages.values()]
    read = dict(zip(best, reranker.scores(question, texts), strict=True))
    blended = blend_reranked(similarities, read, share=reranker.share)
    places = sorted(best, key=blended.__getitem__, reverse=True)
    return blended, [x for at, x in enumerate(places) if at < best.index(x)]


def passage_of(fact: Fact, chunk_id: str, terms: QueryTerms) -> str:
    """The nearest chunk of a fact, or else the part with most terms of the question.

    Args:
        fact: a candidate.
        chunk_id: the id of its nearest chunk; empty if it is not known.
        terms: of the question.
    """
    texts = dict[str, str]()
    if chunk_id or len(fact.content) <= PASSAGE_CHARS:
        texts = {chunk.id: chunk.text for chunk in chunk_fact(fact)}
    if chunk_id in texts or len(texts) == 1:
        return texts.get(chunk_id) or next(iter(texts.values()))
    return densest_passage(fact.content, terms, length=PASSAGE_CHARS)


def blend_reranked(
    similarities: Mapping[str, float], scores: Mapping[str, float], *, share: float
) -> dict[str, float]:
    """Similarities after reranking: a mean of the old ones and the reranker's scores.

    A reranker's scores have no fixed scale, so they are min-max normalized. A fact that it did
    not read gets 0 for its share.

    Args:
        similarities: fact id -> similarity, 0 to 1.
        scores: fact id -> score, of at least one fact.
        share: the share of the reranker in the mean, 0 to 1.
    """
    low, high = min(scores.values()), max(scores.values())
    spread = (high - low) or 1.0
    mixed = {
        key: (1 - share) * before + share * (scores.get(key, low) - low) / spread
        for key, before in similarities.items()
    }
    top = max(mixed.values()) or 1.0
    return {key: each / top for key, each in mixed.items()}
