"""A memory file in which nothing has changed."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from tests.bench import corpus
from tests.bench.measure import in_turns
from tests.bench.table import Row, row_of
from tests.bench.worlds import World, new_folder

SECTIONS = 500
READ = "read + sha256 of the file"
_EACH = 20
"""Both are done so often in one turn: once is less than a clock can tell apart."""


def unchanged(folder: Path, *, times: int, target: float) -> Row:
    """A sync of a file of so many sections as may be, in a memory that is open."""
    world = World(new_folder(folder))
    file = world.folder / "MEMORY.md"
    sections = (
        f"## {number}. {corpus.title(number)}\n\n{corpus.prose(number)}\n"
        for number in range(SECTIONS)
    )
    file.write_text("# Memory\n\n" + "\n".join(sections), encoding="utf-8")

    def floor() -> None:
        for _ in range(_EACH):
            sha256(file.read_bytes()).hexdigest()

    with world.open() as memory:
        done = memory.sync_memory_file(file, agent="indy")
        if not done.counts["created"] == SECTIONS == len(done.fact_ids):
            raise SystemExit(f"bench: {done.counts} of {SECTIONS} sections")

        def ours() -> None:
            for _ in range(_EACH):
                if not memory.sync_memory_file(file, agent="indy").quiet:
                    raise SystemExit("bench: the file has not changed, and was written")

        pair = in_turns(floor, ours, times=times)
    words = "memory file without changes"
    return row_of(words, SECTIONS, f"{READ}, {_EACH} times", pair, target=target)
