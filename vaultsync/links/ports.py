"""The link index: which note links where. Derived; it can always be rebuilt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol


class LinkReference(NamedTuple):
    """A link in the note of a fact, as written."""

    fact_id: str
    """Of the note that holds it."""
    target: str
    """As in `core.links.Link`; the id of a fact under the key `relatedFactIds`."""
    subpath: str
    kind: str
    """`wiki`, `markdown`, `embed` or `property`."""
    key: str = ""
    """The property that holds it (`see.0`: the first of a list); empty in the body."""


class EntityRecord(NamedTuple):
    """A fact that is a person, a project or another entity, and what it is called."""

    fact_id: str
    scope: str
    names: tuple[str, ...]
    """Its title, then its aliases."""


class LinkIndex(Protocol):
    """Links by their source and by the folded name they point to; the names of entities.

    One writer at a time, any number of readers in any process. A damaged or missing index
    is an empty one with no version; nobody loses anything but time.
    """

    def version(self) -> str | None:
        """What the last `update()` brought it up to; None when it has to be built."""
        ...

    def update(
        self,
        put: Mapping[str, Sequence[LinkReference]],
        drop: Iterable[str],
        *,
        version: str,
        entities: Iterable[EntityRecord] = (),
    ) -> None:
        """Replace the links of facts, and forget facts, all or none.

        A fact in `put` or `drop` that is not among `entities` is none (any more).

        Raises:
            IndexBusyError: another process is writing; nothing was done.
            OSError: the disk is full or broken; the index is as it was.
        """
        ...

    def clear(self) -> None:
        """Forget everything, the version too. Raises as `update()`."""
        ...

    def links_from(self, fact_id: str) -> list[LinkReference]:
        """The links in the note of a fact, in the order they were put."""
        ...

    def links_to(self, names: Iterable[str]) -> list[LinkReference]:
        """All links whose target ends in one of these file names (case and form folded).

        `.md` does not count. Of links to places in the same note there are none.
        """
        ...

    def entities(self) -> list[EntityRecord]:
        """All entities, by id."""
        ...

    def close(self) -> None:
        """Let go of the file; harmless when repeated."""
        ...
