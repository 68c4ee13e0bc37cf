"""The texts to embed: the chunks of facts, and short facts with the text of their neighbours."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from vaultsync.indexing.chunking import CHUNK_RULES, Chunk, chunk_fact
from vaultsync.indexing.instructions import instructions_for
from vaultsync.indexing.ports import Embedder, NoteIndex, VectorIndex
from vaultsync.indexing.session_context import turn_of
from vaultsync.indexing.session_neighbours import CONTEXT_RULES, borrowers, neighbour_texts
from vaultsync.model.fact import Fact
from vaultsync.model.hiding import is_background_observation, is_pending_observation
from vaultsync.storage.store import Store


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
