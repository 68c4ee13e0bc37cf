"""What hygiene takes of a pass: processor time with the lens and without, in turns."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from tests.bench.measure import Timed, timed
from tests.bench.passes import ADOPT, IDLE, KINDS, OUT
from tests.bench.table import Row
from tests.bench.worlds import World, new_folder, settle_disk, with_facts, with_notes
from vaultsync.api.memory import Memory
from vaultsync.notes.view import IDENTITY_VIEW

HYGIENE = "hygiene"
WITHOUT = "the same pass, notes are what they show"


def shares(
    folder: Path, n: int, *, times: int, target: float, say: Callable[[str], None]
) -> list[Row]:
    """The passes that look at every note, each time over another copy of the same ones."""
    facts = with_facts(new_folder(folder), n)
    equal = _mirrored(folder, facts)

    def out(*, seen: bool) -> Timed:
        return _pass(_copied(folder, facts), Memory.sync, seen=seen)

    def adopt(*, seen: bool) -> Timed:
        return _pass(with_notes(new_folder(folder), n), Memory.adopt, seen=seen)

    rows = []
    for kind, measure in ((OUT, out), (ADOPT, adopt), (IDLE, partial(_pass, equal, Memory.sync))):
        say(f"hygiene of: {KINDS[kind]}, {n:,} notes")
        with_lens: list[Timed] = []
        without: list[Timed] = []
        # One with nothing to do takes so little time that a single one says nothing.
        for number in range(10 * times if kind == IDLE else times):
            for seen in (True, False) if number % 2 else (False, True):
                (with_lens if seen else without).append(measure(seen=seen))
        ours, floor = _least(with_lens), _least(without)
        words = f"{KINDS[kind]}, hygiene"
        rows.append(Row(words, n, ours, WITHOUT, floor, target, ours))
    return rows


def _copied(folder: Path, facts: World) -> World:
    world = World(new_folder(folder))
    world.take_store_of(facts)
    settle_disk()
    return world


def _mirrored(folder: Path, facts: World) -> World:
    world = _copied(folder, facts)
    with world.open() as memory:
        for _ in range(3):
            memory.sync()
    return world


def _pass(world: World, act: Callable[[Memory], object], *, seen: bool) -> Timed:
    with world.open() as memory:
        if not seen:
            memory._engine._ctx = replace(memory._engine.ctx, view=IDENTITY_VIEW)
        return timed(partial(act, memory))


def _least(times: list[Timed]) -> float:
    """Of processor time, what else runs on the machine can only add to the least."""
    return min(each.cpu for each in times)
