"""What passes cost that keep the indexes up to date, and when new facts can be found."""

from __future__ import annotations

import time
from pathlib import Path

from tests.bench.measure import Pair, timed
from tests.bench.table import Row, row_of
from tests.bench.worlds import World, new_folder, notes_in, settle_disk, with_facts
from vaultsync.indexing.chunking import chunk_fact

INDEX, FOUND, MEANING = "index", "found", "meaning"
AFTER = 3.0
"""Seconds after a pass in which new facts can be found by their words."""


def changed_notes(folder: Path, n: int, *, times: int, target: float) -> Row:
    """A pass over notes that were all changed, with indexes and without."""
    world = with_facts(new_folder(folder), n)
    with world.open(derived=True) as memory:
        memory.sync()
    pair = Pair([], [])
    for _ in range(times):
        for derived, found in ((False, pair.floor), (True, pair.ours)):
            _change_all(world)
            with world.open(derived=derived) as memory:
                found.append(timed(memory.sync))
                memory.index()
    return row_of("pass over changed notes, indexed", n, "the same pass alone", pair, target=target)


def _change_all(world: World) -> None:
    for path in notes_in(world.vault):
        with path.open("a", encoding="utf-8") as note:
            note.write(f"\nChanged at {time.time_ns()}.\n")
    settle_disk()


def searchable(folder: Path, n: int) -> Row:
    """New facts, until they are found by their words."""
    world = with_facts(new_folder(folder), n)
    with world.open() as memory:
        # The first question brings the note index up to date before it is answered.
        took = timed(lambda: memory.recall("decision", mode="index"))
        if not memory.recall("decision", mode="index") or memory.index().notes != n:
            raise SystemExit("bench: not all was found")
    words = "new facts found by words"
    return Row(words, n, took.seconds, "the limit", AFTER, 1.0, took.cpu)


def embedded(folder: Path, n: int, *, target: float) -> Row:
    """New facts, until they are found by their meaning; beside the bare runtime."""
    world = with_facts(new_folder(folder), n)
    with world.open() as memory:
        memory.index()
        facts = list(memory._ctx.store.iter_facts())
    texts = [chunk.text for fact in facts for chunk in chunk_fact(fact)]
    with world.open(embedder="local") as memory:
        embedder = memory._derived.embedder
        if embedder is None:
            raise SystemExit("bench: there is no local model")
        embedder.embed(["tea"])
        floor = timed(lambda: embedder.embed(texts))
        ours = timed(memory.index)
    words = "new facts embedded"
    pair = Pair([floor], [ours])
    return row_of(words, n, "the runtime alone", pair, target=target)
