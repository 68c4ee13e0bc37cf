"""A fact in its session, and the words for who said it and when.

For the texts that facts of a session lend each other, see `session_neighbours`.
"""

from __future__ import annotations

import re
from datetime import date
from hashlib import blake2b

from vaultsync.indexing.ports import SessionTurn
from vaultsync.model.canonical import to_microseconds
from vaultsync.model.fact import Fact, derive_title
from vaultsync.model.paths import VaultPath

SERIES = -(1 << 62)
"""Moment of number 0 of a series: numbers are before all times."""
FIRST_TIME = -(1 << 61)
"""No time is before it."""


def turn_of(fact: Fact, path: VaultPath | None = None) -> SessionTurn:
    """The place of a fact in its session, or else that of its note among those in a row.

    Args:
        fact: with or without a session.
        path: of its note; None when there is none, or only a session counts.
    """
    session = f"{fact.session_id}\n{fact.scope}" if fact.session_id else ""
    moment = to_microseconds(fact.created_at)
    if path is not None and not session:
        # Only where notes are indexed.
        from vaultsync.indexing.note_series import series_place  # noqa: PLC0415 - see above

        if place := series_place(path):
            session, moment = f"{place.series}\n\n{fact.scope}", SERIES + place.number
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
