"""Contract of the listed entries, which are derived and can be rebuilt."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import date
from typing import NamedTuple, Protocol

from vaultsync.index_files.entry import ListedEntry

PartKeys = tuple[str, ...]
"""Where a line belongs in a file that is divided: type and month, or a letter."""


class Volume(NamedTuple):
    """How much there is in a part of an index file."""

    lines: int = 0
    size: int = 0
    """Bytes."""


LAST_DAY = date.max.isoformat()


class Totals(NamedTuple):
    """What the first lines of the master table say."""

    facts: int
    tokens: int
    newest: str
    """The newest ISO date; empty where no entry has a day."""


class Mentions(NamedTuple):
    """The facts that mention an entity by one of some names."""

    facts: int
    names: Mapping[str, int]
    """Name as facts write it -> how many do."""
    first: Sequence[ListedEntry]
    """The most important of them."""


class EntityGroup(NamedTuple):
    """An entity with the facts that mention it, as `by-entity.md` shows it."""

    key: str
    """Which entity it is."""
    heading: str
    label: str
    """By what it is sorted: its folded name."""
    letter: str
    """The part that it belongs to."""
    mentions: int
    lines: tuple[str, ...]

    @property
    def volume(self) -> Volume:
        """What it takes."""
        text = "\n".join(("##", self.heading, *self.lines, ""))
        return Volume(len(self.lines), len(text.encode(errors="surrogatepass")) + 1)

    @property
    def rank(self) -> tuple[int, str, str]:
        """What entities are sorted by: the most mentioned first."""
        return -self.mentions, self.label, self.key


TYPED, LETTERED = "typed", "lettered"
"""What is divided into parts: entries by type and month, and entities by letter."""


class EntryTable(Protocol):
    """The entries of all facts that are listed.

    A change costs what changed: nothing reads all of them but `iter_listed()`. Entries come
    in the order of `ListedEntry.rank`, entities in that of `EntityGroup.rank`.
    """

    def version(self) -> str | None:
        """The last value of `set_version()`; None for an empty or a damaged table."""
        ...

    def changing(self) -> AbstractContextManager[None]:
        """Change the table: all of it when the block ends, nothing when it raises.

        Raises:
            IndexBusyError: another process changes it.
            OSError: the disk is full or broken.
        """
        ...

    def clear(self) -> None:
        """Forget everything."""
        ...

    def set_version(self, version: str) -> None:
        """Say what the table is up to."""
        ...

    def put(self, new: Sequence[ListedEntry], old: Sequence[ListedEntry]) -> None:
        """Take entries out, those that others replace among them, and list others."""
        ...

    def put_groups(self, new: Sequence[EntityGroup], old: Sequence[EntityGroup]) -> None:
        """The same with entities."""
        ...

    def find(self, fact_ids: Collection[str]) -> dict[str, ListedEntry]:
        """Those of the facts that are listed."""
        ...

    def iter_listed(self) -> Iterator[ListedEntry]:
        """All entries, in any order."""
        ...

    def totals(self, until: str = LAST_DAY) -> Totals:
        """What all entries come to; the newest is that of the entries up to a day."""
        ...

    def newest(self, since: str, until: str, limit: int) -> tuple[int, list[ListedEntry]]:
        """How many entries there are of some days, and the first of them, newest first."""
        ...

    def by_type(self, limit: int) -> dict[str, tuple[int, list[ListedEntry]]]:
        """Type -> how many entries it has, and the first of them."""
        ...

    def by_priority(self, limit: int) -> dict[int, tuple[int, list[ListedEntry]]]:
        """Priority -> how many entries it has, and the first of them."""
        ...

    def owners(self, names: Collection[str]) -> dict[str, str]:
        """Folded name -> the fact whose name it is: by title, then alias, then file name.

        Of several, the one whose note has the first path.
        """
        ...

    def mentions(self, names: Collection[str], limit: int) -> Mentions:
        """The facts that mention any of some folded names."""
        ...

    def find_groups(self, keys: Collection[str]) -> dict[str, EntityGroup]:
        """Those of the entities that are listed."""
        ...

    def parts(self, kind: str) -> dict[PartKeys, Volume]:
        """Type and month, or letter -> how much there is; `kind` is `TYPED` or `LETTERED`."""
        ...

    def buckets(self, kind: str, keys: PartKeys) -> dict[int, Volume]:
        """Bucket of ids, or of keys of entities -> how much of a part is in it."""
        ...

    def typed(self, keys: PartKeys, buckets: range) -> list[tuple[str, str]]:
        """The type and the line of each entry of a type and month, in some buckets.

        With fewer keys, of more of them.
        """
        ...

    def entities(self, keys: PartKeys, buckets: range) -> list[EntityGroup]:
        """The entities of a letter, or without one of all, in some buckets."""
        ...
