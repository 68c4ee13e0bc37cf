"""Run tasks under strace: list their system calls, and inject a fault into one of them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.real.home import Home
from tests.real.victim import EMPTY

ROOT = Path(__file__).parents[2]
SLACK = 20
"""Extra calls before a fault, so that it never hits another process."""
IMPORTS = 1500
"""An upper bound of the files that Python opens while it starts."""
_LINE = re.compile(r"(?P<pid>\d+)\s+(?P<call>\w+)\((?P<rest>.*)")


class Point(NamedTuple):
    """The n-th call of a kind."""

    call: str
    n: int


@dataclass
class Struck:
    """The result of a task."""

    status: int
    """The exit code; the negative signal number if it was killed."""
    acknowledged: list[str] = field(default_factory=list)
    refused: str = ""
    broke: str = ""


def why_not() -> str:
    """Why strace cannot be used here; empty when it can."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    inject = ["strace", "-f", "-o", "/dev/null", "-e", "inject=fsync:error=EIO:when=9"]
    command = [*inject, sys.executable, "-c", ""]
    tried = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"strace may not trace here: {tried.stderr.strip()[-200:]}" * (tried.returncode != 0)


needs_strace = pytest.mark.skipif(bool(why := why_not()), reason=why or "it can")


class Victim:
    """A running `tests.real.victim` under strace."""

    def __init__(self, *options: str) -> None:
        self._process = subprocess.Popen(
            ["strace", "-f", *options, sys.executable, "-m", "tests.real.victim"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    def do(
        self, home: Home, work: str, more: Mapping[str, object], *, call: str = "", skip: int = 0
    ) -> Struck:
        order = {"root": str(home.root), "state": str(home.state), "work": work, **more}
        order |= {"call": call, "skip": skip}
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        struck = Struck(0)
        began = False
        for line in iter(self._process.stdout.readline, ""):
            said: dict[str, Any] = json.loads(line)
            began = began or "began" in said
            struck.refused += said.get("refused", "")
            struck.broke += said.get("broke", "")
            if "acknowledged" in said:
                struck.acknowledged.append(said["acknowledged"])
            if "status" in said:
                assert began, "struck before the work began"
                struck.status = said["status"]
                return struck
        _, errors = self._process.communicate()
        message = f"the victim is gone: {errors}"
        raise AssertionError(message)

    def close(self) -> None:
        self._process.communicate(timeout=60)


@contextmanager
def victim(*options: str) -> Iterator[Victim]:
    started = Victim(*options)
    try:
        yield started
    finally:
        started.close()


def points(home: Home, work: str, log: Path, more: Mapping[str, object]) -> list[Point]:
    """All system calls of a task that access files, in order."""
    traced = "trace=" + ",".join(f"?{call}" for call in EMPTY)
    with victim("-o", str(log), "-e", traced) as free:
        struck = free.do(home, work, more)
    assert struck.status == 0, struck
    seen = [each for each in map(_LINE.match, log.read_text().splitlines()) if each]
    seen = [each for each in seen if each["call"] in EMPTY]
    # The first process forks, the last one does the task.
    mine = [each for each in seen if each["pid"] == seen[-1]["pid"]]
    assert len(mine) < len(seen), "the work made no call"
    found: list[Point] = []
    counts: Counter[str] = Counter()
    for each in mine:
        call = each["call"]
        counts[call] += 1
        if call != "openat" or "O_CREAT" in each["rest"]:
            found.append(Point(call, counts[call]))
    return found


def thresholds(found: Sequence[Point]) -> dict[str, int]:
    """Which call of each kind strikes: one that none reaches that is not meant."""
    most: Counter[str] = Counter()
    for call, n in found:
        most[call] = max(most[call], n)
    return {call: n + SLACK + IMPORTS * (call == "openat") for call, n in most.items()}


def injections(limits: dict[str, int], how: str, *, on: str = "") -> list[str]:
    """The options for strace; `how` is `signal=SIGKILL`, `error=EIO` …; `on` a `+`."""
    options = ["-o", "/dev/null", "-e", "trace=" + ",".join(limits)]
    for call, limit in limits.items():
        options += ["-e", f"inject={call}:{how}:when={limit}{on}"]
    return options
