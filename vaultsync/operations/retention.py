"""What a memory can do without: expired facts, faded ones, long chains of versions.

The rules of seed 001, with one more: what a person wrote does not fade, and neither does
what is critical or still in use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from vaultsync.model.decay import recency
from vaultsync.model.fact import Fact
from vaultsync.model.schema import TYPES

MAX_CHAIN_LENGTH = 5
"""Versions of a fact that may be (seed 001); of a longer chain the first and the newest
stay."""


class RetentionAction(NamedTuple):
    """One thing that is to be done to a fact."""

    fact: Fact
    becomes: Fact | None
    """What it is to be; None when it is to go."""
    reason: str


def plan_retention(
    facts: Iterable[Fact], now: datetime, *, floor: float, longest: int
) -> list[RetentionAction]:
    """What is to be done to facts, in their order; the edits of chains come last."""
    duties: list[RetentionAction] = []
    linked: dict[str, Fact] = {}
    for fact in facts:
        reason = _expired(fact, now) or _faded(fact, now, floor)
        if reason:
            duties.append(RetentionAction(fact, None, reason))
        elif fact.supersedes_id or fact.superseded_by_id:
            linked[fact.id] = fact
    for chain in _chains(linked):
        if len(chain) > longest:
            duties += _collapsed(chain)
    return duties


def _expired(fact: Fact, now: datetime) -> str:
    if fact.expires_at and datetime.fromisoformat(fact.expires_at) <= now:
        return f"it expired at {fact.expires_at}"
    return ""


def _faded(fact: Fact, now: datetime, floor: float) -> str:
    if not fact.agent_id or not fact.priority or not fact.created_at:
        return ""
    times = (fact.created_at, fact.updated_at, fact.last_accessed_at)
    last = max(filter(None, times), key=datetime.fromisoformat)
    left = recency(last, fact.type, now)
    if left >= floor:
        return ""
    half_life = TYPES[fact.type].half_life
    return f"it faded to {left:.3f}: nobody used it since {last[:10]} ({half_life} days)"


def _chains(linked: Mapping[str, Fact]) -> list[list[Fact]]:
    """Versions of one fact, the newest first, as far as both ends name each other."""
    chains = []
    for head in linked.values():
        if head.superseded_by_id in linked:
            continue
        chain = [head]
        older = linked.get(head.supersedes_id or "")
        while older is not None and older.superseded_by_id == chain[-1].id:
            chain.append(older)
            older = linked.get(older.supersedes_id or "")
        chains.append(chain)
    return chains


def _collapsed(chain: list[Fact]) -> list[RetentionAction]:
    newest, *between, oldest = chain
    why = f"it is one of {len(between)} versions between the first and the newest"
    told = f"the versions between it and {{}} are gone: {len(between)}"
    return [
        *(RetentionAction(fact, None, why) for fact in between),
        RetentionAction(newest, newest.evolve(supersedes_id=oldest.id), told.format("the first")),
        RetentionAction(
            oldest, oldest.evolve(superseded_by_id=newest.id), told.format("the newest")
        ),
    ]
