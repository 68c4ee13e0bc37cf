"""What a question asks for besides its topic, as a value."""

from __future__ import annotations

from msgspec import Struct

OPEN, OVERDUE, DONE, DUE, REPLACED = "open", "overdue", "done", "due", "replaced"
WITH_STATE = frozenset({"commitment", "task"})
"""The types that have a state; facts of any type may be replaced."""


class AskedFor(Struct, frozen=True):
    """What a question asks for besides its topic."""

    types: frozenset[str] = frozenset()
    """The types of facts that it asks for."""
    hinted_types: frozenset[str] = frozenset()
    """The types it mentions, including those it asks for."""
    order: str = ""
    """`newest` or `oldest`; empty for the default."""
    state: str = ""
    """`open`, `overdue`, `done`, `due` or `replaced`; empty for any."""
    topic: tuple[str, ...] = ()
    """The words of its topic; empty if it asks for a whole set."""
    is_one: bool = False
    """Whether it asks for one fact of an order: *our latest decision*."""
