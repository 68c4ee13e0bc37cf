"""A link index in memory, which serves as a reference."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vaultsync.links.ports import EntityRecord, LinkedFact, LinkReference
from vaultsync.links.wikilinks import name_key
from vaultsync.storage.erasure import Traces


class MemoryLinks:
    """A `LinkIndex` in memory."""

    def __init__(self) -> None:
        self._version: str | None = None
        self._facts: dict[str, LinkedFact] = {}

    def version(self) -> str | None:
        return self._version

    def update(self, put: Sequence[LinkedFact], drop: Iterable[str], *, version: str) -> None:
        for fact_id in drop:
            self._facts.pop(fact_id, None)
        self._facts.update({each.id: each for each in put})
        self._version = version

    def clear(self) -> None:
        self._facts, self._version = {}, None

    def links_from(self, fact_id: str) -> list[LinkReference]:
        return list(self._facts[fact_id].links) if fact_id in self._facts else []

    def links_to(self, names: Iterable[str]) -> list[LinkReference]:
        wanted = {name_key(name) for name in names} - {""}
        return [
            link
            for fact_id in sorted(self._facts)
            for link in self._facts[fact_id].links
            if name_key(link.target) in wanted
        ]

    def called(self, names: Iterable[str]) -> list[str]:
        wanted = {name_key(name) for name in names} - {""}
        return sorted(
            fact.id
            for fact in self._facts.values()
            if not wanted.isdisjoint(map(name_key, fact.names))
        )

    def entities(self) -> list[EntityRecord]:
        held = [self._facts[key] for key in sorted(self._facts)]
        return [EntityRecord(x.id, x.entity_scope, x.names) for x in held if x.entity_scope]

    def erase(self, traces: Traces) -> dict[str, int]:
        self.clear()
        return {}

    def close(self) -> None:
        """Do nothing: no resource is open."""
