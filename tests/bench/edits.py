"""What one change costs, in vaults of several sizes: the CPU, whatever else the machine does."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.bench.measure import Timed, middle_cpu, timed
from tests.bench.table import Growth
from tests.bench.worlds import World, new_folder, notes_in, with_facts
from vaultsync.api.memory import Memory
from vaultsync.model.paths import VaultPath
from vaultsync.sync.sync_request import SyncRequest

STEEPEST = 0.24
"""A hundred times as many notes may cost three times as much: log 3 / log 100."""
TIMES = 7
EDIT, DERIVED, REMEMBER = (
    "one edited note, its folder told",
    "… and its indexes and tables",
    "one fact remembered and its tables",
)


def changes(folder: Path, sizes: Sequence[int], say: Callable[[str], None]) -> list[Growth]:
    """One row for each kind of change."""
    found: dict[str, dict[int, float]] = {EDIT: {}, DERIVED: {}, REMEMBER: {}}
    for n in sizes:
        say(f"one change among {n:,} notes")
        world = with_facts(new_folder(folder), n)
        with world.open(derived=True) as memory:
            memory.sync()
            memory.sync()  # the first one after writing still moves stamps
            took = _edited(world, memory)
        for kind, times in (*took.items(), (REMEMBER, _remembered(world))):
            found[kind][n] = middle_cpu(times[1:])
    return [Growth(f"{kind}, cpu", seconds, STEEPEST) for kind, seconds in found.items()]


def _edited(world: World, memory: Memory) -> dict[str, list[Timed]]:
    took: dict[str, list[Timed]] = {EDIT: [], DERIVED: []}
    engine = memory._engine
    for path, number in zip(_spread(notes_in(world.vault)), range(TIMES), strict=False):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("\n\n", f"\n\nEdited {number} times.\n\n", 1), "utf-8")
        where = VaultPath(path.parent.relative_to(world.vault).as_posix())
        request = SyncRequest(kind="watch", folders=frozenset({where}))

        def sync(request: SyncRequest = request) -> None:
            if not engine.sync(request, derive=False).counts["updated_in_store"]:
                raise SystemExit("bench: the edit did not reach the store")

        took[EDIT].append(timed(sync))
        took[DERIVED].append(timed(engine.update_derived))
    return took


def _remembered(world: World) -> list[Timed]:
    def remember(number: int) -> None:
        with world.open(derived=True) as memory:
            memory.remember(f"The crane is green, {number}.", type="decision", agent="indy")

    return [timed(lambda number=number: remember(number)) for number in range(TIMES)]  # type: ignore[misc]


def _spread(notes: Sequence[Path]) -> Iterator[Path]:
    """Notes from all over the vault."""
    return itertools.islice(notes, 0, None, max(1, len(notes) // TIMES))
