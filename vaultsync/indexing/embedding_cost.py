"""Estimate how long it takes to embed all facts again."""

from __future__ import annotations

from msgspec import Struct

from vaultsync.indexing.embedding_texts import embedding_chunks, embedding_identity
from vaultsync.indexing.ports import Embedder, NoteIndex, VectorIndex
from vaultsync.sync.context import ReadContext

COST_SAMPLE = 64
"""Number of facts whose chunks are counted."""
TIMED_TEXTS = 16
"""Number of their texts that are embedded to measure the time."""


class EmbeddingCost(Struct, frozen=True):
    """An estimate from a sample of the facts."""

    before: str | None
    """The identity of the present vectors; None when there are none."""
    after: str
    facts: int
    texts: int
    seconds: float


def estimate_embedding_cost(
    ctx: ReadContext, vectors: VectorIndex, embedder: Embedder, index: NoteIndex
) -> EmbeddingCost | None:
    """Estimate the cost of `embed_pending()` when it has to replace all vectors.

    Returns:
        None when it has not: the vectors are of this model, dimension and rules.

    Raises:
        EmbedderError: the model does not answer.
        StoreUnavailableError: the store is unavailable.
    """
    before = vectors.identity()
    after = embedding_identity(embedder)
    if before == after:
        return None
    ids = [row.fact_id for row in ctx.redacted_store.feed() if not row.deleted]
    sample = ctx.redacted_store.find_many(ids[:: max(1, len(ids) // COST_SAMPLE)])
    chunks = embedding_chunks(ctx.redacted_store, index, sample)
    texts = [each.text for group in chunks.values() for each in group]
    if not texts:
        return EmbeddingCost(before, after, len(ids), 0, 0.0)
    timed = texts[:: max(1, len(texts) // TIMED_TEXTS)]
    embedder.embed(timed[:1])  # loads the model
    began = ctx.clock.monotonic()
    embedder.embed(timed)
    seconds_per_text = (ctx.clock.monotonic() - began) / len(timed)
    count = round(len(ids) * len(texts) / len(sample))
    return EmbeddingCost(before, after, len(ids), count, count * seconds_per_text)
