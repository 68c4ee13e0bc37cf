"""Whole passes over many notes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.bench import bare, floors
from tests.bench.measure import Pair, Timed, in_turns, middle, timed
from tests.bench.table import Row, row_of
from tests.bench.worlds import World, new_folder, notes_in, settle_disk, with_facts, with_notes

IDLE, ADOPT, REBUILD, OUT = "idle", "adopt", "rebuild", "out"
VERIFY = "verify"
KINDS = {
    IDLE: "pass with nothing to do",
    ADOPT: "adopt, ids written",
    REBUILD: "rebuild the base from equal sides",
    OUT: "first pass out, durable",
    VERIFY: "verify",
}
FEW_FILES = 2_000
"""As many files are written one by one; the time for more is taken in proportion."""


class Passes:
    """Measures passes; what is beside them, only where a row is wanted.

    Nothing is deleted in between: ext4 is slow at making files soon after.
    """

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        self._folder = folder
        self._say = say
        self._facts: dict[int, World] = {}
        self._mirrored: dict[int, World] = {}
        self.seconds: dict[str, dict[int, float]] = {kind: {} for kind in KINDS}
        self.rows: list[Row] = []

    def _new(self) -> Path:
        return new_folder(self._folder)

    def _keep(self, kind: str, n: int, times: list[Timed]) -> None:
        self.seconds[kind][n] = middle(times)

    def _with_facts(self, n: int) -> World:
        if n not in self._facts:
            self._say(f"{n:,} facts are made")
            self._facts[n] = with_facts(self._new(), n)
        return self._facts[n]

    def _equal(self, n: int) -> World:
        """A world with both sides equal."""
        if n not in self._mirrored:
            self.out(n, times=1)
        return self._mirrored[n]

    def out(self, n: int, *, times: int, target: float | None = None) -> None:
        """All facts become notes."""
        facts = self._with_facts(n)
        self._say(f"{KINDS[OUT]}: {n:,} notes")
        pair = Pair([], [])
        for _ in range(times):
            world = World(self._new())
            world.take_store_of(facts)
            settle_disk()
            with world.open() as memory:
                pair.ours.append(timed(memory.sync))
            _must("each fact has its note", held=len(notes_in(world.vault)) == n)
            self._mirrored.setdefault(n, world)
            if target is not None:
                pair.floor.append(self._one_by_one(world, n))
        self._keep(OUT, n, pair.ours)
        if target is not None:
            few = f"{floors.FILES} (from {min(n, FEW_FILES):,})"
            self.rows.append(row_of(KINDS[OUT], n, few, pair, target=target))
            work = partial(bare.out, _bytes_of(world), world.store, self._new())
            self._beside_bare(OUT, n, work, pair.ours)

    def _beside_bare(
        self,
        kind: str,
        n: int,
        work: Callable[[], None],
        ours: list[Timed],
        by: str = bare.WORDS,
        *,
        target: float | None = None,
    ) -> None:
        """A row of how much of the time no code of ours could save."""
        settle_disk()
        pair = Pair(floor=[timed(work)], ours=ours)
        self.rows.append(row_of(KINDS[kind], n, by, pair, target=target))

    def _one_by_one(self, world: World, n: int) -> Timed:
        files = _bytes_of(world, FEW_FILES)
        root = self._new()
        settle_disk()
        took = timed(lambda: floors.write_files(root, files))
        share = n / len(files)
        return Timed(took.seconds * share, took.cpu * share)

    def idle(self, n: int, *, times: int, target: float | None, row: bool) -> None:
        """Nothing has changed: in a memory that is open, and in one opened for it."""
        world = self._equal(n)
        self._say(f"{KINDS[IDLE]}: {n:,} notes")

        def walk() -> None:
            floors.walk(world.vault)

        def anew() -> None:
            with world.open() as memory:
                memory.sync()

        with world.open() as memory:
            _until_quiet(memory.sync)
            pair = in_turns(walk, memory.sync, times=times)
            _must("nothing is to be done", held=memory.sync().quiet)
        self._keep(IDLE, n, pair.ours)
        if row:
            self.rows.append(row_of(KINDS[IDLE], n, floors.WALK, pair, target=target))
            fresh = in_turns(walk, anew, times=times)
            words = "… with open and close"
            self.rows.append(row_of(words, n, floors.WALK, fresh, target=target))

    def verify(self, n: int, *, times: int) -> None:
        """Both sides are proved equal."""
        world = self._equal(n)
        self._say(f"{KINDS[VERIFY]}: {n:,} notes")
        with world.open() as memory:
            took = [timed(memory.verify) for _ in range(times)]
            _must("both sides are equal", held=not memory.verify().differences)
        self._keep(VERIFY, n, took)

    def rebuild(self, n: int, *, times: int, target: float | None = None) -> None:
        """The archive is lost, and both sides are equal."""
        world = self._equal(n)
        self._say(f"{KINDS[REBUILD]}: {n:,} notes")
        floors.cat(world.vault)
        pair = Pair([], [])
        for _ in range(times):
            world.lose_archive()
            settle_disk()
            if target is not None:
                pair.floor.append(timed(lambda: floors.cat(world.vault)))
            with world.open() as memory:
                pair.ours.append(timed(memory.sync))
        self._keep(REBUILD, n, pair.ours)
        if target is not None:
            self.rows.append(row_of(KINDS[REBUILD], n, floors.CAT, pair, target=target))
            archive = self._new() / "bare.sqlite3"
            work = partial(bare.rebuild, world.vault, world.store, archive)
            self._beside_bare(REBUILD, n, work, pair.ours)
            archive = self._new() / "ports.sqlite3"
            work = partial(bare.through_the_ports, world.vault, world.store, archive)
            self._beside_bare(REBUILD, n, work, pair.ours, bare.PORTS, target=1.25)

    def adopt(self, n: int, *, times: int, target: float | None = None) -> None:
        """A person's notes become facts; each time another copy of the same notes."""
        pair = Pair([], [])
        for _ in range(times):
            self._say(f"{KINDS[ADOPT]}: {n:,} notes")
            world = with_notes(self._new(), n)
            if target is not None:
                floors.cat(world.vault)  # the first reading writes access times
                pair.floor.append(timed(partial(floors.cat, world.vault)))
            with world.open() as memory:
                pair.ours.append(timed(memory.adopt))
            with world.open() as memory:
                _must("each note is a fact", held=memory.status().facts == n)
        self._keep(ADOPT, n, pair.ours)
        if target is not None:
            self.rows.append(row_of(KINDS[ADOPT], n, floors.CAT, pair, target=target))
            world = with_notes(self._new(), n)
            archive = world.folder / "bare.sqlite3"
            work = partial(bare.adopt, world.vault, world.store, archive)
            self._beside_bare(ADOPT, n, work, pair.ours)


def _until_quiet(sync: Callable[[], object]) -> None:
    """The first passes after writing still move stamps."""
    for _ in range(3):
        sync()


def _bytes_of(world: World, most: int | None = None) -> list[tuple[str, bytes]]:
    """The notes, or the first of them, by path."""
    root = world.vault
    return [(str(path.relative_to(root)), path.read_bytes()) for path in notes_in(root)[:most]]


def _must(what: str, *, held: bool) -> None:
    """A time says nothing when the work was not done."""
    if not held:
        raise SystemExit(f"bench: not so: {what}")
