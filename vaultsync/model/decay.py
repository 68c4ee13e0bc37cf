"""The recency and utility of a fact, from 0 to 1."""

from __future__ import annotations

from datetime import datetime
from math import exp2, log10

from vaultsync.model.fact import Fact
from vaultsync.model.hiding import OBSERVATION
from vaultsync.model.schema import TIERS, TYPES, tier_of

DEFAULT_IMPORTANCE = 0.5
"""Importance of a fact that has none."""
FADED_DECAY = 0.01
"""The decay below which a fact has faded: after 6.6 half-lives."""
_DAY = 86_400.0


def recency(
    created_at: str, type_name: str, now: datetime, *, emotional_weight: float | None = None
) -> float:
    """`0.5 ^ (age / half-life)`, with the half-life of the type: 0 to 1.

    1 for a time in the future, 0 for a fact without a time. An emotional weight of 1 doubles
    the half-life, and one of 0, or none, leaves it as it is.
    """
    if not created_at:
        return 0.0
    age = (now - datetime.fromisoformat(created_at)).total_seconds() / _DAY
    return exp2(-max(0.0, age) / (TYPES[type_name].half_life * (1 + (emotional_weight or 0.0))))


def last_used(fact: Fact) -> str:
    """When a fact was last written, changed or used; empty when none of it is known."""
    times = (fact.created_at, fact.updated_at, fact.last_accessed_at)
    return max(filter(None, times), key=datetime.fromisoformat, default="")


def decay_factor(fact: Fact, now: datetime) -> float:
    """The share of a fact that remains since it was last used: 0 to 1."""
    return recency(last_used(fact), fact.type, now, emotional_weight=fact.emotional_weight)


def is_expired(fact: Fact, now: datetime) -> bool:
    """Whether the time has passed at which a fact expires."""
    return fact.expires_at is not None and datetime.fromisoformat(fact.expires_at) <= now


def brought_back(tombstone: Fact, now: datetime) -> Fact:
    """A deleted fact as it returns: it would be hidden, and deleted again, if it stayed expired."""
    return tombstone.evolve(expires_at=None) if is_expired(tombstone, now) else tombstone


def utility(importance: float | None, access_count: int) -> float:
    """`importance · (1 + log10(1 + accesses)) / 2`, at most 1."""
    weight = DEFAULT_IMPORTANCE if importance is None else importance
    return min(1.0, weight * (1 + log10(1 + max(0, access_count))) / 2)


def listed_importance(type_name: str, importance: float | None) -> float:
    """The importance by which a fact is listed; 0 for observations, the newest of which count most.

    A classifier gave them theirs, and in a few months there are enough of them to hide what an
    agent or the user called important.
    """
    if type_name == OBSERVATION:
        return 0.0
    return DEFAULT_IMPORTANCE if importance is None else importance


def by_tier(fact: Fact) -> tuple[int, bool, int]:
    """Sorts facts by tier, in each the observations last, then by priority."""
    tier = [*TIERS].index(tier_of(fact.priority))
    return tier, fact.type == OBSERVATION, fact.priority


def by_importance(fact: Fact) -> tuple[tuple[int, bool, int], float]:
    """Sorts facts as `by_tier()` does, then the most important first."""
    return by_tier(fact), -listed_importance(fact.type, fact.importance)
