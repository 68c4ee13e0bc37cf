"""Session context: the text of the turns before and after, which is indexed with a fact.

Facts of one session explain each other. A fact lends text only to its neighbours in the same
session and scope, so that a search reveals nothing of a fact that the user may not see.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from hashlib import blake2b
from typing import NamedTuple

from vaultsync.model.canonical import to_microseconds
from vaultsync.model.fact import Fact, derive_title

CONTEXT_RULES = "around-1"
"""Name and version of these rules, part of the `VectorIdentity`."""
TURNS_BEFORE = TURNS_AFTER = 2
"""Number of neighbours on each side that lend their text."""
CONTEXT_SHARE = 300
"""Maximum number of characters that one neighbour lends. Turns of a dialogue are shorter; of
long notes, more than the beginning makes the index larger and finds nothing more."""


class SessionTurn(NamedTuple):
    """The place of a fact in its session. Turns of one session sort by time."""

    session: int
    """Hash of the session and the scope; 0 for a fact of no session."""
    moment: int
    """Microseconds since 1970 of its creation."""
    fact_id: str
    fingerprint: int = 0
    """Hash of all that can be searched for or filtered by."""


def turn_of(fact: Fact) -> SessionTurn:
    """The place of a fact in its session."""
    session = f"{fact.session_id}\n{fact.scope}" if fact.session_id else ""
    searchable = (
        *(fact.type, fact.title, fact.context, fact.priority, fact.status, fact.tags),
        *(fact.aliases, fact.entities, fact.scope, fact.created_at, fact.agent_id),
        *(fact.session_id, fact.superseded_by_id, fact.own, fact.properties),
    )
    fingerprint = hash63(f"{searchable!r}{fact.content}")
    return SessionTurn(hash63(session), to_microseconds(fact.created_at), fact.id, fingerprint)


def hash63(text: str) -> int:
    """A hash of 63 bits, which fits a signed column; 0 for an empty text."""
    if not text:
        return 0
    digest = blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) >> 1


def session_context(before: Sequence[str], after: Sequence[str]) -> str:
    """Join the texts of neighbours, the nearest one before first.

    It may be the question that the fact answers, and a model truncates long texts.
    """
    return "\n".join((*reversed(before), *after))


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


def speaker_names(fact: Fact) -> tuple[str, ...]:
    """Whom a fact is about or who said it, each name once.

    In a session, a name and a colon at the beginning name the speaker: `Caroline: I went …`.
    """
    speaker = re.match(_SPEAKER, fact.content) if fact.session_id else None
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
