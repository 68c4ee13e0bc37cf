"""Eight editors in both save styles, two agents and an engine, all at once.

No complete version that a writer saved is lost unless the same writer took it out: its
word is in a note, the store, a conflict, or at least in the archive.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from tests.real.home import Home, say
from tests.real.programs import start, stop, told_by, wait_for

WRITERS = 8
AGENTS = 2
SHARED = 3
LINGER = 1.0
SETTLE = 5.0
LONGEST = 30.0
"""Seconds that a short storm may go on where it is not enough."""
AGENT = (WRITERS + 1) * 1_000_000
"""The number of an agent's first word."""


Numbers = dict[str, float]


@contextmanager
def one_engine(home: Home, numbers: Numbers) -> Iterator[None]:
    """An engine that does pass after pass."""
    engine = start("engine", home)
    wait_for(engine)
    yield
    numbers |= told_by(engine)


def storm(
    where: Path,
    seconds: float,
    *,
    engines: Callable[[Home, Numbers], AbstractContextManager[None]] = one_engine,
    enough: Callable[[Home], bool] = lambda _: True,
) -> Numbers:
    """Let them all loose for some seconds, and until it is enough; returns the numbers of it.

    The engines begin before the writers, and end after them.
    """
    home = Home.make(where, linger=LINGER, settle=SETTLE)
    everyone = range(1, WRITERS + AGENTS + 1)
    with home.open() as memory:
        ids = [
            home.remember(
                memory,
                {
                    "title": f"Plan {n}",
                    "content": "\n\n---\n\n".join(f"Line of {x}:" for x in everyone),
                },
            )
            for n in range(SHARED + WRITERS)
        ]
        memory.sync()
        paths = [memory.get(each).path or "" for each in ids]

    wrote: set[str] = set()
    dropped: set[str] = set()
    numbers: Numbers = {}
    with engines(home, numbers):
        writers = [
            start("writer", home, n, paths[SHARED + n - 1], *paths[:SHARED])
            for n in range(1, WRITERS + 1)
        ]
        writers += [start("updater", home, WRITERS + n, *ids) for n in range(1, AGENTS + 1)]
        wait_for(*writers)
        time.sleep(seconds)
        limit = time.monotonic() + LONGEST
        while not enough(home) and time.monotonic() < limit:  # the machine has other work to do
            time.sleep(0.1)
        running = [each.poll() for each in writers]
        stop(home)
        for each in writers:
            told = told_by(each)
            wrote |= set(told["wrote"])
            dropped |= set(told["dropped"])
        assert running == [None] * len(running)

    home.sync()
    time.sleep(LINGER)
    for _ in range(3):
        home.sync()
    seen = home.in_vault() | home.in_store() | home.in_conflicts()
    lost = wrote - dropped - seen - home.in_archive()
    assert not lost, f"{len(lost)} of {len(wrote)}: {sorted(lost)}\n{home.where}"
    home.check_equal()
    home.check_quiet()
    owed = wrote - dropped
    return {
        "saves": len(wrote),
        "owed": len(owed),
        "kept in the archive": len(owed - seen),
        "of these by people": sum(int(x[1:-1]) < AGENT for x in owed - seen),
        "conflict notes": len(list(home.root.rglob("*.conflict.md"))),
        **numbers,
    }


def test_no_version_is_lost_in_a_storm(tmp_path: Path) -> None:
    numbers = storm(tmp_path / "home", 1, enough=_has_written)
    say(str(numbers))
    assert numbers["wrote"] > 10
    assert numbers["saves"] > 100


def _has_written(home: Home) -> bool:
    """Whether the engine wrote into notes while others did."""
    told = home.where / "wrote"
    return told.exists() and int(told.read_text() or 0) > 10


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_no_version_is_lost_in_a_storm_of_a_minute(tmp_path: Path) -> None:
    numbers = storm(tmp_path / "home", 60)
    say(str(numbers))
    assert numbers["wrote"] > 100
    assert numbers["saves"] > 1000
