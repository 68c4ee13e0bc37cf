"""Facts that can be deleted: expired ones, faded ones, and middle versions of chains.

Facts that the user wrote, critical facts and facts in use never fade.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from vaultsync.model.decay import decay_factor, last_used
from vaultsync.model.fact import Fact
from vaultsync.model.schema import TYPES

MAX_CHAIN_LENGTH = 5
"""Maximum number of versions of a fact; of a longer chain only the first and the newest
are kept."""


class RetentionAction(NamedTuple):
    """A change or deletion of a fact."""

    fact: Fact
    becomes: Fact | None
    """The new version; None deletes it."""
    reason: str


def plan_retention(
    facts: Iterable[Fact], now: datetime, *, floor: float, longest: int
) -> list[RetentionAction]:
    """The changes to all facts of a memory, in their order; those of chains come last.

    A fact has faded when its recency, from 0 to 1, is below `floor`. A chain has at most
    `longest` versions.
    """
    actions: list[RetentionAction] = []
    linked: dict[str, Fact] = {}
    for fact in facts:
        if fact.expires_at and datetime.fromisoformat(fact.expires_at) <= now:
            reason = f"it expired at {fact.expires_at}"
        else:
            reason = _faded(fact, now, floor)
        if reason:
            actions.append(RetentionAction(fact, None, reason))
        elif fact.supersedes_id or fact.superseded_by_id:
            linked[fact.id] = fact
    for chain in _chains(linked):
        if len(chain) > longest:
            actions += _collapse(chain)
    return actions


def _faded(fact: Fact, now: datetime, floor: float) -> str:
    if not fact.agent_id or not fact.priority or not fact.created_at:
        return ""
    current = decay_factor(fact, now)
    if current >= floor:
        return ""
    since = last_used(fact)[:10]
    days = TYPES[fact.type].half_life * (1 + (fact.emotional_weight or 0.0))
    return f"it faded to {current:.3f}: not used since {since} (half-life {days:g} days)"


def _chains(linked: Mapping[str, Fact]) -> list[list[Fact]]:
    """The versions of each fact, the newest first, as far as neighbours name each other."""
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


def _collapse(chain: list[Fact]) -> list[RetentionAction]:
    newest, *middle, oldest = chain
    why = f"it is one of {len(middle)} versions between the first and the newest"
    removed = f"{len(middle)} versions between it and the "
    first = newest.evolve(supersedes_id=oldest.id)
    last = oldest.evolve(superseded_by_id=newest.id)
    return [
        *(RetentionAction(fact, None, why) for fact in middle),
        RetentionAction(newest, first, f"{removed}first were deleted"),
        RetentionAction(oldest, last, f"{removed}newest were deleted"),
    ]
