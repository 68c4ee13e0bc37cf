"""A crash while observations are classified, and a second daemon on the same store."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import pytest

from tests.doubles.note_index import TemporaryIndex
from tests.fakes import FakeClock
from tests.qdrants import in_memory, store_in
from tests.world import World, die
from vaultsync.model.fact import Fact
from vaultsync.observations.classifier import ObservedText
from vaultsync.observations.processing import process
from vaultsync.observations.rules import RuleClassifier
from vaultsync.observations.service import observe
from vaultsync.sync.context import SyncContext

pytestmark = pytest.mark.long(5)

ROUTINE = "The nightly build ran its steps, and " + "then saved its cache, " * 9 + "as usual."
TEXTS = ("We decided to keep the old pier.", ROUTINE, "Learned that retries hide timeouts.")


def _values(fact: Fact) -> Fact:
    return fact.evolve(updated_at=None, revision=None)


def _observed() -> tuple[World, list[str]]:
    world = World()
    ids = [observe(world.ctx, text, agent="indy").id for text in TEXTS]
    world.quiesce()
    return world, ids


def _crashed_at(number: int) -> tuple[World, list[str], bool]:
    """A world in which classifying died before its n-th step; whether there was such a step."""
    world, ids = _observed()
    world.at("", die, number=number)
    died = True
    with contextlib.suppress(KeyboardInterrupt):
        process(world.ctx, TemporaryIndex(), RuleClassifier())
        died = False
    world.vault.before = world.store.before = lambda _: None
    world.vault.crash()
    return world, ids, died


def test_whatever_step_a_crash_comes_before_the_next_run_ends_as_if_there_had_been_none() -> None:
    whole, ids, _ = _crashed_at(10_000)
    facts = [_values(whole.fact(each)).evolve(id="") for each in ids]
    number, died = 0, True
    while died:
        number += 1
        world, ids, died = _crashed_at(number)
        process(world.ctx, TemporaryIndex(), RuleClassifier())
        world.quiesce()

        assert [_values(world.fact(each)).evolve(id="") for each in ids] == facts
        assert world.conflicts() == []
        assert len(world.notes()) == len(TEXTS)
        world.assert_at_rest()
    assert number > len(TEXTS)


class Interrupted(RuleClassifier):
    """While it is asked, another daemon classifies everything."""

    def __init__(self, ctx: SyncContext) -> None:
        self.ctx = ctx
        self.others = -1

    def classify(self, texts: Sequence[ObservedText]) -> list[str | None]:
        self.others = process(self.ctx, TemporaryIndex(), RuleClassifier()).classified
        return super().classify(texts)


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_two_daemons_on_one_qdrant_classify_once(is_interrupted: bool) -> None:
    points, clock = in_memory(), FakeClock()
    contexts = [
        SyncContext(store_in(points, clock), each.archive, clock, each.ctx.policy, vault=each.vault)
        for each in (World(), World())
    ]
    first, second = contexts
    ids = [observe(first, text, agent="indy").id for text in TEXTS]
    asked = Interrupted(second) if is_interrupted else RuleClassifier()

    mine = process(first, TemporaryIndex(), asked)
    others = process(second, TemporaryIndex(), RuleClassifier())

    counts = (mine.classified, mine.pending, others.classified)
    assert counts == ((0, len(TEXTS), 0) if is_interrupted else (len(TEXTS), 0, 0))
    assert not isinstance(asked, Interrupted) or asked.others == len(TEXTS)
    assert {each.status for each in first.store.find_many(ids).values()} == {"active", "archived"}
