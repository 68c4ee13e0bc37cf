"""The N-th call that reaches the world fails, N = 1, 2, 3 … until the work completes.

Once, and from then on for ever until the fault is removed. Afterwards two passes that
have something to do are enough, both sides are equal, nothing is lost, and a further
pass writes nothing.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

import pytest

from tests.proofs import agents, texts
from tests.proofs.turns import in_turns, sampled
from tests.proofs.world import Crash, World, mirrored
from vaultsync import errors
from vaultsync.model.paths import VaultPath
from vaultsync.operations.adopt import adopt_notes
from vaultsync.operations.undo import undo_run

pytestmark = pytest.mark.long(5)

Work = Callable[[World], object]
FOREVER = 10_000


def _agent(world: World, change: agents.Change) -> None:
    word = world.ledger.word()
    world.update(next(iter(world.facts())), lambda fact: change(fact, word))


def _person(world: World, change: Callable[[bytes, str], bytes]) -> None:
    world.edit(world.notes()[0], change)


def _pass(world: World) -> object:
    return world.turn(dict(world.at))


def _first_pass() -> tuple[World, Work]:
    world = World()
    for _ in range(3):
        world.plan()
    return world, _pass


def _with_new_notes() -> World:
    world = World()
    world.turn()
    world.new_note("Inbox/A.md")
    world.new_note("Inbox/B.md", front=True)
    return world


def _adopt() -> tuple[World, Work]:
    def work(world: World) -> object:
        return world.run(lambda: adopt_notes(world.ctx, [VaultPath("Inbox")]), world.at)

    return _with_new_notes(), work


def _both_ways() -> tuple[World, Work]:
    world = mirrored(2)
    world.edit(world.notes()[0], texts.append)
    word, last = world.ledger.word(), list(world.facts())[-1]
    first = world.notes_by_id()[last] == [world.notes()[0]]
    fact_id = next(iter(world.facts())) if first else last
    world.update(fact_id, lambda fact: agents.append(fact, word))
    return world, _pass


def _merge() -> tuple[World, Work]:
    world = mirrored()
    _person(world, texts.change_last_line)
    _agent(world, agents.first_line)
    return world, _pass


def _conflict() -> tuple[World, Work]:
    world = mirrored()
    _person(world, texts.change_line)
    _agent(world, agents.first_line)
    return world, _pass


def _deleted_in_vault() -> tuple[World, Work]:
    world = mirrored(2)
    world.delete(world.notes()[0])
    world.turn()
    world.clock.advance(5)
    return world, _pass


def _deleted_in_store() -> tuple[World, Work]:
    world = mirrored(2)
    world.forget(next(iter(world.facts())))
    return world, _pass


def _move() -> tuple[World, Work]:
    world = mirrored()
    world.rename(world.notes()[0], "public/decisions/Other.md")
    _agent(world, agents.append)
    return world, _pass


def _undo() -> tuple[World, Work]:
    world = mirrored()
    _agent(world, agents.append)
    _person(world, texts.status)
    report = world.turn()
    assert report is not None
    world.clock.advance(1)
    run = report.run
    # What is taken back is in the history from then on.
    world.ledger.at_least_kept(list(world.ledger.owed))
    return world, _undoing(run)


def _undoing(run: str) -> Work:
    return lambda world: world.run(lambda: undo_run(world.ctx, run), world.at)


def _undo_of_an_adoption() -> tuple[World, Work]:
    world = _with_new_notes()
    run = adopt_notes(world.ctx, [VaultPath("Inbox")]).run
    world.clock.advance(1)
    return world, _undoing(run)


SCENARIOS = {
    "first pass": _first_pass,
    "adopt": _adopt,
    "both ways": _both_ways,
    "merge": _merge,
    "conflict": _conflict,
    "deleted in the vault": _deleted_in_vault,
    "deleted in the store": _deleted_in_store,
    "move": _move,
    "undo": _undo,
    "undo of an adoption": _undo_of_an_adoption,
}


LAST = 10_000
"""More effects than anything has that is done here."""
CODES = (errno.ENOSPC, errno.EIO, errno.EACCES)


def _fail(world: World, code: int) -> NoReturn:
    """Fail as the contract of the port says the call may fail."""
    happening = world.trail[-1]
    why = os.strerror(code)
    if happening.startswith("store."):
        raise errors.StoreUnavailableError(why)
    if happening in ("vault.vault_id", "vault.scan", "vault.folder"):
        raise errors.VaultMissingError("memory", why)
    if happening in ("vault.read", "vault.stamp"):
        raise errors.UnreadableNoteError("note", why)
    raise OSError(code, why)


@pytest.mark.parametrize("turn", in_turns(range(len(CODES)), 0))
@pytest.mark.parametrize("times", [1, FOREVER])
@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.long(4)
def test_whichever_call_fails_later_passes_make_it_good(name: str, times: int, turn: int) -> None:
    for effect in sampled(range(1, LAST), 2, turn + min(times, 2)):
        code = CODES[(effect + turn) % len(CODES)]
        world, work = SCENARIOS[name]()
        left = times

        def fault(world: World = world, code: int = code) -> None:
            nonlocal left
            if left:
                left -= 1
                _fail(world, code)

        world.at = dict.fromkeys(range(effect, effect + min(times, 300)), fault)
        with suppress(errors.VaultsyncError, OSError):
            work(world)
        reached = len(world.trail) >= effect
        world.at = {}
        world.quiesce()
        assert world.worked <= 2, f"{world.worked} passes\n{world.tell()}"
        if not reached:
            break
    assert effect > 10


@pytest.mark.parametrize("name", ["undo", "undo of an adoption"])
@pytest.mark.parametrize("durable", [True, False])
@pytest.mark.long(2)
def test_wherever_an_undo_ends_a_pass_makes_it_good(name: str, durable: bool) -> None:
    for effect in sampled(range(1, LAST), 2, durable):
        world, work = SCENARIOS[name]()
        world.at = {effect: world.die}
        with suppress(Crash):
            work(world)
        reached = len(world.trail) >= effect
        world.at = {}
        world.power_loss(lambda _: durable)
        world.quiesce()
        assert world.worked <= 2, f"{world.worked} passes\n{world.tell()}"
        if not reached:
            break
    assert effect > 10


def test_a_fault_while_a_crash_is_repaired_loses_nothing() -> None:
    # Two accidents in a row: any call of the repair fails, after a crash at any effect.
    for crash in range(1, LAST):
        for fault in sampled(range(1, LAST), 6, crash):
            world, _ = _conflict()
            world.crash_at(crash)
            crashed = len(world.trail) >= crash

            def deed(world: World = world) -> None:
                _fail(world, errno.EIO)

            with suppress(errors.VaultsyncError, OSError):
                world.turn({fault: deed})
            reached = len(world.trail) >= fault
            world.quiesce()
            if not reached:
                break
        if not crashed:
            break
    assert crash > 10
