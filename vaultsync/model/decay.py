"""How a fact fades with age and gains by use."""

from __future__ import annotations

from datetime import datetime
from math import exp2, log10

from vaultsync.model.schema import TYPES

DEFAULT_IMPORTANCE = 0.5
"""Of a fact to which nobody gave one: it neither stands out nor sinks."""
FADED_DECAY = 0.01
"""The decay below which a fact has faded: after 6.6 half-lives (seed 001)."""
_DAY = 86_400.0


def recency(created_at: str, type_name: str, now: datetime) -> float:
    """`0.5 ^ (age / half-life)`, the half-life by type; 1 for what is dated ahead.

    A fact without a time is as old as can be: 0.
    """
    if not created_at:
        return 0.0
    age = (now - datetime.fromisoformat(created_at)).total_seconds() / _DAY
    return exp2(-max(0.0, age) / TYPES[type_name].half_life)


def utility(importance: float | None, access_count: int) -> float:
    """`importance · (1 + log10(1 + accesses)) / 2`, at most 1."""
    weight = DEFAULT_IMPORTANCE if importance is None else importance
    return min(1.0, weight * (1 + log10(1 + max(0, access_count))) / 2)
