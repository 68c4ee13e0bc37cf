"""What is embedded of facts: their chunks, short facts with what their neighbours lend."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence

from vaultsync.indexing.chunking import CHUNKER, Chunk, chunk_fact
from vaultsync.indexing.ports import Embedder, Identity, NoteIndex, VectorIndex
from vaultsync.indexing.session_context import AFTER, BEFORE, LENDING, turn_of
from vaultsync.indexing.session_neighbours import surroundings
from vaultsync.model.fact import Fact
from vaultsync.storage.store import Store


def identity_of(embedder: Embedder, *, lends: bool = False) -> Identity:
    """Of the vectors that an embedder makes; `lends` when neighbours lend their text.

    Raises:
        EmbedderError: the model is missing.
    """
    chunker = f"{CHUNKER}+{LENDING}" if lends else CHUNKER
    return Identity(embedder.model, embedder.dimension, chunker)


def chunks_of(
    store: Store, index: NoteIndex | None, facts: Mapping[str, Fact]
) -> dict[str, list[Chunk]]:
    """The chunks of facts by id; with a note index their neighbours lend them text.

    Raises:
        StoreUnavailableError: the store is away.
    """
    lent = surroundings(store, index, facts) if index is not None else {}
    return {
        key: chunk_fact(fact, around=lent.get(key, "")) for key, fact in facts.items()
    }


def unembedded(
    store: Store,
    index: NoteIndex | None,
    vectors: VectorIndex,
    fact_ids: Sequence[str],
) -> list[str]:
    """Those of the facts that exist of which a text has no vector.

    Raises:
        StoreUnavailableError: the store is away.
    """
    chunks = chunks_of(store, index, store.find_many(fact_ids))
    held = vectors.chunks(chunks)
    return [
        each
        for each in fact_ids
        if {chunk.id for chunk in chunks.get(each, ())} - set(held.get(each, ()))
    ]


def neighbours_of(
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
    buried = (store.buried(each) for each in gone)
    turns = [turn_of(each) for each in (*facts.values(), *buried) if each is not None]
    sessions = {turn.session for turn in turns} - {0}
    rows = sorted(row for row in index.turns(sessions, []) if row.session in sessions)
    places = [(row.session, row.moment, row.fact_id) for row in rows]
    found = set()
    for turn in turns:
        place = (turn.session, turn.moment, turn.fact_id)
        at = bisect_left(places, place)
        here = int(places[at : at + 1] == [place])
        beside = rows[max(0, at - AFTER) : at + here + BEFORE]
        found |= {row.fact_id for row in beside if row.session == turn.session}
    return sorted(found - facts.keys() - set(gone))


def by_length(chunks: Iterable[Chunk], size: int) -> list[Sequence[Chunk]]:
    """Batches of chunks of like length, which a model embeds without padding."""
    ordered = sorted(chunks, key=lambda each: (len(each.text), each.id))
    return [ordered[start : start + size] for start in range(0, len(ordered), size)]
