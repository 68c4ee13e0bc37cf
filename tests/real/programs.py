"""The programs that these tests start: `python -m tests.real.programs NAME …`."""

from __future__ import annotations

import fcntl
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import vaultsync
from tests.forked import run_program, start_program
from tests.real.home import Home, say
from vaultsync.errors import EngineBusyError
from vaultsync.storage.store import RevisionMismatch, StoreWrite

ROOT = Path(__file__).parents[2]


def start(name: str, home: Home, *more: object) -> subprocess.Popen[str]:
    """Start one of the programs on a vault; it prints `ready` when it begins."""
    return start_program(
        [sys.executable, "-m", "tests.real.programs", name, str(home.where), *map(str, more)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def wait_for(*started: subprocess.Popen[str]) -> None:
    """Wait until all of the programs have begun."""
    for each in started:
        assert each.stdout
        assert each.stdout.readline() == "ready\n"


def told_by(started: subprocess.Popen[str]) -> dict[str, Any]:
    """The last output of a program."""
    assert started.stdout
    said: dict[str, Any] = json.loads(started.stdout.read().splitlines()[-1])
    started.communicate(timeout=60)
    assert started.returncode == 0
    return said


def command(
    home: Home, *arguments: str, timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    return run_program(command_line(home, *arguments), cwd=ROOT, timeout=timeout)


def command_line(home: Home, *arguments: str) -> list[str]:
    where = ["--vault", str(home.root), "--state-dir", str(home.state), "--json"]
    return [sys.executable, "-m", "vaultsync", *arguments, *where]


def hold(home: Home) -> None:
    """Hold the engine lock until stopped."""
    with home.open() as memory, memory._engine.exclusive():
        say("held")
        sys.stdin.readline()


def stop(home: Home) -> None:
    """Stop all programs that run until stopped."""
    (home.where / "stop").touch()


def _told_to_stop(home: Home) -> bool:
    return (home.where / "stop").exists()


def engine(home: Home) -> None:
    wrote = 0
    with home.open() as memory:
        while not _told_to_stop(home):
            try:
                report = memory.sync()
            except EngineBusyError:
                time.sleep(0.01)
                continue
            with (home.where / "passes").open("ab") as counted:
                counted.write(b".")
            wrote += report.counts["updated_in_vault"] + report.counts["merged"]
            (home.where / "wrote").write_text(str(wrote))
    say(json.dumps({"wrote": wrote}))


def _let_the_engine_pass(home: Home) -> None:
    """Wait until the engine has completed a run, without a time limit."""

    def passes() -> int:
        return (home.where / "passes").stat().st_size

    if (home.where / "passes").exists():
        began = passes()
        while passes() < began + 2 and not _told_to_stop(home):
            time.sleep(0.01)


def adder(home: Home, name: str) -> None:
    """Remember facts until stopped, and change some of them; print every word."""
    told: list[str] = []
    with vaultsync.open(str(home.root), name, str(home.state)) as memory:
        while not _told_to_stop(home):
            word, more = f"w{name}{len(told):04}1w", f"w{name}{len(told):04}2w"
            fact = memory.remember(f"I saw {word}.", title="Seen", scope="public")
            told.append(word)
            if len(told) % 3 == 0:
                memory.update(fact.id, add_tags=[more])
                told.append(more)
            time.sleep(0.05)
    say(json.dumps({"told": told}))


def burst(home: Home, name: str, count: str) -> None:
    for number in range(int(count)):
        path = home.root / "public" / "notes" / f"b{name}-{number}.md"
        path.write_bytes(f"# Note {name}-{number}\n\nText.\n".encode())
    say(json.dumps({"wrote": int(count)}))


BURST = 20
"""Number of saves of a writer without a pause."""
KEEP = 12
"""Maximum number of words in a line; its writer removes older ones."""


class Line:
    """The one line of a text that only one writer changes."""

    def __init__(self, number: int) -> None:
        self._mark = f"Line of {number}:"
        self._next = number * 1_000_000
        self.wrote: list[str] = []
        self.dropped: list[str] = []

    def change(self, text: str) -> str:
        """Add a word to this line, and remove the oldest one if there are too many."""
        lines = text.split("\n")
        at = next((i for i, x in enumerate(lines) if x.startswith(self._mark)), None)
        if at is None:
            at = next(
                (i for i, x in enumerate(lines) if x.startswith("<!-- vaultsync")), len(lines) - 1
            )
            lines[at:at] = ["", self._mark, ""]
            at += 1
        held = lines[at].removeprefix(self._mark).split()
        self._next += 1
        word = f"w{self._next}w"
        gone, kept = held[:-KEEP], [*held[-KEEP:], word]
        lines[at] = " ".join([self._mark, *kept])
        self.wrote.append(word)
        self.dropped += gone
        return "\n".join(lines)

    def tell(self) -> None:
        """Print what was written, and what its writer removed."""
        say(json.dumps({"wrote": self.wrote, "dropped": self.dropped}))


def writer(home: Home, number: str, *paths: str) -> None:
    """A person with an editor: odd ones save in place, even ones beside and rename.

    Writers of one note take turns; the engine knows nothing of that. Now and then each lets the
    engine of a storm have a pass in which this writer saves nothing.
    """
    line, chance = Line(int(number)), random.Random(int(number))
    by_rename = int(number) % 2 == 0
    while not _told_to_stop(home):
        path = home.root / chance.choice(paths)
        with path.with_name(f".{path.name}.turn").open("w") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            text = path.read_text()
            while "Line of" not in text:  # the engine never leaves half a note
                text = path.read_text()
            time.sleep(chance.random() * 0.002)
            data = line.change(text).encode()
            home.save(path.relative_to(home.root).as_posix(), data, rename=by_rename)
        time.sleep(chance.random() * 0.01)
        if len(line.wrote) % BURST == 0:
            _let_the_engine_pass(home)
    line.tell()


def updater(home: Home, number: str, *fact_ids: str) -> None:
    """An agent that changes its line of some facts, in the store alone."""
    line, chance = Line(int(number)), random.Random(int(number))
    with home.open() as memory:
        ctx = memory._ctx
        while not _told_to_stop(home):
            fact = ctx.store.get(chance.choice(fact_ids))
            dropped = len(line.dropped)
            changed = fact.replace({"content": line.change(fact.content)})
            write = StoreWrite(fact.id, changed, fact.revision, "indy")
            if isinstance(ctx.store.write([write])[0], RevisionMismatch):
                line.wrote.pop()
                del line.dropped[dropped:]
            time.sleep(chance.random() * 0.02)
    line.tell()


PROGRAMS: dict[str, Callable[..., None]] = {
    "hold": hold,
    "engine": engine,
    "adder": adder,
    "burst": burst,
    "writer": writer,
    "updater": updater,
}


def main() -> None:
    name, where, *more = sys.argv[1:]
    say("ready")
    PROGRAMS[name](Home(Path(where)), *more)


if __name__ == "__main__":
    main()
