"""The small model, exhaustively, with the real planner, the real passes and recovery.

One note, two fields. A person and an agent edit; the process may die. Each edit and the
death fall before every effect of the protocol: before every call that reaches the vault,
the store or the archive, and between the steps of an exchange. In each of these worlds
the passes that follow must come to rest with both sides equal and no word lost.

Like the model that this project started from, a word is lost when it is neither final,
nor in a conflict, nor was removed by a writer who could see it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

import pytest

from tests.proofs import texts
from tests.proofs.turns import in_turns, sampled
from tests.proofs.world import Crash, World
from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value

pytestmark = pytest.mark.long(5)

PERSON = ("status", "line", "delete", "rename", "handle")
AGENT = ("status", "line", "delete")


@dataclass(frozen=True, slots=True)
class Deed:
    """Who does what, before which effect of which pass; 0 is before the pass."""

    who: str
    what: str
    at: int


def _world(handle: bool) -> World:
    world = World()
    word = world.ledger.word
    lines = f"One {word()}.\nTwo {word()}.\nThree {word()}."
    world.remember({"title": "Plan", "content": lines, "status": word()})
    world.turn()
    world.clock.advance(1)
    if handle:
        world.open(world.notes()[0])
    return world


def _agent(fact: Fact, what: str, word: str) -> dict[str, Value]:
    if what == "status":
        return {"status": word}
    _, _, rest = fact.content.partition("\n")
    return {"content": f"Agent {word}.\n{rest}"}


def _do(world: World, deed: Deed) -> None:
    if deed.who == "crash":
        raise Crash
    if deed.who == "agent":
        fact_id = next(iter(world.facts()), None)
        if fact_id is None:
            return
        if deed.what == "delete":
            world.forget(fact_id)
        else:
            word = world.ledger.word()
            world.update(fact_id, lambda fact: _agent(fact, deed.what, word))
        return
    if deed.what == "handle":
        if world.editors:
            world.save_through_handle(world.editors[0])
        return
    notes = world.notes()
    if not notes:
        return
    path = notes[0]
    if deed.what == "delete":
        world.delete(path)
    elif deed.what == "rename":
        world.rename(path, "public/notes/Other.md")
    else:
        change = texts.status if deed.what == "status" else texts.change_line
        world.edit(path, change, rename=deed.what == "status")


def play(deeds: tuple[Deed, ...]) -> int:
    """One world: the deeds, one pass with those that fall into it, and rest.

    Returns how many effects the pass had.
    """
    world = _world(any(deed.what == "handle" for deed in deeds))
    for deed in deeds:
        if deed.at == 0 and deed.who != "crash":
            _do(world, deed)
    at: dict[int, list[Deed]] = {}
    for deed in deeds:
        if deed.at:
            at.setdefault(deed.at, []).append(deed)

    def together(some: list[Deed]) -> Callable[[], None]:
        def act() -> None:
            for deed in some:
                _do(world, deed)

        return act

    with suppress(Crash):
        world.turn({n: together(some) for n, some in at.items()})
    effects = len(world.trail)
    for deed in deeds:
        if deed.at > effects and deed.who != "crash":
            _do(world, deed)
    world.quiesce()
    return effects


@cache
def _points(first: tuple[Deed, ...]) -> range:
    """Before the pass, before each of its effects, and after it."""
    return range(play(first) + 2)


def _shared(first: tuple[Deed, ...], what: str, kinds: tuple[str, ...]) -> Sequence[int]:
    """As `_points`; every second point by one kind, where not all is tried."""
    turn = BEFORE.index(first) + 2 * kinds.index(what)
    return sampled(_points(first), 2 * len(kinds), turn)


def _ones() -> Iterator[tuple[Deed, ...]]:
    """What had happened before the pass began: one edit or two, so that it has work."""
    yield ()
    for what in PERSON:
        yield (Deed("person", what, 0),)
    for what in AGENT:
        yield (Deed("agent", what, 0),)
    for one, other in itertools.product(PERSON, AGENT):
        yield (Deed("person", one, 0), Deed("agent", other, 0))


BEFORE = tuple(_ones())


def _name(deeds: tuple[Deed, ...]) -> str:
    return "+".join(f"{deed.who}-{deed.what}" for deed in deeds) or "nothing"


@pytest.mark.parametrize("before", BEFORE, ids=_name)
@pytest.mark.long(4)
def test_a_crash_before_any_effect_loses_nothing(before: tuple[Deed, ...]) -> None:
    for at in _points(before):
        play((*before, Deed("crash", "", at)))


CUTS: tuple[Callable[[int], bool], ...] = (
    lambda step: False,
    lambda step: step % 2 == 0,
    lambda step: step % 2 == 1,
    lambda step: step > 2,
)
"""What of the steps since the last sync survives."""


@pytest.mark.parametrize("before", BEFORE, ids=_name)
@pytest.mark.long(4)
def test_a_power_cut_before_any_effect_loses_nothing(before: tuple[Deed, ...]) -> None:
    for cut in in_turns(range(len(CUTS)), BEFORE.index(before)):
        for effect in itertools.count(1):
            world = _world(any(deed.what == "handle" for deed in before))
            for deed in before:
                _do(world, deed)
            world.crash_at(effect)
            if len(world.trail) < effect:
                break
            world.power_loss(CUTS[(effect + cut) % len(CUTS)])
            world.quiesce()


def test_a_conflict_met_again_after_any_crash_has_one_conflict_note() -> None:
    before = (Deed("person", "line", 0), Deed("agent", "line", 0))
    for effect in range(1, play(before) + 1):
        world = _world(handle=False)
        for deed in before:
            _do(world, deed)
        world.crash_at(effect)
        world.quiesce()
        assert len(world.conflict_notes()) == 1, world.tell()
        assert len(world.archive.conflicts()) == 1, world.tell()


@pytest.mark.parametrize("what", PERSON)
@pytest.mark.parametrize("before", BEFORE, ids=_name)
@pytest.mark.long(4)
def test_a_persons_edit_at_any_effect_loses_nothing(before: tuple[Deed, ...], what: str) -> None:
    for at in _shared(before, what, PERSON):
        play((*before, Deed("person", what, at)))


@pytest.mark.parametrize("what", AGENT)
@pytest.mark.parametrize("before", BEFORE, ids=_name)
@pytest.mark.long(4)
def test_an_agents_edit_at_any_effect_loses_nothing(before: tuple[Deed, ...], what: str) -> None:
    for at in _shared(before, what, AGENT):
        play((*before, Deed("agent", what, at)))


SOME = 8
"""Of the crashes after an edit, one in so many: other ones for each point and edit."""
MOST_TELLING = (
    (Deed("person", "status", 0), Deed("agent", "status", 0)),
    (Deed("person", "line", 0), Deed("agent", "status", 0)),
    (Deed("agent", "line", 0),),
)


EDITS = tuple(itertools.product(("person", "agent"), ("status", "line")))


@pytest.mark.parametrize(("who", "what"), EDITS)
@pytest.mark.parametrize("before", MOST_TELLING, ids=_name)
@pytest.mark.long(4)
def test_an_edit_and_a_crash_after_it_lose_nothing(
    before: tuple[Deed, ...], who: str, what: str
) -> None:
    turn = EDITS.index((who, what))
    for at in sampled(_points(before), 2, turn):
        edited = (*before, Deed(who, what, at))
        for crash in sampled(range(at, play(edited) + 1), SOME, at + 2 * turn):
            play((*edited, Deed("crash", "", crash)))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("before", MOST_TELLING, ids=_name)
def test_two_edits_of_each_and_a_crash_lose_nothing(before: tuple[Deed, ...]) -> None:
    for one, other in itertools.product(("status", "line", "handle"), ("status", "line")):
        for first in _points(before):
            some = (*before, Deed("person", one, first))
            for second in range(first, play(some) + 2):
                both = (*some, Deed("agent", other, second))
                for crash in range(second, play(both) + 1):
                    play((*both, Deed("crash", "", crash)))
