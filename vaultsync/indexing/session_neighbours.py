"""Find the neighbours of facts in their sessions, as the note index knows them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence

from vaultsync.indexing.ports import IndexDocument, NoteIndex
from vaultsync.indexing.session_context import (
    TURNS_AFTER,
    TURNS_BEFORE,
    SessionTurn,
    borrowed_text,
    session_context,
    turn_of,
)
from vaultsync.model.fact import Fact
from vaultsync.storage.store import Store


def index_documents(
    store: Store, index: NoteIndex, facts: Mapping[str, Fact], gone: Collection[str]
) -> list[IndexDocument]:
    """The documents to index after facts were written, and others deleted.

    Facts without a searchable change are left out; neighbours of facts that changed, or were
    deleted, are indexed again, because their context changed.

    Raises:
        StoreUnavailableError: the store is away.
    """
    turns = {each: turn_of(fact) for each, fact in facts.items()}
    indexed = index.turns({turn.session for turn in turns.values()}, [*facts, *gone])
    before = {turn.fact_id: turn for turn in indexed}
    changed = {each: turn for each, turn in turns.items() if before.get(each) != turn}
    outdated = {each: before[each] for each in (*changed, *gone) if each in before}
    remaining = [turn for turn in indexed if turn.fact_id not in outdated]
    rows = sorted(turn for turn in (*remaining, *changed.values()) if turn.session)
    places = {
        place for turn in (*changed.values(), *outdated.values()) for place in borrowers(rows, turn)
    }
    contexts = _contexts(store, facts, rows, sorted(places))
    documents = [
        IndexDocument(fact, context, rows[place]) for place, (fact, context) in contexts.items()
    ]
    return documents + [
        IndexDocument(facts[each], turn=turn) for each, turn in changed.items() if not turn.session
    ]


def neighbour_texts(store: Store, index: NoteIndex, facts: Mapping[str, Fact]) -> dict[str, str]:
    """Fact id -> the context of a fact, as far as the note index knows its neighbours.

    Raises:
        StoreUnavailableError: the store is away.
    """
    sessions = {turn_of(fact).session for fact in facts.values()}
    rows = sorted(row for row in index.turns(sessions, []) if row.session)
    places = [place for place, row in enumerate(rows) if row.fact_id in facts]
    return {fact.id: context for fact, context in _contexts(store, facts, rows, places).values()}


def borrowers(rows: Sequence[SessionTurn], turn: SessionTurn) -> list[int]:
    """Places in sorted rows of a turn, if it is there, and of those that borrow from it."""
    at = bisect_left(rows, turn[:3])  # whatever its fingerprint
    after = at + (at < len(rows) and rows[at][:3] == turn[:3])
    return [
        place
        for place in range(max(0, at - TURNS_AFTER), min(len(rows), after + TURNS_BEFORE))
        if rows[place].session == turn.session
    ]


def _contexts(
    store: Store, facts: Mapping[str, Fact], rows: Sequence[SessionTurn], places: Iterable[int]
) -> dict[int, tuple[Fact, str]]:
    """Place -> the fact there that still exists, and the text it borrows."""
    beside = {
        place: [
            each
            for each in range(max(0, place - TURNS_BEFORE), min(len(rows), place + TURNS_AFTER + 1))
            if rows[each].session == rows[place].session
        ]
        for place in places
    }
    needed = {rows[each].fact_id for group in beside.values() for each in group}
    known = {**store.find_many(needed - facts.keys()), **facts}
    texts = {each: borrowed_text(known[each]) for each in needed if each in known}
    found = {}
    for place, group in beside.items():
        fact = known.get(rows[place].fact_id)
        if fact is not None:
            lenders = [(each, texts.get(rows[each].fact_id)) for each in group if each != place]
            found[place] = (
                fact,
                session_context(
                    [text for each, text in lenders if text is not None and each < place],
                    [text for each, text in lenders if text is not None and each > place],
                ),
            )
    return found
