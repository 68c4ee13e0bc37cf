"""The note index: finds facts by their words. Derived; it can always be rebuilt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from vaultsync.core.around import Turn, moment
from vaultsync.core.fact import Fact


class Filters(NamedTuple):
    """Which facts may be found. An empty collection, or None, filters nothing."""

    scopes: frozenset[str] | None = None
    """The visible ones; None is all of them."""
    types: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    """A fact must have all of them; `a` also means `a/b`, as in Obsidian."""
    status: str | None = "active"
    max_priority: int = 4
    since: str | None = None
    """Created at this time or later; ISO 8601 UTC, as facts spell it."""
    until: str | None = None
    """Created before this time."""
    heads_only: bool = True
    """Leave out what a newer fact replaced."""
    user: str | None = None
    """Only what is about this user (`userId`). An index may leave this one to whoever
    looks at the facts it names."""

    def admits(self, fact: Fact) -> bool:
        """Whether a fact may be found."""
        return (
            (self.scopes is None or fact.scope in self.scopes)
            and (not self.types or fact.type in self.types)
            and all(_tagged(fact, each) for each in self.tags)
            and self.status in (None, fact.status)
            and fact.priority <= self.max_priority
            and not (self.heads_only and fact.superseded_by_id)
            and self.user in (None, fact.user_id)
            and (self.since is None or moment(fact.created_at) >= moment(self.since))
            and (self.until is None or moment(fact.created_at) < moment(self.until))
        )


def _tagged(fact: Fact, wanted: str) -> bool:
    name = wanted.lstrip("#").casefold()
    held = [each.casefold() for each in fact.tags]
    return any(each == name or each.startswith(f"{name}/") for each in held)


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
        self, words: str, filters: Filters, *, phrases: Sequence[str] = (), limit: int
    ) -> list[Match]:
        """The facts that match some of the words and all of the phrases, best first.

        Where there are phrases, words only rank. Any text will do; none is syntax.
        Equal scores come by id.
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
