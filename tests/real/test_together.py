"""Agents, a person, commands and a daemon that is killed and suspended, all on one vault.

Whatever any of them was told is kept has a trace at the end: in a note, a fact, a conflict note,
or the history. Nobody printed a traceback, no guard stopped the agents' work, both sides are equal,
and a further sync has nothing to do.
"""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest

from tests.proofs.ledger import words
from tests.real.acknowledged import AGAIN, Writer
from tests.real.home import Home, say
from tests.real.programs import command, stop
from tests.real.watched_home import Daemon, make_home, suspended
from vaultsync.api import opening

DONE, FAILED, NEEDS_REVIEW = 0, 1, 3
"""Exit codes of the contract."""
LINGER = 1.0
AGENTS = (1, 2)
PERSON, COMMANDS, COPIED = 3, 4, 9_000_000
SHARED = 5
ENOUGH = 30
"""Words that are acknowledged at least, however slow the machine is."""


@pytest.fixture(autouse=True)
def _no_writer_is_left() -> Iterator[None]:
    yield
    while Writer.started:
        Writer.started.pop().kill()


class Commands(threading.Thread):
    """An agent that has nothing but the command line."""

    def __init__(self, home: Home, fact_id: str) -> None:
        super().__init__(daemon=True)
        self._home, self._fact_id = home, fact_id
        self.acknowledged: set[str] = set()
        self.failed: list[str] = []

    def run(self) -> None:
        for number in count(COMMANDS * 1_000_000):
            if (self._home.where / "stop").exists():
                return
            text = f"Told w{number}w."
            changes = ("update", self._fact_id, "--content", text)
            made = command(self._home, *(changes if number % 2 else ("remember", text)))
            if made.returncode in (DONE, NEEDS_REVIEW):
                self.acknowledged |= words(text)
            if made.returncode not in (DONE, NEEDS_REVIEW) or made.stderr:
                self.failed.append(made.stdout + made.stderr)


class Daemons:
    """One daemon at a time, to which everything happens."""

    def __init__(self, home: Home) -> None:
        self._home, self._numbers = home, count(1)
        self.all: list[Daemon] = []
        self.start()

    def start(self) -> None:
        self.all.append(Daemon(self._home, "--wait", name=f"daemon{next(self._numbers)}"))
        self.all[-1].is_ready()

    def _last(self) -> Daemon:
        last = self.all[-1]
        assert last.process.poll() is None, last.log.read_text()
        return last

    def is_killed(self) -> None:
        self._last().stop(signal.SIGKILL)
        self.start()

    def is_stopped(self) -> None:
        assert self._last().stop() == 0
        self.start()

    def is_suspended(self, seconds: float) -> None:
        with suspended(self._last().process):
            time.sleep(seconds)

    def end(self) -> None:
        assert self._last().stop() == 0
        told = [each.log.read_text() for each in self.all]
        assert not any("Traceback" in each for each in told)
        errors = [error for each in self.all for error in each.events("error")]
        assert not errors, json.dumps(errors)


def _copy_if_there(source: str, target: str) -> None:
    """What a run has staged, for one, may go meanwhile."""
    with contextlib.suppress(FileNotFoundError):
        shutil.copy2(source, target)


def _copy(home: Home, name: str) -> Home:
    """A copy of the vault as it is just now, with a note more, beside the state of the original."""
    copy = Home(home.where)
    copy.root = home.where / name
    shutil.copytree(home.root / ".meta", copy.root / ".meta", copy_function=_copy_if_there)
    for path in home.notes():
        try:
            data = home.data(path)
        except FileNotFoundError:  # it has been forgotten or renamed meanwhile
            continue
        copy.save(path, data)
    copy.save("public/notes/Of the copy.md", f"Only here: w{COPIED}w.\n".encode())
    return copy


def _a_copy_is_refused(home: Home, number: int) -> Home:
    """It is told so by each command, whatever that would do, and by a daemon."""
    copy = _copy(home, f"copy{number}")
    before = {path: copy.data(path) for path in copy.notes()}
    tried = (("sync",), ("remember", f"w{COPIED}w"), ("rebuild", "--from", "vault"))
    with ThreadPoolExecutor(len(tried)) as pool:
        told = [*pool.map(lambda arguments: command(copy, *arguments), tried)]
    for refused in told:
        assert refused.returncode == FAILED, refused.stdout
        assert json.loads(refused.stdout)["error"]["kind"] == "CopiedVaultError"
        assert "Traceback" not in refused.stderr
    assert Daemon(copy, name=f"of copy {number}").process.wait(60) == FAILED
    assert {path: copy.data(path) for path in copy.notes()} == before
    return copy


def _a_copy_of_its_own_syncs(copy: Home) -> None:
    opening.init(str(copy.root), state_dir=str(copy.state), new_id=True)
    done = command(copy, "rebuild", "--from", "vault")
    assert done.returncode in (DONE, NEEDS_REVIEW), done.stdout + done.stderr
    assert command(copy, "remember", f"w{COPIED + 1}w").returncode == DONE
    assert {f"w{COPIED}w", f"w{COPIED + 1}w"} <= copy.in_vault()


def _acknowledged(writers: Sequence[Writer]) -> int:
    return sum(len(each.acknowledged) for each in writers)


def together(where: Path, seconds: float) -> dict[str, int]:
    """Let them all loose for some seconds; returns what came of it."""
    home = make_home(where, linger=LINGER, settle=0.5)
    with home.open() as memory:
        shared = [memory.remember(f"Shared {n}.", scope="public").id for n in range(SHARED)]
        memory.sync()
    daemons, chance = Daemons(home), random.Random(int(seconds))
    commands = Commands(home, shared[0])
    commands.start()
    writers = [Writer("agent", home, each, *shared) for each in AGENTS]
    writers.append(Writer("person", home, PERSON))
    happens = [
        lambda: daemons.is_suspended(min(seconds / 4, chance.uniform(1, 4))),
        daemons.is_killed,
        daemons.is_stopped,
    ]
    rounds, until, copy = 0, time.monotonic() + seconds, None
    # A slow machine gets as long as it takes for each of them to happen, and some to be told.
    while time.monotonic() < until or rounds < 2 * len(happens) or _acknowledged(writers) < ENOUGH:
        time.sleep(chance.uniform(0.2, 0.6))
        happens[rounds % len(happens)]()
        if rounds == 1:
            copy = _a_copy_is_refused(home, rounds)
        if rounds % len(happens) == 2:
            writers[0].kill()
            writers.insert(0, Writer("agent", home, AGAIN + rounds, *shared))
        rounds += 1
    running = [each.process.poll() for each in writers[:1] + writers[-2:]]
    stop(home)
    commands.join()
    codes = [each.end() for each in writers]
    assert running == [None] * len(running), [each.errors for each in writers]
    assert set(codes) <= {0, -signal.SIGKILL}, [each.errors for each in writers]
    assert not any(each.errors for each in writers), [each.errors for each in writers]
    assert not commands.failed, commands.failed
    daemons.end()

    acknowledged = commands.acknowledged.union(*(each.acknowledged for each in writers))
    home.sync()
    time.sleep(LINGER)
    for _ in range(3):
        home.sync()
    seen = home.in_vault() | home.in_store() | home.in_conflicts()
    lost = acknowledged - seen - home.in_archive()
    assert not lost, f"{len(lost)} of {len(acknowledged)}: {sorted(lost)}\n{home.where}"
    assert copy is not None
    _a_copy_of_its_own_syncs(copy)
    with home.open() as memory:
        assert memory._ctx.store.replaced_versions(memory._ctx.store.replaced_ids()) == []
    home.check_equal()
    home.check_quiet()
    everything = home.in_vault() | home.in_store() | home.in_conflicts() | home.in_archive()
    assert not everything & {f"w{COPIED}w", f"w{COPIED + 1}w"}
    return {
        "acknowledged": len(acknowledged),
        "seen": len(acknowledged & seen),
        "notes": len(home.notes()),
        "daemons": len(daemons.all),
        "writers": len(writers),
        "by commands": len(commands.acknowledged),
        "by people": len(next(x for x in writers if x.lines and x.lines[0][1] == "3").lines),
    }


def test_whatever_was_acknowledged_has_a_trace(tmp_path: Path) -> None:
    numbers = together(tmp_path / "home", 3)
    say(str(numbers))
    assert numbers["acknowledged"] > ENOUGH


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_whatever_was_acknowledged_in_a_minute_has_a_trace(tmp_path: Path) -> None:
    numbers = together(tmp_path / "home", 60)
    say(str(numbers))
    assert numbers["acknowledged"] > 1000
