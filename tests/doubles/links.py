"""A link index in memory, which serves as a reference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from vaultsync.links.ports import EntityRecord, LinkReference
from vaultsync.links.wikilinks import name_key
from vaultsync.storage.erasure import Traces


class MemoryLinks:
    """A `LinkIndex` in memory."""

    def __init__(self) -> None:
        self._version: str | None = None
        self._links: dict[str, tuple[LinkReference, ...]] = {}
        self._entities: dict[str, EntityRecord] = {}
        self._titles: dict[str, Sequence[str]] = {}

    def version(self) -> str | None:
        return self._version

    def update(
        self,
        put: Mapping[str, Sequence[LinkReference]],
        drop: Iterable[str],
        *,
        version: str,
        entities: Iterable[EntityRecord] = (),
        titles: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> None:
        for fact_id in (*drop, *put):
            self._titles.pop(fact_id, None)
            self._links.pop(fact_id, None)
            self._entities.pop(fact_id, None)
        self._links.update({key: tuple(links) for key, links in put.items()})
        self._entities.update({each.fact_id: each for each in entities})
        self._titles.update(titles)
        self._version = version

    def clear(self) -> None:
        self._links, self._entities, self._titles, self._version = {}, {}, {}, None

    def links_from(self, fact_id: str) -> list[LinkReference]:
        return list(self._links.get(fact_id, ()))

    def links_to(self, names: Iterable[str]) -> list[LinkReference]:
        wanted = {name_key(name) for name in names} - {""}
        return [
            link
            for fact_id in sorted(self._links)
            for link in self._links[fact_id]
            if name_key(link.target) in wanted
        ]

    def called(self, names: Iterable[str]) -> list[str]:
        wanted = {name_key(name) for name in names} - {""}
        return sorted(
            fact_id
            for fact_id, titles in self._titles.items()
            if not wanted.isdisjoint(map(name_key, titles))
        )

    def entities(self) -> list[EntityRecord]:
        return [self._entities[key] for key in sorted(self._entities)]

    def erase(self, traces: Traces) -> dict[str, int]:
        self.clear()
        return {}

    def close(self) -> None:
        """Do nothing: no resource is open."""
