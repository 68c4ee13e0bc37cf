"""Two machines, each with its vault and archive, over one Qdrant that does its worst.

Partitions, answers that get lost, requests that arrive twice, or once more much later,
and clocks that disagree: once all that is over, both vaults say the same, and every word
that was written is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast

import pytest
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from qdrant_client import QdrantClient

from tests.fakes import FakeClock
from tests.memory_archive import MemoryArchive
from tests.proofs.turns import tell_stories
from tests.qdrants import in_memory, store_in
from tests.sim import SimVault
from tests.world import OPEN_POLICY, World
from vaultsync.backends.qdrant.operations import PointCollection, PointOperation
from vaultsync.errors import FactNotFoundError, StoreUnavailableError
from vaultsync.model.serialization import fact_to_json
from vaultsync.sync.context import SyncContext

pytestmark = pytest.mark.long(5)

machine = st.integers(0, 1)
which = st.integers(0, 7)


class Wire:
    """The way of one machine to the collection."""

    def __init__(self, points: PointCollection, past: list[Sequence[PointOperation]]) -> None:
        self._points = points
        self._past = past
        self.cut = False
        self.lose = 0
        """How many of the next changes lose their answer."""
        self.twice = False
        """Whether each change arrives twice."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the other has
        if self.cut:
            raise StoreUnavailableError("cut off")
        return getattr(self._points, name)

    def do(self, steps: Sequence[PointOperation]) -> None:
        if self.cut:
            raise StoreUnavailableError("cut off")
        for _ in range(2 if self.twice else 1):
            self._points.do(steps)
        self._past.append(steps)
        if self.lose:
            self.lose -= 1
            raise StoreUnavailableError("the answer got lost")


class Machine(World):
    """A world whose store is somewhere else."""

    def __init__(self, wire: Wire, seed: int) -> None:
        self.wire = wire
        self.clock = FakeClock(seed=seed)
        self.vault = SimVault(now_ns=lambda: int(self.clock.now().timestamp() * 1e9))
        self.archive = MemoryArchive()
        self.remote = store_in(cast("PointCollection", wire), self.clock)
        self.ctx = SyncContext(self.remote, self.archive, self.clock, OPEN_POLICY, vault=self.vault)


def said(world: Machine) -> dict[str, str]:
    """What the store says, fact by fact."""
    return {fact.id: fact_to_json(fact) for fact in world.remote.iter_facts()}


class TwoMirrors(RuleBasedStateMachine):
    """Anything that may happen between two machines."""

    @initialize(skew=st.sampled_from([0, 3_600, 86_400 * 30]))
    def begin(self, skew: float) -> None:
        client = QdrantClient(":memory:", force_disable_check_same_thread=True)
        self.past: list[Sequence[PointOperation]] = []
        self.points = in_memory(client)
        self.worlds = [Machine(Wire(in_memory(client), self.past), seed) for seed in (1, 2)]
        self.worlds[1].clock.set_back(skew)
        self.words: set[str] = set()
        self.count = 0
        self._remember(0)

    def _word(self) -> str:
        self.count += 1
        return f"word{self.count:04}x"

    def _remember(self, at: int) -> None:
        word = self._word()
        world = self.worlds[at]
        world.agent_remembers(f"First {word}.\n\nMiddle.\n\nLast.", title=f"T {word}")
        self.words.add(word)

    @rule(at=machine)
    def an_agent_remembers(self, at: int) -> None:
        assume(self.count < 12)
        self._remember(at)

    @rule(at=machine, n=which)
    def an_agent_adds_a_line(self, at: int, n: int) -> None:
        world, word = self.worlds[at], self._word()
        try:
            ids = [fact.id for fact in world.remote.iter_facts()]
            assume(ids)
            fact = world.remote.get(ids[n % len(ids)])
            world.agent_updates(fact.id, content=f"{fact.content}\n\nAgent {word}.")
        except (StoreUnavailableError, FactNotFoundError):
            return  # nobody was told that it happened
        self.words.add(word)

    @rule(at=machine, n=which)
    def a_person_adds_a_line(self, at: int, n: int) -> None:
        world, word = self.worlds[at], self._word()
        paths = world.notes()
        assume(paths)
        path = paths[n % len(paths)]
        world.person_edits(path, "\nMiddle.", f"\nPerson {word}.\n\nMiddle.")
        self.words.add(word)

    @rule(at=machine)
    def a_pass(self, at: int) -> None:
        self.worlds[at].clock.advance(61)
        with suppress(StoreUnavailableError):  # the next pass repairs what it leaves
            self.worlds[at].sync()

    @rule(at=machine, cut=st.booleans())
    def the_network_parts(self, at: int, cut: bool) -> None:
        self.worlds[at].wire.cut = cut

    @rule(at=machine, times=st.integers(1, 4))
    def answers_get_lost(self, at: int, times: int) -> None:
        self.worlds[at].wire.lose = times

    @rule(at=machine, twice=st.booleans())
    def requests_arrive_twice(self, at: int, twice: bool) -> None:
        self.worlds[at].wire.twice = twice

    @rule(n=st.integers(0, 1_000))
    def an_old_request_arrives_once_more(self, n: int) -> None:
        assume(self.past)
        self.points.do(self.past[n % len(self.past)])

    @rule(at=machine, seconds=st.sampled_from([-7_200, 7_200]))
    def a_clock_is_set(self, at: int, seconds: float) -> None:
        self.worlds[at].clock.set_back(-seconds)

    def teardown(self) -> None:
        if not hasattr(self, "worlds"):
            return
        for world in self.worlds:
            world.wire.cut = world.wire.twice = False
            world.wire.lose = 0
        for _ in range(3):
            for world in self.worlds:
                world.quiesce()
        one, two = self.worlds
        assert said(one) == said(two)
        for world in self.worlds:
            world.assert_equal_sides()
        # What two people said of one line stands in a conflict note of one of them.
        texts = b"".join(each.data for world in self.worlds for each in world.vault.files.values())
        missing = {word for word in self.words if word.encode() not in texts}
        assert not missing, missing
        rows = one.remote.feed()
        assert len({row.seq for row in rows}) == len(rows)
        assert one.remote.state().facts == len(said(one))


@pytest.mark.timeout(3_600)
def test_whatever_the_network_does_two_mirrors_converge_and_lose_no_word() -> None:
    tell_stories(TwoMirrors, (25, 400), (25, 60))
