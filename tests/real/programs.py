"""What other processes do in these tests: `python -m tests.real.programs NAME …`."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import vaultsync.app
from tests.real.home import Home
from vaultsync.core.paths import VaultPath
from vaultsync.errors import EngineBusyError, VaultsyncError

ROOT = Path(__file__).parents[2]


def start(name: str, home: Home, *more: object) -> subprocess.Popen[str]:
    """Start one of the programs on a vault."""
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tests.real.programs",
            name,
            str(home.where),
            *map(str, more),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def command(home: Home, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line on a vault, as a person would."""
    return subprocess.run(
        command_line(home, *arguments),
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )


def command_line(home: Home, *arguments: str) -> list[str]:
    where = ["--vault", str(home.root), "--state-dir", str(home.state), "--json"]
    return [sys.executable, "-m", "vaultsync", *arguments, *where]


def hold(home: Home) -> None:
    """Be an engine until told to stop."""
    with home.open() as memory, memory._engine():
        print("held", flush=True)
        sys.stdin.readline()


def engine(home: Home, seconds: str) -> None:
    """Pass after pass, until the time is over."""
    ends = time.monotonic() + float(seconds)
    passes = 0
    with home.open() as memory:
        while time.monotonic() < ends:
            try:
                memory.sync()
            except EngineBusyError:
                time.sleep(0.01)
                continue
            passes += 1
    print(json.dumps({"passes": passes}))


def agent(home: Home, name: str, shared: str, rounds: str) -> None:
    """Remember, and add to a fact that all agents add to; tell every word."""
    told = []
    with vaultsync.app.open(str(home.root), name, str(home.state)) as memory:
        for n in range(int(rounds)):
            own, more = f"w{name}{n}1w", f"w{name}{n}2w"
            fact = memory.remember(f"I saw {own}.", title="Seen", scope="public")
            told.append(own)
            memory.update(shared, add_tags=[more])
            told.append(more)
            if n % 3 == 0:
                more = f"w{name}{n}3w"
                memory.update(fact.id, content=f"I saw {own}, and {more}.")
                told.append(more)
    print(json.dumps({"told": told}))


PROGRAMS: dict[str, Callable[..., None]] = {
    "hold": hold,
    "engine": engine,
    "agent": agent,
}


def main() -> None:
    name, where, *more = sys.argv[1:]
    PROGRAMS[name](Home(Path(where)), *more)


if __name__ == "__main__":
    main()
