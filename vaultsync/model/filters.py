"""Filters of listings and searches."""

from __future__ import annotations

from typing import NamedTuple

from vaultsync.model.canonical import FOREVER, tag_key, tag_keys_with_parents, to_microseconds
from vaultsync.model.fact import Fact
from vaultsync.model.schema import tier_of


class FactFilters(NamedTuple):
    """Filters of facts. An empty collection, or None, filters nothing."""

    scopes: frozenset[str] | None = None
    """The visible scopes; None for all."""
    types: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    """A fact must have all of them; `a` also means `a/b`, as in Obsidian."""
    status: str | None = "active"
    max_priority: int = 4
    since: str | None = None
    """Created at this time or later; ISO 8601, UTC unless it has an offset."""
    until: str | None = None
    """Created before this time."""
    heads_only: bool = True
    """Leave out superseded facts."""
    user: str | None = None
    """Only facts about this user (`userId`). An index may leave this filter to its caller."""
    tiers: frozenset[str] = frozenset()
    """Only these tiers. An index may leave this filter to its caller."""

    @property
    def words(self) -> dict[str, frozenset[str]]:
        """The allowed values of `scope`, `type` and `status`, of those that are restricted."""
        status = None if self.status is None else frozenset({self.status})
        words = {"scope": self.scopes, "type": self.types or None, "status": status}
        return {field: allowed for field, allowed in words.items() if allowed is not None}

    @property
    def plain_tags(self) -> frozenset[str]:
        """The keys of the tags."""
        return frozenset(map(tag_key, self.tags))

    @property
    def moments(self) -> tuple[int, int]:
        """`since` and `until` in microseconds."""
        until = FOREVER if self.until is None else to_microseconds(self.until)
        return to_microseconds(self.since or ""), until

    def admits(self, fact: Fact) -> bool:
        """Whether a fact passes all filters; every index must agree."""
        return (
            (self.scopes is None or fact.scope in self.scopes)
            and (not self.types or fact.type in self.types)
            and (not self.tags or self.plain_tags <= tag_keys_with_parents(fact.tags))
            and self.status in (None, fact.status)
            and fact.priority <= self.max_priority
            and not (self.heads_only and fact.superseded_by_id)
            and self.user in (None, fact.user_id)
            and (not self.tiers or tier_of(fact.priority) in self.tiers)
            and ((self.since or self.until) is None or self._is_in_time(fact))
        )

    def _is_in_time(self, fact: Fact) -> bool:
        first, until = self.moments
        return first <= to_microseconds(fact.created_at) < until
