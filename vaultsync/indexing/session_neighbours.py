"""Which facts stand beside which in a session, told from the note index."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence

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
    """What to put into the index for facts that were written, and others that are gone.

    Facts of which nothing changed that can be found are left out; the neighbours of
    those that did change, or went, are put anew.

    Raises:
        StoreUnavailableError: the store is away.
    """
    now = {each: turn_of(fact) for each, fact in facts.items()}
    held = index.turns({turn.session for turn in now.values()}, [*facts, *gone])
    was = {turn.fact_id: turn for turn in held}
    changed = {each: turn for each, turn in now.items() if was.get(each) != turn}
    left = [was[each] for each in (*changed, *gone) if each in was]
    out = {turn.fact_id for turn in left}
    rows = sorted(
        turn
        for turn in (*(t for t in held if t.fact_id not in out), *changed.values())
        if turn.session
    )
    stirred = _changed_neighbourhoods(rows, changed.values(), left)
    needed = {rows[each].fact_id for at in stirred for each in _beside(rows, at, own=True)}
    known = {**store.find_many(needed - facts.keys()), **facts}
    lend = _BorrowedTexts(rows, known)
    made = [
        IndexDocument(known[rows[at].fact_id], lend.to(at), rows[at])
        for at in stirred
        if rows[at].fact_id in known
    ]
    made += [
        IndexDocument(facts[each], turn=turn) for each, turn in changed.items() if not turn.session
    ]
    return made


def neighbour_texts(store: Store, index: NoteIndex, facts: Mapping[str, Fact]) -> dict[str, str]:
    """What their neighbours lend some facts, by id, as far as the index knows them.

    Raises:
        StoreUnavailableError: the store is away.
    """
    turns = [turn_of(fact) for fact in facts.values()]
    rows = sorted(row for row in index.turns({each.session for each in turns}, []) if row.session)
    at = [n for n, row in enumerate(rows) if row.fact_id in facts]
    needed = {rows[each].fact_id for n in at for each in _beside(rows, n, own=True)}
    known = {**store.find_many(needed - facts.keys()), **facts}
    lend = _BorrowedTexts(rows, known)
    return {rows[n].fact_id: lend.to(n) for n in at}


def _changed_neighbourhoods(
    rows: Sequence[SessionTurn],
    came: Collection[SessionTurn],
    left: Collection[SessionTurn],
) -> list[int]:
    """The rows whose neighbours changed, and those that came, by where they are."""
    found = set()
    for turns, here in ((came, 1), (left, 0)):
        for turn in turns:
            at = bisect_left(rows, turn)
            for each in range(max(0, at - TURNS_AFTER), min(len(rows), at + here + TURNS_BEFORE)):
                if rows[each].session == turn.session:
                    found.add(each)
    return sorted(found)


def _beside(rows: Sequence[SessionTurn], at: int, *, own: bool) -> Iterator[int]:
    for each in range(max(0, at - TURNS_BEFORE), min(len(rows), at + TURNS_AFTER + 1)):
        if rows[each].session == rows[at].session and (own or each != at):
            yield each


class _BorrowedTexts:
    """The texts that facts lend, each made once."""

    def __init__(self, rows: Sequence[SessionTurn], known: Mapping[str, Fact]) -> None:
        self._rows = rows
        self._known = known
        self._texts: dict[str, str] = {}

    def to(self, at: int) -> str:
        """What the fact of a row is lent."""
        beside = [
            (each, self._text(self._rows[each].fact_id))
            for each in _beside(self._rows, at, own=False)
            if self._rows[each].fact_id in self._known
        ]
        return session_context(
            [text for each, text in beside if each < at],
            [text for each, text in beside if each > at],
        )

    def _text(self, fact_id: str) -> str:
        if fact_id not in self._texts:
            self._texts[fact_id] = borrowed_text(self._known[fact_id])
        return self._texts[fact_id]
