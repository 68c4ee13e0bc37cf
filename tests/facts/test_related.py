"""What stands around one fact, as far as who asks may see it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec import to_builtins

from tests.doubles.links import MemoryLinks
from tests.world import World
from vaultsync.errors import FactNotFoundError
from vaultsync.facts import related as related_work
from vaultsync.facts import service as fact_work
from vaultsync.facts.related import Named, Related, find_related
from vaultsync.model.fact import Fact


class Around(World):
    def __init__(self) -> None:
        super().__init__()
        self.links = MemoryLinks()

    def of(self, fact: Fact, *, agent: str | None = None) -> Related:
        return find_related(self.ctx, self.links, fact.id, agent=agent)


@pytest.fixture
def world() -> Around:
    return Around()


def _titles(facts: Sequence[Named]) -> list[str]:
    return [fact.title for fact in facts]


def test_who_links_here_and_what_is_named(world: Around) -> None:
    tea = world.agent_remembers("-", title="Tea")
    mate = world.agent_remembers("See [[Tea]].", title="Mate", relatedFactIds=[tea.id])
    world.sync()

    assert _titles(world.of(tea).backlinks) == ["Mate"]
    found = world.of(mate)
    assert _titles(found.related) == ["Tea"]
    assert found.related[0].path == world.path(tea.id)
    assert _titles(world.of(tea).chain) == ["Tea"]


def test_a_fact_without_a_note_has_no_path(world: Around) -> None:
    tea = world.agent_remembers("-", title="Tea")
    mate = world.agent_remembers("-", relatedFactIds=[tea.id])

    assert [each.path for each in world.of(mate).related] == [None]


def test_the_chain_is_told_from_any_of_its_facts(world: Around) -> None:
    first = world.agent_remembers("One.", title="One")
    second = fact_work.supersede(world.ctx, first.id, "Two.", agent="indy")
    third = fact_work.supersede(world.ctx, second.id, "Three.", agent="indy")
    world.sync()

    for fact in (first, second, third):
        found = to_builtins(world.of(fact))
        assert [each["title"] for each in found["chain"]] == ["One", "Two", "Three"]


def test_a_chain_in_a_circle_ends(world: Around) -> None:
    one = world.agent_remembers("One.", title="One")
    two = world.agent_remembers("Two.", title="Two", supersedesId=one.id)
    world.agent_updates(one.id, supersedesId=two.id)

    assert _titles(world.of(one).chain) == ["Two", "One"]


def test_a_long_chain_is_told_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(related_work, "MAX_CHAIN_FACTS", 2)
    world = Around()
    fact = world.agent_remembers("0", title="T0")
    for n in range(1, 5):
        fact = world.agent_remembers(f"{n}", title=f"T{n}", supersedesId=fact.id)

    assert _titles(world.of(fact).chain) == ["T2", "T3", "T4"]


def test_nobody_hears_of_what_they_may_not_see(world: Around) -> None:
    secret = world.agent_remembers("-", agent="moss", scope="private-moss")
    fact = world.agent_remembers(
        "-", agent="moss", relatedFactIds=[secret.id], supersedesId=secret.id
    )

    assert world.of(fact, agent="moss").related
    seen = world.of(fact, agent="indy")
    assert (seen.related, _titles(seen.chain)) == ((), [fact.title])
    with pytest.raises(FactNotFoundError):
        world.of(secret, agent="indy")


def test_what_is_gone_is_left_out(world: Around) -> None:
    gone = world.agent_remembers("-")
    fact = world.agent_remembers("-", relatedFactIds=[gone.id], supersedesId=gone.id)
    world.agent_forgets(gone.id)

    assert world.of(fact).related == ()
    assert len(world.of(fact).chain) == 1


def test_the_signals_are_those_that_are_kept_out_of_the_note(world: Around) -> None:
    fact = world.agent_remembers("-", importance=0.8)

    assert to_builtins(world.of(fact))["signals"] == {
        "accessCount": 0,
        "lastAccessedAt": None,
        "decayFactor": None,
        "importance": 0.8,
        "utility": 0.4,
    }
