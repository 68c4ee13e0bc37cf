"""How much memory whole passes take: the most that a process of its own ever held."""

from __future__ import annotations

import gc
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.bench import corpus
from tests.bench.table import Worth
from tests.bench.worlds import World, new_folder, with_facts, with_notes
from vaultsync.backends.sqlite.database import limit_caches
from vaultsync.backends.system.address_space import limit_heaps
from vaultsync.cli.main import GC_THRESHOLD

FOOTPRINT = "footprint"
ROOT = Path(__file__).parents[2]
MOST_MB = 300
"""Megabytes that a pass over 100,000 notes may take."""
MOST_KB_PER_NOTE = 4
"""Kilobytes that each more note may take which links to a hub."""
ADOPT, DRY, OUT, AGAIN, HUB = (
    "adopt, with indexes and tables",
    "dry run of a first pass out",
    "first pass out, with indexes and tables",
    "archive, indexes and tables made again",
    "rename of a hub",
)
_UNITS = 2**20 if sys.platform == "darwin" else 2**10


def memory(folder: Path, sizes: Sequence[int], say: Callable[[str], None]) -> list[Worth]:
    """One row for each kind of pass and size; a bound where there are 100,000 notes."""
    found: list[Worth] = []
    for kinds, make in (((ADOPT,), with_notes), ((DRY, OUT, AGAIN), with_facts)):
        for n in sizes:
            world = make(new_folder(folder), n)
            for kind in kinds:
                say(f"memory of {kind}: {n:,} notes")
                if kind == AGAIN:
                    _lose_all_derived(world)
                held = _most_held(kind, world)
                bound = MOST_MB if n >= 100_000 else None
                found.append(Worth(f"{kind}, MB", n, held, "the process alone", most=bound))
    return [*sorted(found, key=lambda each: each.operation), *_hubs(folder, sizes, say)]


def _lose_all_derived(world: World) -> None:
    world.lose_archive()
    for path in world.state.glob("*/index"):
        shutil.rmtree(path)


def _hubs(folder: Path, sizes: Sequence[int], say: Callable[[str], None]) -> list[Worth]:
    """What each more note takes that links to a renamed one."""
    held: Mapping[int, float] = {}
    small, large = sizes[1] // 2, sizes[1]  # both fill several batches, which take most
    for n in (small, large):
        say(f"memory of {HUB}: {n:,} links")
        world = World(new_folder(folder))
        corpus.write_notes(world.vault, n)
        for path in sorted(world.vault.rglob("Notes/**/*.md")):
            path.write_text(f"{path.read_text(encoding='utf-8')}\nSee [[Hub]].\n", "utf-8")
        (world.vault / "Hub.md").write_text("# Hub\n\nEverything.\n", "utf-8")
        with world.open() as memory:
            memory.adopt()
            memory.sync()
        (world.vault / "Hub.md").rename(world.vault / "The hub.md")
        held = {**held, n: _most_held(HUB, world)}
    more = (held[large] - held[small]) * 2**10 / (large - small)
    words = f"{held[large]:.0f} MB in all"
    return [Worth(f"{HUB}, kB for each more link", large, more, words, most=MOST_KB_PER_NOTE)]


def _most_held(kind: str, world: World) -> float:
    """Megabytes."""
    words = [sys.executable, "-m", "tests.bench.footprint", kind, str(world.folder)]
    done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout)


def _run(kind: str, folder: Path) -> None:
    """What the process does whose memory is measured."""
    gc.set_threshold(GC_THRESHOLD)  # as in every process of the command line
    limit_heaps()  # the same
    limit_caches()
    with World(folder, made=True).open(derived=kind != HUB) as memory:
        report = memory.adopt() if kind == ADOPT else memory.sync(dry_run=kind == DRY)
    if not report.actions:
        raise SystemExit("bench: nothing was done")
    print(_peak())


def _peak() -> float:
    """The most memory that this process had at once, in megabytes.

    `ru_maxrss` of Linux also counts what the process held before `exec`, so the memory of a
    benchmark with larger data would be taken for that of its child.
    """
    status = Path("/proc/self/status")
    if status.exists():
        words = next(x for x in status.read_text().splitlines() if x.startswith("VmHWM:"))
        return int(words.split()[1]) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _UNITS


if __name__ == "__main__":
    _run(sys.argv[1], Path(sys.argv[2]))
