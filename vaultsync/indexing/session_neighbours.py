"""Session context: the text of the turns before and after, which is indexed with a fact.

Facts of one session explain each other. A fact lends text only to its neighbours of the same
scope, so that a search reveals nothing of a fact that the user may not see.

Loaded when facts are indexed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

from vaultsync.indexing.note_series import REACH
from vaultsync.indexing.ports import IndexDocument, NoteIndex, SessionTurn
from vaultsync.indexing.session_context import FIRST_TIME, SERIES, own_title, turn_of
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.storage.store import Store

CONTEXT_RULES = "around-1"
"""Name and version of these rules, part of the `embedding_identity()`."""
TURNS_BEFORE = TURNS_AFTER = 2
"""Number of neighbours on each side that lend their text."""
CONTEXT_SHARE = 300
"""Maximum number of characters that one neighbour lends. Turns of a dialogue are shorter; of
long notes, more than the beginning makes the index larger and finds nothing more."""
MAX_BORROWER = 1_000
"""Maximum number of characters of a fact that borrows. A longer one explains itself, and what its
neighbours are about makes it fit questions that it does not answer."""


def borrowed_text(fact: Fact) -> str:
    """The text that a fact lends each of its neighbours."""
    content = fact.content[:CONTEXT_SHARE]
    title = own_title(fact)
    return f"{title}\n{content}" if title else content


def index_documents(
    store: Store,
    index: NoteIndex,
    facts: Mapping[str, Fact],
    gone: Collection[str],
    paths: Mapping[str, VaultPath] = MappingProxyType({}),
) -> list[IndexDocument]:
    """The documents to index after facts were written or their notes moved, and others deleted.

    Facts without a searchable change are left out; neighbours of facts that changed, or were
    deleted, are indexed again, because their context changed.
    """
    turns = {each: turn_of(fact, paths.get(each)) for each, fact in facts.items()}
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
    """Fact id -> the context of a fact, as far as the note index knows its neighbours."""
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
        if _are_near(rows[place], turn)
    ]


def _are_near(one: SessionTurn, other: SessionTurn) -> bool:
    """Whether two turns are of one session, or of a series in which little is between them."""
    if one.session != other.session:
        return False
    is_numbered = SERIES <= one.moment < FIRST_TIME
    return not is_numbered or abs(one.moment - other.moment) <= REACH


def _contexts(
    store: Store, facts: Mapping[str, Fact], rows: Sequence[SessionTurn], places: Iterable[int]
) -> dict[int, tuple[Fact, str]]:
    """Place -> the fact there that still exists, and the text it borrows."""
    beside = {
        place: [
            each
            for each in range(max(0, place - TURNS_BEFORE), min(len(rows), place + TURNS_AFTER + 1))
            if _are_near(rows[each], rows[place])
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
            # The nearest before first: it may be the question that the fact answers, and a
            # model truncates long texts.
            order = sorted(group, key=lambda each: (each > place, abs(each - place)))
            lenders = [rows[each].fact_id for each in order if each != place]
            is_short = len(fact.content) <= MAX_BORROWER
            around = "\n".join(texts[x] for x in lenders if x in texts) if is_short else ""
            found[place] = (fact, around)
    return found
