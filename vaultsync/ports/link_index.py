"""The link index: which note links where. Derived; it can always be rebuilt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol


class Reference(NamedTuple):
    """A link in the note of a fact, as written."""

    fact_id: str
    """Of the note that holds it."""
    target: str
    """As in `core.links.Link`."""
    subpath: str
    kind: str
    """`wiki`, `markdown`, `embed` or `property`."""
    key: str = ""
    """The property that holds it; empty in the body."""


class LinkIndex(Protocol):
    """Links by their source and by the folded name they point to."""

    def version(self) -> str | None:
        """What the last `update()` brought it up to; None when it has to be built."""
        ...

    def update(
        self,
        put: Mapping[str, Sequence[Reference]],
        drop: Iterable[str],
        *,
        version: str,
    ) -> None:
        """Replace the links of facts, and forget facts, all or none."""
        ...

    def clear(self) -> None:
        """Forget everything, the version too."""
        ...

    def links_from(self, fact_id: str) -> list[Reference]:
        """The links in the note of a fact."""
        ...

    def links_to(self, names: Iterable[str]) -> list[Reference]:
        """All links whose target ends in one of these file names (case and form folded)."""
        ...

    def close(self) -> None:
        """Let go of the file; harmless when repeated."""
        ...
