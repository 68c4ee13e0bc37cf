"""The link index: which note links where. It is derived and can always be rebuilt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from vaultsync.storage.erasure import Traces


class LinkReference(NamedTuple):
    """A link in the note of a fact, as written."""

    fact_id: str
    """Of the note that contains it."""
    target: str
    """As `Link.target`; the id of a fact under a key of `ID_KEYS`."""
    subpath: str
    kind: str
    """`wiki`, `markdown`, `embed` or `property`."""
    key: str = ""
    """The property that contains it (`see.0`: first of a list); empty in the body."""


class EntityRecord(NamedTuple):
    """The names of a fact that is a person, a project or another entity."""

    fact_id: str
    scope: str
    names: tuple[str, ...]
    """Its title, then its aliases."""


class LinkedFact(NamedTuple):
    """What the index holds of a fact."""

    id: str
    links: Sequence[LinkReference] = ()
    """In the order of the note."""
    names: tuple[str, ...] = ()
    """Its title, then its aliases."""
    entity_scope: str = ""
    """The scope of an entity; empty for other facts."""


class LinkIndex(Protocol):
    """Links by source and by the folded name of their target; the names of entities.

    One writer at a time, any number of readers in any process. A damaged or missing index
    is an empty one without a version; it is rebuilt.
    """

    def version(self) -> str | None:
        """The version of the last `update()`; None if the index has to be built."""
        ...

    def update(self, put: Sequence[LinkedFact], drop: Iterable[str], *, version: str) -> None:
        """Replace what is held of facts and forget facts, all or none.

        Args:
            put: the changed facts.
            drop: the deleted ones.
            version: what the index contains afterwards.

        Raises:
            IndexBusyError: another process is writing; nothing was done.
            IndexChangedError: another process wrote since `version()` or `clear()`; likewise.
            OSError: the disk is full or broken; the index is as it was.
        """
        ...

    def clear(self) -> None:
        """Forget everything, including the version, no matter which process wrote it.

        Raises: as `update()`.
        """
        ...

    def erase(self, traces: Traces) -> Mapping[str, int]:
        """Leave nothing of some facts in the file, as an `Erasable`; it may be empty then."""
        ...

    def links_from(self, fact_id: str) -> list[LinkReference]:
        """The links in the note of a fact, in the order of `update()`."""
        ...

    def links_to(self, names: Iterable[str]) -> list[LinkReference]:
        """All links whose target ends in one of these file names, without `.md` and case.

        Links to places in the same note are not included.
        """
        ...

    def called(self, names: Iterable[str]) -> list[str]:
        """The ids of the facts with one of these titles or aliases, compared as `name_key()`."""
        ...

    def entities(self) -> list[EntityRecord]:
        """All entities, by id."""
        ...

    def close(self) -> None:
        """Close the file. May be called again."""
        ...
