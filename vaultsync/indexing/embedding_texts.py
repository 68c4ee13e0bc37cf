"""What is embedded of facts: their chunks, short facts with what their neighbours lend."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence

from vaultsync.indexing.chunking import CHUNK_RULES, Chunk, chunk_fact
from vaultsync.indexing.ports import Embedder, NoteIndex, VectorIdentity, VectorIndex
from vaultsync.indexing.session_context import CONTEXT_RULES, TURNS_AFTER, TURNS_BEFORE, turn_of
from vaultsync.indexing.session_neighbours import neighbour_texts
from vaultsync.model.fact import Fact
from vaultsync.storage.store import Store


def embedding_identity(embedder: Embedder, *, lends: bool = False) -> VectorIdentity:
    """Of the vectors that an embedder makes; `lends` when neighbours lend their text.

    Raises:
        EmbedderError: the model is missing.
    """
    chunker = f"{CHUNK_RULES}+{CONTEXT_RULES}" if lends else CHUNK_RULES
    return VectorIdentity(embedder.model, embedder.dimension, chunker)


def embedding_chunks(
    store: Store, index: NoteIndex | None, facts: Mapping[str, Fact]
) -> dict[str, list[Chunk]]:
    """The chunks of facts by id; with a note index their neighbours lend them text.

    Raises:
        StoreUnavailableError: the store is away.
    """
    lent = neighbour_texts(store, index, facts) if index is not None else {}
    return {key: chunk_fact(fact, around=lent.get(key, "")) for key, fact in facts.items()}


def facts_without_vectors(
    store: Store,
    index: NoteIndex | None,
    vectors: VectorIndex,
    fact_ids: Sequence[str],
) -> list[str]:
    """Those of the facts that exist of which a text has no vector.

    Raises:
        StoreUnavailableError: the store is away.
    """
    chunks = embedding_chunks(store, index, store.find_many(fact_ids))
    held = vectors.chunks(chunks)
    return [
        each
        for each in fact_ids
        if {chunk.id for chunk in chunks.get(each, ())} - set(held.get(each, ()))
    ]


def facts_losing_context(
    store: Store,
    index: NoteIndex | None,
    facts: Mapping[str, Fact],
    gone: Collection[str],
) -> list[str]:
    """The facts to which others lend their text, or did before they went; by id.

    Of a fact that moved to another session, the former neighbours are not told.

    Raises:
        StoreUnavailableError: the store is away.
    """
    if index is None:
        return []
    buried = (store.tombstone(each) for each in gone)
    turns = [turn_of(each) for each in (*facts.values(), *buried) if each is not None]
    sessions = {turn.session for turn in turns} - {0}
    rows = sorted(row for row in index.turns(sessions, []) if row.session in sessions)
    places = [(row.session, row.moment, row.fact_id) for row in rows]
    found = set()
    for turn in turns:
        place = (turn.session, turn.moment, turn.fact_id)
        at = bisect_left(places, place)
        here = int(places[at : at + 1] == [place])
        beside = rows[max(0, at - TURNS_AFTER) : at + here + TURNS_BEFORE]
        found |= {row.fact_id for row in beside if row.session == turn.session}
    return sorted(found - facts.keys() - set(gone))


def batches_by_length(chunks: Iterable[Chunk], size: int) -> list[Sequence[Chunk]]:
    """Batches of chunks of like length, which a model embeds without padding."""
    ordered = sorted(chunks, key=lambda each: (len(each.text), each.id))
    return [ordered[start : start + size] for start in range(0, len(ordered), size)]
