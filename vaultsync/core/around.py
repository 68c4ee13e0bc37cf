"""What the facts of one session lend each other: the turns before and after.

Facts that were said in one breath explain each other. A fact lends its text to its
neighbours in its own session and scope only: nobody finds out by the words of a fact
that they cannot see.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

from vaultsync.core.fact import Fact

BEFORE = AFTER = 2
"""How many neighbours on each side lend their text."""
LENT = 1000
"""Characters that one neighbour lends at most."""


class Turn(NamedTuple):
    """Where a fact stands. Turns of one session sort as they were spoken."""

    session: int
    """Stands for the session and the scope; 0 when it is of no session."""
    moment: int
    """Grows with the time of creation."""
    fact_id: str
    mark: int = 0
    """Differs when anything differs that can be searched for or filtered by."""


def turn_of(fact: Fact) -> Turn:
    """Where a fact stands."""
    name = f"{fact.session_id}\n{fact.scope}" if fact.session_id else ""
    said = (
        *(fact.type, fact.title, fact.context, fact.content, fact.priority),
        *(fact.status, fact.tags, fact.aliases, fact.entities, fact.scope),
        *(fact.created_at, fact.agent_id, fact.session_id, fact.superseded_by_id),
        *(*fact.own.items(), *fact.properties.items()),
    )
    return Turn(number(name), moment(fact.created_at), fact.id, number(repr(said)))


def number(text: str) -> int:
    """63 bits that stand for a text; 0 for none."""
    if not text:
        return 0
    digest = blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) >> 1


def moment(time: str) -> int:
    """A number that grows with a time as facts spell it; 0 for none."""
    digits = "".join(letter for letter in time if letter.isdigit())
    return int(digits[:17].ljust(17, "0")) if digits else 0


def around(before: Sequence[Fact], after: Sequence[Fact]) -> str:
    """The text that a fact is lent by its neighbours, in the order of the session."""
    return "\n".join(_lent(each) for each in (*before, *after))


def _lent(fact: Fact) -> str:
    content = fact.content[:LENT]
    repeats = content.lstrip("#> ").startswith(fact.title.rstrip("…"))
    return content if repeats else f"{fact.title}\n{content}"
