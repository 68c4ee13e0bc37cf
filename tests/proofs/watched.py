"""A vault that remembers what happened in it, on a disk with a coarse clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.sim import SimVault
from tests.sim_disk import Inode

TICK_NS = 10_000_000
"""The clock resolution of the file system: two saves may have the same timestamp."""


@dataclass(slots=True)
class WatchedVault(SimVault):
    """A vault that remembers what happened in it, on a disk with a coarse clock."""

    displaced: list[tuple[str, bytes]] = field(default_factory=list)
    """The contents that the engine replaced or removed."""
    held: set[str] = field(default_factory=set)
    """The sha of every complete content that a note ever had."""
    written: list[str] = field(default_factory=list)
    """All names that the engine created or removed."""
    by_person: bool = False

    def _set(self, step: dict[str, Inode | None]) -> None:
        for name, inode in step.items():
            old = self.names.get(name)
            seen = bool(name) and not name.startswith(".")
            if seen and not self.by_person and inode is not None:
                # A file that is restored was not displaced.
                back = inode.data
                self.displaced = [x for x in self.displaced if x[1] != back]
            if not self.by_person and name:
                self.written.append(name)
                if seen and old is not None and old is not inode:
                    self.displaced.append((name, old.data))
            if seen and inode is not None:
                self.held.add(inode.sha)
        SimVault._set(self, step)

    def _person(self, step: Mapping[str, Inode | None]) -> None:
        self.by_person = True
        try:
            SimVault._person(self, step)
        finally:
            self.by_person = False

    def _tick(self) -> int:
        return self._files_ns() // TICK_NS * TICK_NS
