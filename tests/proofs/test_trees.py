"""The planner over three correlated random trees: base, and two perturbed copies of it.

`thorough` tries 10,000 cases of each promise in all, the other profiles some hundreds.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import NamedTuple
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.proofs import texts
from tests.proofs.agents import CHANGES
from tests.proofs.world import World
from vaultsync.sync import run as passes
from vaultsync.sync.apply import ApplyOutcome, apply_plan
from vaultsync.sync.planning import SyncRun
from vaultsync.sync.report import Progress, Report

pytestmark = pytest.mark.long(5)

_SHARE = 10_000 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 240
TYPES = ("note", "decision", "person", "observation")
TITLES = ("Plan", "Alice", "alice", "CON")
PLACES = ("public/notes/A.md", "public/notes/a.md", "public/decisions/B.md", "C.md")

examples = settings(
    max_examples=_SHARE // 4, deadline=None, suppress_health_check=list(HealthCheck)
)
deeds = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 17)), max_size=5)


class Trees(NamedTuple):
    """How three trees come to be."""

    base: Sequence[tuple[int, int]]
    vault: Sequence[tuple[int, int]]
    store: Sequence[tuple[int, int]]
    insensitive: bool
    batch: int

    def grow(self) -> World:
        """The base, and what became of it on both sides."""
        world = World(batch=self.batch, case_insensitive=self.insensitive)
        for type_number, title_number in self.base:
            _remember(world, TYPES[type_number], TITLES[title_number])
        world.turn()
        world.clock.advance(1)
        for which, how in self.vault:
            _person(world, which, how)
        for which, how in self.store:
            _agent(world, which, how)
        return world


trees = st.builds(
    Trees,
    base=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=4),
    vault=deeds,
    store=deeds,
    insensitive=st.booleans(),
    batch=st.sampled_from([1, 1000]),
)


def _remember(world: World, type_name: str, title: str) -> None:
    word = world.ledger.word
    world.plan(type=type_name, title=title, tags=[word(), word()])


def _person(world: World, which: int, how: int) -> None:
    notes = world.notes()
    if how == 17 or not notes:
        world.new_note(PLACES[which], front=bool(which % 2))
        return
    path = notes[which % len(notes)]
    if how < len(texts.EDITS):
        world.edit(path, texts.EDITS[how], rename=bool(which % 2))
    elif how == 12:
        world.delete(path)
    elif how == 13:
        world.rename(path, PLACES[which])
    elif how == 14:
        world.copy(path, PLACES[which])
    elif how == 15:
        world.restore_from_trash()
    else:
        world.change_case(path)


def _agent(world: World, which: int, how: int) -> None:
    ids = list(world.facts())
    if how >= 16 or not ids:
        _remember(world, TYPES[which], TITLES[how % len(TITLES)])
    elif how < len(CHANGES):
        word = world.ledger.word()
        change = CHANGES[how]
        world.update(ids[which % len(ids)], lambda fact: change(fact, word))
    elif how < 14:
        world.forget(ids[which % len(ids)])
    else:
        world.touch(ids[which % len(ids)])


def _shuffled(world: World, seed: int) -> Report | None:
    """A pass that carries out its plan in some other order."""

    def apply(work: SyncRun, *, progress: Progress | None) -> ApplyOutcome:
        random.Random(seed).shuffle(work.actions)
        return apply_plan(work, progress=progress)

    with patch.object(passes, "apply_plan", apply):
        return world.turn()


def _end(world: World) -> tuple[object, object]:
    """What both sides say in the end, but for what the clock decides."""
    notes = {path: texts.without_times(inode.data) for path, inode in world.vault.files.items()}
    facts = {
        fact.id: {**fact.values(), **fact.properties, "updatedAt": ""}
        for fact in world.facts().values()
    }
    return notes, facts


@examples
@given(trees)
def test_any_three_trees_come_to_rest_equal_with_nothing_lost(some: Trees) -> None:
    some.grow().quiesce()


@examples
@given(trees, st.integers(0, 999))
def test_the_order_of_actions_does_not_matter(some: Trees, seed: int) -> None:
    straight, shuffled = some.grow(), some.grow()
    straight.turn()
    _shuffled(shuffled, seed)
    assert _end(straight) == _end(shuffled)
    straight.quiesce()
    shuffled.quiesce()
    assert _end(straight) == _end(shuffled)


@examples
@given(trees)
def test_the_same_trees_give_the_same_plan(some: Trees) -> None:
    one, other = some.grow(), some.grow()
    first, second = one.turn(), other.turn()
    assert first is not None
    assert second is not None
    assert list(first.actions) == list(second.actions)
    assert _bytes(one) == _bytes(other)


def _bytes(world: World) -> dict[str, bytes]:
    return {path: inode.data for path, inode in world.vault.files.items()}


@examples
@given(trees, st.lists(st.booleans(), min_size=8, max_size=8))
def test_passes_over_some_changes_end_as_one_over_all(some: Trees, pauses: list[bool]) -> None:
    # However the edits fall among the passes, nothing is lost and both sides end equal.
    world = World(batch=some.batch, case_insensitive=some.insensitive)
    for type_number, title_number in some.base:
        _remember(world, TYPES[type_number], TITLES[title_number])
    world.turn()
    steps = [(_person, deed) for deed in some.vault]
    steps += [(_agent, deed) for deed in some.store]
    for number, (act, (which, how)) in enumerate(steps):
        act(world, which, how)
        if pauses[number % len(pauses)]:
            world.turn()
    world.quiesce()
