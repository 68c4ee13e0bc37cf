"""The texts to embed: the chunks of facts, and short facts with the text of their neighbours.

Some models were trained with a prefix before each text that tells a question from what answers
it; without it they find less. The name of a model tells its family: that of the folder, of the
hub or of the service.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from vaultsync.indexing.chunking import CHUNK_RULES, Chunk, chunk_fact
from vaultsync.indexing.ports import Embedder, NoteIndex, VectorIndex
from vaultsync.indexing.session_context import turn_of
from vaultsync.indexing.session_neighbours import CONTEXT_RULES, borrowers, neighbour_texts
from vaultsync.model.fact import Fact
from vaultsync.model.hiding import is_background_observation, is_pending_observation
from vaultsync.storage.store import Store
from vaultsync.sync.context import ReadContext


class Instructions(NamedTuple):
    """What is put before texts; `family` is part of the `embedding_identity()`."""

    family: str = ""
    question: str = ""
    text: str = ""


_SEARCH = "Represent this sentence for searching relevant passages: "
_TASK = "Given a web search query, retrieve relevant passages that answer the query"
FAMILIES: tuple[tuple[str, Instructions], ...] = (
    (r"\be5-.*-instruct\b", Instructions("e5-instruct", f"Instruct: {_TASK}\nQuery: ")),
    (r"\be5-(?:small|base|large)\b", Instructions("e5", "query: ", "passage: ")),
    (r"\bbge-(?:small|base|large)-en\b", Instructions("bge-en", _SEARCH)),
    (
        r"\bbge-(?:small|base|large)-zh\b",
        Instructions("bge-zh", "为这个句子生成表示以用于检索相关文章："),  # noqa: RUF001 - theirs
    ),
    (r"\bnomic-embed-text\b", Instructions("nomic", "search_query: ", "search_document: ")),
)
"""A pattern of names -> what the family expects. The first that matches counts."""


def instructions_for(model: str) -> Instructions:
    """What the model of a name expects; nothing where its family is not known."""
    for pattern, found in FAMILIES:
        if re.search(pattern, model.lower().replace("_", "-")):
            return found
    return Instructions()


def embedding_identity(embedder: Embedder) -> str:
    """What vectors depend on: only vectors of the same identity can be compared.

    Raises:
        EmbedderError: the model is missing.
    """
    found = f"{embedder.model}/{embedder.dimension}/{CHUNK_RULES}+{CONTEXT_RULES}"
    family = instructions_for(embedder.model).family
    return f"{found}/{family}" if family else found


def embedding_chunks(
    store: Store, index: NoteIndex, facts: Mapping[str, Fact]
) -> dict[str, list[Chunk]]:
    """The chunks of facts by id, those of a session in their context.

    An observation has none before it is classified, nor in the background: words find it.
    """
    contexts = neighbour_texts(store, index, facts)
    return {
        key: []
        if is_pending_observation(fact) or is_background_observation(fact)
        else chunk_fact(fact, around=contexts.get(key, ""))
        for key, fact in facts.items()
    }


def facts_without_vectors(
    store: Store, index: NoteIndex, vectors: VectorIndex, fact_ids: Sequence[str]
) -> list[str]:
    """Those of the facts that exist and have a chunk without a vector.

    Raises:
        StoreUnavailableError: the store is unavailable.
    """
    chunks = embedding_chunks(store, index, store.find_many(fact_ids))
    embedded = vectors.chunks(chunks)
    return [
        each
        for each in fact_ids
        if {chunk.id for chunk in chunks.get(each, ())} - set(embedded.get(each, ()))
    ]


def facts_losing_context(
    store: Store, index: NoteIndex, facts: Mapping[str, Fact], gone: Collection[str]
) -> list[str]:
    """Ids of the neighbours of changed and of deleted facts.

    Neighbours in a session that a fact has left are not among them.
    """
    tombstones = (store.tombstone(each) for each in gone)
    turns = [turn_of(each) for each in (*facts.values(), *tombstones) if each is not None]
    sessions = {turn.session for turn in turns} - {0}
    rows = sorted(row for row in index.turns(sessions, []) if row.session in sessions)
    neighbours = {rows[place].fact_id for turn in turns for place in borrowers(rows, turn)}
    return sorted(neighbours - facts.keys() - set(gone))


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
