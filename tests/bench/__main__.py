"""`python -m tests.bench`: measure, print the table, fail when a target is missed."""

from __future__ import annotations

import argparse
import compileall
import gc
import json
import os
import platform
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench import edits, indexing, qdrant, single, watching
from tests.bench.asking import COLD, PACK, RECALL, VECTOR, Asking
from tests.bench.footprint import FOOTPRINT, memory
from tests.bench.hygiene import HYGIENE, shares
from tests.bench.indexing import BULK, FOUND, INDEX, MEANING
from tests.bench.passes import ADOPT, IDLE, KINDS, OUT, REBUILD, Passes
from tests.bench.peers import PEERS, beside_peers
from tests.bench.table import Growth, Row, Worth, as_json, show
from tests.bench.worlds import new_folder, seconds_to_make, spread
from vaultsync.cli.main import GC_THRESHOLD

GROWTH, REMEMBER, KEY, HELP = "growth", "remember", "key", "help"
EMBED, FIRST, MEMORY = "embed", "first", "memory-file"
WATCH, BURST, WATCHERS, GREETING = "watch", "burst", "watchers", "mcp"
QDRANT, QUESTION = "qdrant", "question"
CHANGE = "change"
ASKED = (RECALL, VECTOR, PACK, COLD)
NAMES = (
    *(IDLE, ADOPT, REBUILD, OUT, HYGIENE, REMEMBER, KEY, HELP),
    *(*ASKED, INDEX, FOUND, MEANING, BULK, FIRST, EMBED, MEMORY),
    *(QDRANT, WATCH, BURST, WATCHERS, GREETING, QUESTION, CHANGE, FOOTPRINT, GROWTH, PEERS),
)
SIZES = (1_000, 10_000, 100_000)
QUICK = (500, 5_000)
STEEPEST = 1.1
"""A little more than linear: deeper trees, colder caches."""


@dataclass
class Wanted:
    names: Sequence[str]
    sizes: Sequence[int]
    rows: list[Row] = field(default_factory=list)
    growths: list[Growth] = field(default_factory=list)
    worths: list[Worth] = field(default_factory=list)

    def __contains__(self, name: str) -> bool:
        return name in self.names


def main() -> None:
    gc.set_threshold(GC_THRESHOLD)  # as in every process of the command line
    asked = _arguments()
    # A run that is stopped, e.g. by a limit of time, still shows what it measured.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    root = Path(__file__).parents[2]
    # As libraries are when they are installed; where Python may write no bytecode, each
    # cold start would else compile our files, and theirs not.
    compileall.compile_dir(root / "vaultsync", quiet=1)
    folder = asked.dir or root / "build"
    folder.mkdir(parents=True, exist_ok=True)
    sizes = QUICK if asked.quick else SIZES
    wanted = Wanted(asked.only or NAMES, sizes)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=folder) as temp:
        spread(Path(temp))
        os.environ.setdefault("VAULTSYNC_MODELS", str(Path(temp) / "models"))
        os.environ["VAULTSYNC_EMBED_IN_BACKGROUND"] = "off"  # nothing runs beside a measurement
        os.environ["VAULTSYNC_CONFIG_DIR"] = str(Path(temp) / "config")
        _about(Path(temp))
        try:
            _measure(wanted, Path(temp), quick=asked.quick)
        finally:
            print(show(wanted.rows, wanted.growths, wanted.worths))
    found: list[Row | Growth | Worth] = [*wanted.rows, *wanted.growths, *wanted.worths]
    missed = [each.operation for each in found if each.missed]
    if asked.json:
        said = as_json(wanted.rows, wanted.growths, wanted.worths)
        asked.json.write_text(json.dumps(said, indent=2) + "\n", encoding="utf-8")
    if missed:
        print(f"\nbench: missed {len(missed)} of {len(found)}: {'; '.join(missed)}")
    else:
        print(f"\nbench: all of {len(found)} reached")
    sys.exit(bool(missed) and not asked.quick)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    names = "some of " + " ".join(NAMES)
    parser.add_argument("--quick", action="store_true", help="fewer notes; never fails")
    parser.add_argument("--only", nargs="+", choices=NAMES, metavar="NAME", help=names)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write numbers there")
    parser.add_argument("--dir", type=Path, help="where to make the vaults (build/)")
    return parser.parse_args()


def _about(folder: Path) -> None:
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(
        f"bench: {platform.platform()}, Python {platform.python_version()},"
        f" {os.cpu_count()} processors, load {load}\n"
        f"bench: in {folder}, where making a file takes"
        f" {seconds_to_make(folder) * 1e6:.0f} µs\n"
        "Trust the ratios, not the times: both sides were measured in turns.\n",
        flush=True,
    )


def _say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


def _measure(wanted: Wanted, folder: Path, *, quick: bool) -> None:
    main_size = wanted.sizes[1]
    some = 3 if quick else 5
    passes = Passes(folder, _say)
    try:
        for n in wanted.sizes:
            _passes(wanted, passes, n, at_main=n == main_size, some=some)
    finally:
        wanted.rows += sorted(passes.rows, key=lambda row: _order(row.operation))
    if any(name in wanted for name in ASKED):
        for n in wanted.sizes:
            _asked(wanted, Asking.of(folder, n), at_most=n == wanted.sizes[-1])
    singles: dict[str, Callable[[], Row]] = {
        REMEMBER: lambda: single.remember(folder, times=100 if quick else 300, target=5),
        KEY: lambda: single.one_key(times=200, few=30, target=1 / 30),
        HELP: lambda: single.shell_help(times=11, target=2),
        MEMORY: lambda: single.unchanged_file(folder, times=5 if quick else 15, target=3),
        INDEX: lambda: indexing.changed_notes(folder, main_size, times=3, target=1.6),
        FOUND: lambda: indexing.searchable(folder, main_size),
        MEANING: lambda: indexing.embedded(folder, 200 if quick else 2_000, target=1.1),
        BULK: lambda: indexing.embedded_beside_bare(folder, 200 if quick else 2_000, target=1.25),
        FIRST: lambda: indexing.first_vector(folder, times=3 if quick else 5, target=1 / 10),
        EMBED: lambda: indexing.embedded_notes(
            folder, times=2 if quick else 8, each=50 if quick else 250, target=1 / 1.5
        ),
        BURST: lambda: watching.burst(folder, count=1_000, target=3),
        GREETING: lambda: single.initialized(folder, times=11, target=1.5),
        QUESTION: lambda: single.asked_by_mcp(
            folder, main_size, times=11 if quick else 51, target=1 / 2
        ),
        WATCHERS: lambda: watching.watchers(folder, count=4_000 if quick else 10_000),
    }
    for name, measure in singles.items():
        if name in wanted:
            _say(name)
            wanted.rows.append(measure())
    _tables(wanted, folder, main_size, quick=quick, some=some)
    if GROWTH in wanted:
        wanted.growths += [
            Growth(KINDS[kind], seconds, STEEPEST) for kind, seconds in passes.seconds.items()
        ]


def _tables(wanted: Wanted, folder: Path, main_size: int, *, quick: bool, some: int) -> None:
    """What makes several rows in one go."""
    if HYGIENE in wanted:
        n = QUICK[0] if quick else 2_000
        wanted.rows += shares(folder, n, times=some, target=1.03, say=_say)
    if PEERS in wanted:
        _say(PEERS)
        wanted.rows += beside_peers(folder, main_size)
    if QDRANT in wanted:
        for n in wanted.sizes[1:]:
            _say(f"{QDRANT} with {n:,} chunks")
            at = new_folder(folder)
            rows, worths = qdrant.measure(at, n, targets=n == SIZES[-1])
            wanted.rows += rows
            wanted.worths += worths
    if CHANGE in wanted:
        wanted.growths += edits.changes(folder, wanted.sizes, _say)
    if WATCH in wanted:
        _say(WATCH)
        for n in wanted.sizes:
            most = n == wanted.sizes[-1]
            wanted.rows += watching.latencies(folder, n, times=20 if quick or most else 100)
        seconds = 10 if quick else 60
        wanted.worths.append(watching.at_rest(folder, main_size, seconds=seconds))
    if FOOTPRINT in wanted:
        wanted.worths += memory(folder, wanted.sizes, _say)


def _order(operation: str) -> int:
    words = list(KINDS.values())
    return words.index(operation) if operation in words else 0


def _passes(wanted: Wanted, passes: Passes, n: int, *, at_main: bool, some: int) -> None:
    """All passes over vaults of one size."""
    grows = GROWTH in wanted
    small = n < wanted.sizes[1]
    times = some if small else 3
    times = times if small or at_main else 1
    if grows or (OUT in wanted and at_main):
        passes.out(n, times=times, target=_if(at_main and OUT in wanted, 1 / 3))
    if grows or IDLE in wanted:
        passes.idle(n, times=some, target=_if(not small, 2), row=IDLE in wanted)
    if grows:
        passes.verify(n, times=times)
    if grows or (REBUILD in wanted and at_main):
        passes.rebuild(n, times=times, target=_if(at_main and REBUILD in wanted, 6))
    if grows or (ADOPT in wanted and at_main):
        passes.adopt(n, times=times, target=_if(at_main and ADOPT in wanted, 12))


def _asked(wanted: Wanted, asking: Asking, *, at_most: bool) -> None:
    _say(f"questions over {asking.n:,} facts")
    if RECALL in wanted:
        wanted.rows += asking.by_index(target=_if(at_most, 6))
    if VECTOR in wanted:
        wanted.rows += asking.by_meaning(target=_if(at_most, 1.8))
        wanted.rows += asking.by_default(target=_if(at_most, 1.8))
    if PACK in wanted:
        wanted.rows += asking.packed(target=_if(at_most, 2))
    if COLD in wanted:
        wanted.rows += asking.cold(by_index=2.5, by_meaning=1 / 10)


def _if(held: bool, target: float) -> float | None:
    return target if held else None


if __name__ == "__main__":
    main()
