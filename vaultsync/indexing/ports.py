"""The note index: finds facts by their words. Derived; it can always be rebuilt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from vaultsync.indexing.session_context import Turn
from vaultsync.model.fact import Fact
from vaultsync.model.filters import Filters


class Entry(NamedTuple):
    """A fact, and the text of its neighbours that lends it context."""

    fact: Fact
    around: str = ""
    turn: Turn | None = None
    """Where the fact stands, if that was worked out already."""


class Match(NamedTuple):
    """A fact that was found, and how well it matched: BM25, greater is better."""

    fact_id: str
    score: float


class NoteIndex(Protocol):
    """Facts by their words. One writer at a time, any number of readers in any process.

    What is put is found by all readers once `update()` has returned. A damaged or missing
    index is an empty one with no version; nobody loses anything but time.
    """

    def version(self) -> str | None:
        """What the last `update()` brought it up to; None when it has to be built."""
        ...

    def update(
        self, put: Iterable[Entry], drop: Iterable[str], *, version: str
    ) -> None:
        """Replace and remove entries by the ids of their facts, all or none.

        Raises:
            IndexBusyError: another process is writing; nothing was done.
            OSError: the disk is full or broken; the index is as it was.
        """
        ...

    def clear(self) -> None:
        """Forget everything, the version too. Raises as `update()`."""
        ...

    def search(
        self,
        words: str,
        filters: Filters,
        *,
        phrases: Sequence[str] = (),
        limit: int,
        names_only: bool = False,
    ) -> list[Match]:
        """The facts that match some of the words and all of the phrases, best first.

        A fact that is called what is asked, by its whole title or an alias, stands out
        from those that only have the words. Where there are phrases, words only rank.
        Any text will do; none is syntax. Equal scores come by id. With `names_only`
        words are looked for in titles and aliases, and nowhere else.
        """
        ...

    def turns(self, sessions: Iterable[int], facts: Iterable[str]) -> list[Turn]:
        """What it holds of some sessions, of facts, and of the sessions they are in.

        Each fact once, as it was put last, in no order.
        """
        ...

    def tokens(self, text: str) -> list[str]:
        """The terms that a text is indexed under: stemmed, without stop words."""
        ...

    def count(self) -> int:
        """How many facts it holds."""
        ...

    def close(self) -> None:
        """Let go of the files; harmless when repeated."""
        ...
