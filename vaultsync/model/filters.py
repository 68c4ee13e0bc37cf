"""Filters of listings and searches."""

from __future__ import annotations

from typing import NamedTuple

from vaultsync.model.canonical import FOREVER, tag_keys, tag_keys_with_parents, to_microseconds
from vaultsync.model.fact import Fact
from vaultsync.model.hiding import ARCHIVED, BACKGROUND, EXPIRED, SUPERSEDED, is_agents_background
from vaultsync.model.permissions import Reader
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
    superseded_only: bool = False
    """Only superseded facts. An index may leave this filter, and those below, to its caller."""
    hidden_statuses: frozenset[str] = frozenset()
    """Leave out facts of these statuses."""
    hide_background: bool = False
    """Leave out background facts that agents wrote."""
    alive_at: str | None = None
    """Leave out facts that had expired by this time."""
    reader: Reader | None = None
    """Only facts that this agent may read; None is the user, who reads all."""
    themes: frozenset[str] = frozenset()
    """Only facts of all of these themes (`themeIds`), in any case."""
    without: frozenset[str] = frozenset()
    """Leave out the facts of these ids. An index may leave this filter to its caller."""
    among: frozenset[str] | None = None
    """Only the facts of these ids; None for all. An index may leave this filter to its caller."""

    @property
    def unhidden(self) -> FactFilters:
        """The same filters without those that hide facts by default."""
        return self._replace(
            heads_only=False, hidden_statuses=frozenset(), hide_background=False, alive_at=None
        )

    @property
    def words(self) -> dict[str, frozenset[str]]:
        """The allowed values of `scope`, `type` and `status`, of those that are restricted."""
        status = None if self.status is None else frozenset({self.status})
        words = {"scope": self.scopes, "type": self.types or None, "status": status}
        return {field: allowed for field, allowed in words.items() if allowed is not None}

    @property
    def plain_tags(self) -> frozenset[str]:
        """The keys of the tags."""
        return frozenset(tag_keys(self.tags))

    @property
    def moments(self) -> tuple[int, int]:
        """`since` and `until` in microseconds."""
        until = FOREVER if self.until is None else to_microseconds(self.until)
        return to_microseconds(self.since or ""), until

    def hidden_by(self, fact: Fact) -> str:
        """The first default that hides a fact; empty when none does."""
        if (self.heads_only and fact.superseded_by_id) or (
            fact.status == SUPERSEDED and SUPERSEDED in self.hidden_statuses
        ):
            return SUPERSEDED
        if fact.status == ARCHIVED and ARCHIVED in self.hidden_statuses:
            return ARCHIVED
        if self._has_expired(fact) or (fact.status == EXPIRED and EXPIRED in self.hidden_statuses):
            return EXPIRED
        if fact.status in self.hidden_statuses:
            return fact.status
        return BACKGROUND if self.hide_background and is_agents_background(fact) else ""

    def admits(self, fact: Fact) -> bool:
        """Whether a fact passes all filters; every index must agree."""
        return (
            (self.scopes is None or fact.scope in self.scopes)
            and (not self.types or fact.type in self.types)
            and (not self.tags or self._has_tags(fact))
            and self.status in (None, fact.status)
            and fact.priority <= self.max_priority
            and self.user in (None, fact.user_id)
            and (not self.tiers or tier_of(fact.priority) in self.tiers)
            and ((self.since or self.until) is None or self._is_in_time(fact))
            and not (self.superseded_only and not fact.superseded_by_id)
            and not self.hidden_by(fact)
            and (self.reader is None or self.reader.reads(fact.scope))
            and self.themes <= frozenset(map(str.casefold, fact.theme_ids))
            and fact.id not in self.without
            and (self.among is None or fact.id in self.among)
        )

    def _has_tags(self, fact: Fact) -> bool:
        from vaultsync.model.inline_tags import all_tags  # noqa: PLC0415 - few questions have tags

        return self.plain_tags <= tag_keys_with_parents(all_tags(fact))

    def _has_expired(self, fact: Fact) -> bool:
        return bool(self.alive_at and fact.expires_at) and (
            to_microseconds(fact.expires_at or "") <= to_microseconds(self.alive_at or "")
        )

    def _is_in_time(self, fact: Fact) -> bool:
        first, until = self.moments
        return first <= to_microseconds(fact.created_at) < until
