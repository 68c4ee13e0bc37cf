"""What a person moved is an example of its tier, with what it said before it was shortened."""

from __future__ import annotations

from collections import Counter

from tests.doubles.note_index import TemporaryIndex
from tests.world import World
from vaultsync.observations.labelled import LabelledText, moved_by_people, shipped_examples
from vaultsync.observations.processing import process
from vaultsync.observations.rules import RuleClassifier
from vaultsync.observations.service import observe

ROUTINE = "The nightly build ran its steps, and " + "then saved its cache, " * 9 + "as usual."


def test_an_observation_that_a_person_moved_is_an_example_with_its_original(world: World) -> None:
    fact = observe(world.ctx, ROUTINE, agent="indy")
    observe(world.ctx, "Good morning!", agent="indy")
    world.agent_remembers("No observation.")
    world.quiesce()
    process(world.ctx, TemporaryIndex(), RuleClassifier())
    world.quiesce()
    assert moved_by_people(world.ctx) == []
    old = world.path(fact.id)

    world.person_renames(old, old.replace("/background/", "/critical/"))
    note = world.agent_remembers("A note whose priority a person changes.")
    world.quiesce()
    world.person_edits(note, "priority: 2", "priority: 1")
    world.quiesce()

    assert moved_by_people(world.ctx) == [LabelledText(ROUTINE, "critical")]


def test_each_tier_has_hundreds_of_shipped_examples_and_none_is_there_twice() -> None:
    shipped = shipped_examples()
    tiers = Counter(each.tier for each in shipped)

    assert set(tiers) == {"critical", "notable", "background"}
    assert min(tiers.values()) >= 300
    assert len({each.text for each in shipped}) == len(shipped)
