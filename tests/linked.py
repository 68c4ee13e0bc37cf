"""A world with a link index."""

from __future__ import annotations

from tests.doubles.links import MemoryLinks
from tests.world import World
from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value


class LinkedWorld(World):
    """A world with a link index."""

    def __init__(self) -> None:
        super().__init__()
        self.links = MemoryLinks()

    def note_of(self, title: str, content: str = "-", agent: str = "indy", **values: Value) -> Fact:
        fact = self.agent_remembers(content, agent=agent, title=title, **values)
        self.sync()
        return self.fact(fact.id)
