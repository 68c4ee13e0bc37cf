"""Session context: the text of the turns before and after, which is indexed with a fact.

Facts of one session explain each other. A fact lends text only to its neighbours of the same
scope, so that a search reveals nothing of a fact that the user may not see.

A note without a session takes its neighbours from a row of notes: `03.md` after `02.md`, a page
of a journal after that of the day before, a note that was begun some minutes after another.
Notes that only lie in one folder have nothing to do with each other.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from hashlib import blake2b
from types import MappingProxyType

from msgspec import Struct

from vaultsync.indexing.ports import IndexDocument, NoteIndex, SessionTurn
from vaultsync.model.canonical import to_microseconds
from vaultsync.model.fact import Fact, derive_title
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


_SERIES = -(1 << 62)
"""Moment of number 0 of a series: numbers are before all times."""
_FIRST_TIME = -(1 << 61)


def turn_of(fact: Fact, path: VaultPath | None = None) -> SessionTurn:
    """The place of a fact in its session, or else that of its note among those in a row.

    Args:
        fact: with or without a session.
        path: of its note; None when there is none, or only a session counts.
    """
    session = f"{fact.session_id}\n{fact.scope}" if fact.session_id else ""
    moment = to_microseconds(fact.created_at)
    if path is not None and not session and (place := series_place(path)):
        session, moment = f"{place.series}\n\n{fact.scope}", _SERIES + place.number
    searchable = (
        *(fact.type, fact.title, fact.context, fact.priority, fact.status, fact.tags),
        *(fact.aliases, fact.entities, fact.scope, fact.created_at, fact.agent_id),
        *(fact.session_id, fact.superseded_by_id, fact.own, fact.properties),
        *(fact.importance, fact.expires_at, fact.user_id),
    )
    fingerprint = hash63(f"{searchable!r}{fact.content}")
    return SessionTurn(hash63(session), moment, fact.id, fingerprint)


def hash63(text: str) -> int:
    """A hash of 63 bits, which fits a signed column; 0 for an empty text."""
    if not text:
        return 0
    digest = blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) >> 1


def borrowed_text(fact: Fact) -> str:
    """The text that a fact lends each of its neighbours."""
    content = fact.content[:CONTEXT_SHARE]
    title = own_title(fact)
    return f"{title}\n{content}" if title else content


def own_title(fact: Fact) -> str:
    """The title, unless it only repeats the beginning of the content; else empty.

    Otherwise its words would count twice. Measured: LoCoMo's recall@5 fell from 0.68 to 0.57.
    """
    content = fact.content.lstrip("#>-*+ \t\n")
    if not content or content[0] != fact.title[:1]:
        return fact.title
    if content.startswith(fact.title.rstrip("…")):
        return ""
    return "" if fact.title == derive_title(fact.content, fact.type) else fact.title


_SPEAKER = r"\A([^\W\d_][\w .'’-]{0,40}):\s"
"""Compiled when a fact is indexed: a question loads this module, too."""


def speaker_names(fact: Fact, *, in_row: bool = False) -> tuple[str, ...]:
    """Whom a fact is about or who said it, each name once.

    In a session, or where notes stand in a row, a name and a colon at the beginning name the
    speaker: `Caroline: I went …`.
    """
    speaker = re.match(_SPEAKER, fact.content) if fact.session_id or in_row else None
    names = [*fact.entities, fact.agent_id, speaker and speaker[1]]
    return tuple(dict.fromkeys(name for name in names if name))


def day_words(time: str) -> str:
    """The day of a time in words, `8 May 2023 2023-05-08`; empty for an invalid time."""
    try:
        day = date.fromisoformat(time[:10])
    except ValueError:
        return ""
    return f"{day.day} {MONTHS[day.month - 1].capitalize()} {day.year} {day}"


MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august"),
    *("september", "october", "november", "december"),
)


# ------------------------------------------------------------------------- neighbours


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
    is_numbered = _SERIES <= one.moment < _FIRST_TIME
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


# ------------------------------------------------------------------------- notes in a row


STEP = 300
"""How far a number, or a day, is from the next one; for notes named by a time, seconds."""
REACH = 2 * STEP
"""The greatest distance of neighbours in a row. Where more is missing, they are none."""

_DAY = r"\A(\d{4})([-_.]?)(\d\d)\2(\d\d)"
_TIME = r"[ T_-]*(\d\d)[-.:h]?(\d\d)(?:[-.:m]?(\d\d))?(?!\d)"
_FIRST = r"\A(\d{1,3})(?=[\s._)-])"
_LAST = r"[\s._#-]*(?<!\d)(\d{1,6})\Z"
_AFTER_DAY = r"[\s._#-]+(\d{1,6})"
"""Compiled when a note is indexed: a question loads this module, too."""


class SeriesPlace(Struct, frozen=True):
    """The place of a note in a row."""

    series: str
    """What the notes of the row have in common."""
    number: int
    """As far from those beside it as `STEP` and `REACH` say."""


def series_place(path: VaultPath) -> SeriesPlace | None:
    """The place of a note, by a day, a time or a number in its name; None without one.

    After a number or a time, the name may say anything: `07 Lisbon`, `202604091530 Lisbon`.
    After a day it may not: notes of one day, or of two, are about many things.
    """
    folder, _, name = path.rpartition("/")
    stem = name.rpartition(".")[0] or name
    if begin := re.match(_DAY, stem):
        return _dated(folder, stem, begin)
    if first := re.match(_FIRST, stem):
        return SeriesPlace(f"{folder}/", int(first[1]) * STEP)
    if last := re.search(_LAST, stem):
        return SeriesPlace(f"{folder}/{stem[: last.start()].casefold()}", int(last[1]) * STEP)
    return None


def _dated(folder: str, stem: str, begin: re.Match[str]) -> SeriesPlace | None:
    year, _, month, day = begin.groups()
    try:
        days = date(int(year), int(month), int(day)).toordinal()
    except ValueError:
        return None
    rest = stem[begin.end() :]
    if time := re.match(_TIME, rest):
        hours, minutes, seconds = (int(each or 0) for each in time.groups())
        return SeriesPlace(f"{folder}/at", ((days * 24 + hours) * 60 + minutes) * 60 + seconds)
    if number := re.fullmatch(_AFTER_DAY, rest):
        return SeriesPlace(f"{folder}/{begin[0]}", int(number[1]) * STEP)
    return None if rest else SeriesPlace(f"{folder}/on", days * STEP)
