"""Listed entries in memory: the simplest implementation, which serves as a reference."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import TypeVar

from vaultsync.index_files.entry import ListedEntry, bucket_of
from vaultsync.index_files.ports import (
    LAST_DAY,
    LETTERED,
    EntityGroup,
    Mentions,
    PartKeys,
    Totals,
    Volume,
)
from vaultsync.model.paths import path_key

_Key = TypeVar("_Key")


class MemoryEntries:
    """An `EntryTable` in memory."""

    def __init__(self) -> None:
        self._version: str | None = None
        self._entries: dict[str, ListedEntry] = {}
        self._groups: dict[str, EntityGroup] = {}
        self._sorted: list[ListedEntry] | None = None
        self._mentioning: dict[str, list[ListedEntry]] = {}
        self._owners: dict[str, str] = {}

    def version(self) -> str | None:
        return self._version

    @contextmanager
    def changing(self) -> Iterator[None]:
        before = self._version, dict(self._entries), dict(self._groups)
        try:
            yield
        except BaseException:
            self._version, self._entries, self._groups = before
            self._sorted = None
            raise

    def clear(self) -> None:
        self._version, self._sorted = None, None
        self._entries.clear()
        self._groups.clear()

    def set_version(self, version: str) -> None:
        self._version = version

    def put(self, new: Sequence[ListedEntry], old: Sequence[ListedEntry]) -> None:
        for each in old:
            del self._entries[each.id]
        self._entries.update((each.id, each) for each in new)
        self._sorted = None

    def put_groups(self, new: Sequence[EntityGroup], old: Sequence[EntityGroup]) -> None:
        for each in old:
            del self._groups[each.key]
        self._groups.update((each.key, each) for each in new)

    def find(self, fact_ids: Collection[str]) -> dict[str, ListedEntry]:
        return {each: self._entries[each] for each in fact_ids if each in self._entries}

    def iter_listed(self) -> Iterator[ListedEntry]:
        return iter(self._entries.values())

    def totals(self, until: str = LAST_DAY) -> Totals:
        listed = self._entries.values()
        tokens = sum(each.entry.tokens for each in listed)
        days = (each.entry.day for each in listed if each.entry.day <= until)
        return Totals(len(listed), tokens, max(days, default=""))

    def newest(self, since: str, until: str, limit: int) -> tuple[int, list[ListedEntry]]:
        recent = [each for each in self._ranked() if since <= each.entry.day <= until]
        recent.sort(key=lambda each: each.entry.day, reverse=True)
        return len(recent), recent[:limit]

    def by_type(self, limit: int) -> dict[str, tuple[int, list[ListedEntry]]]:
        return _first(_grouped(self._ranked(), lambda each: each.entry.type), limit)

    def by_priority(self, limit: int) -> dict[int, tuple[int, list[ListedEntry]]]:
        return _first(_grouped(self._ranked(), lambda each: each.entry.priority), limit)

    def owners(self, names: Collection[str]) -> dict[str, str]:
        self._ranked()
        return {each: self._owners[each] for each in names if each in self._owners}

    def mentions(self, names: Collection[str], limit: int) -> Mentions:
        self._ranked()
        found = {each.id: each for name in names for each in self._mentioning.get(name, ())}
        spelled = Counter(
            name
            for each in found.values()
            for name in each.entry.entities
            if path_key(name) in names
        )
        return Mentions(len(found), spelled, sorted(found.values(), key=_by_rank)[:limit])

    def find_groups(self, keys: Collection[str]) -> dict[str, EntityGroup]:
        return {each: self._groups[each] for each in keys if each in self._groups}

    def parts(self, kind: str) -> dict[PartKeys, Volume]:
        if kind == LETTERED:
            return _volumes(((each.letter,), each.volume) for each in self._groups.values())
        return _volumes((each.keys, Volume(1, each.size)) for each in self._ranked())

    def buckets(self, kind: str, keys: PartKeys) -> dict[int, Volume]:
        if kind == LETTERED:
            groups = (each for each in self._groups.values() if (each.letter,) == keys)
            return _volumes((bucket_of(each.key), each.volume) for each in groups)
        some = (each for each in self._ranked() if each.keys == keys)
        return _volumes((bucket_of(each.id), Volume(1, each.size)) for each in some)

    def typed(self, keys: PartKeys, buckets: range) -> list[tuple[str, str]]:
        return [
            (each.entry.type, each.line)
            for each in self._ranked()
            if each.keys[: len(keys)] == keys and bucket_of(each.id) in buckets
        ]

    def entities(self, keys: PartKeys, buckets: range) -> list[EntityGroup]:
        some = (each for each in self._groups.values() if keys in ((), (each.letter,)))
        return sorted((x for x in some if bucket_of(x.key) in buckets), key=_by_rank)

    def _ranked(self) -> list[ListedEntry]:
        """All entries in their order; also sets what is looked up by names."""
        if self._sorted is None:
            self._sorted = sorted(self._entries.values(), key=_by_rank)
            self._mentioning = defaultdict(list)
            names = []
            for each in self._sorted:
                for name in each.mentioned:
                    self._mentioning[name].append(each)
                names += [(kind, each.path, name, each.id) for kind, name in each.own_names]
            self._owners = {name: owner for *_, name, owner in sorted(names, reverse=True)}
        return self._sorted


_by_rank = attrgetter("rank")


def _grouped(
    listed: Iterable[ListedEntry], key: Callable[[ListedEntry], _Key]
) -> dict[_Key, list[ListedEntry]]:
    groups: dict[_Key, list[ListedEntry]] = defaultdict(list)
    for each in listed:
        groups[key(each)].append(each)
    return groups


def _first(
    groups: Mapping[_Key, list[ListedEntry]], limit: int
) -> dict[_Key, tuple[int, list[ListedEntry]]]:
    return {key: (len(group), group[:limit]) for key, group in groups.items()}


def _volumes(parts: Iterable[tuple[_Key, Volume]]) -> dict[_Key, Volume]:
    found: dict[_Key, Volume] = defaultdict(Volume)
    for key, volume in parts:
        lines, size = found[key]
        found[key] = Volume(lines + volume.lines, size + volume.size)
    return dict(found)
