"""What it costs to embed everything anew, told before it is done."""

from __future__ import annotations

from dataclasses import dataclass

from vaultsync.indexing.embedding_texts import embedding_chunks, embedding_identity
from vaultsync.indexing.ports import Embedder, NoteIndex, VectorIndex
from vaultsync.model.schema import Value
from vaultsync.sync.context import ReadContext

COST_SAMPLE = 64
"""Facts whose chunks are counted."""
TIMED_TEXTS = 16
"""Of their texts, those that are embedded to see how long it takes."""


@dataclass(frozen=True, slots=True)
class EmbeddingCost:
    """An estimate, from a sample of the facts."""

    before: str | None
    """The identity of the vectors that there are; None when there are none."""
    after: str
    facts: int
    texts: int
    seconds: float

    def as_json(self) -> dict[str, Value]:
        """The estimate as JSON."""
        return {
            "before": self.before,
            "after": self.after,
            "facts": self.facts,
            "texts": self.texts,
            "seconds": self.seconds,
        }


def estimate_embedding_cost(
    ctx: ReadContext,
    vectors: VectorIndex,
    embedder: Embedder,
    *,
    index: NoteIndex | None = None,
) -> EmbeddingCost | None:
    """What `embed_pending()` with the same arguments costs when it has to begin anew.

    None when it has not: the vectors are those of this model, dimension and chunker.

    Raises:
        EmbedderError: the model does not answer.
        StoreUnavailableError: the store is away.
    """
    before, after = (
        vectors.identity(),
        str(embedding_identity(embedder, lends=index is not None)),
    )
    if before == after:
        return None
    ids = [row.fact_id for row in ctx.redacted_store.feed() if not row.deleted]
    some = ctx.redacted_store.find_many(ids[:: max(1, len(ids) // COST_SAMPLE)])
    chunks = embedding_chunks(ctx.redacted_store, index, some)
    texts = [each.text for many in chunks.values() for each in many]
    if not texts:
        return EmbeddingCost(before, after, len(ids), 0, 0.0)
    timed = texts[:: max(1, len(texts) // TIMED_TEXTS)]
    embedder.embed(timed[:1])  # loads the model
    began = ctx.clock.monotonic()
    embedder.embed(timed)
    each_takes = (ctx.clock.monotonic() - began) / len(timed)
    count = round(len(ids) * len(texts) / len(some))
    return EmbeddingCost(before, after, len(ids), count, count * each_takes)
