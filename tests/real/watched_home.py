"""`vaultsync watch` on a real vault, in a separate process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

from tests.forked import start_program
from tests.real.home import Home
from tests.real.programs import ROOT
from vaultsync.errors import VaultsyncError

RESCAN = 4.0
"""Seconds; as long as what no event told of may stay unseen in these tests."""
TABLE = """
[watch]
rescan_seconds = {rescan}
"""


def make_home(where: Path, *, rescan: float = RESCAN, **settings: float) -> Home:
    """Create a vault with frequent rescans."""
    home = Home.make(where, **settings)
    with (home.root / ".meta" / "config.toml").open("a") as file:
        file.write(TABLE.format(rescan=rescan))
    return home


class Daemon:
    """A daemon in a process of its own."""

    started: ClassVar[list[Daemon]] = []

    def __init__(self, home: Home, *options: str, name: str = "log", bridge: bool = False) -> None:
        options = options if bridge else ("--no-bridge", *options)
        self._awaited = "bridge" if bridge else "watcher"
        self.log = home.where / f"{name}.jsonl"
        where = ["--vault", str(home.root), "--state-dir", str(home.state)]
        with self.log.open("w") as log:
            self.process = start_program(
                [sys.executable, "-m", "vaultsync", "watch", *where, *options],
                cwd=ROOT,
                env={**os.environ, "VAULTSYNC_EMBEDDER": "none"},
                stderr=log,
            )
        self.started.append(self)

    def events(self, kind: str = "") -> list[Mapping[str, Any]]:
        lines = self.log.read_text().split("\n")[:-1]
        told = [json.loads(line) for line in lines]
        return [each for each in told if kind in ("", each["event"])]

    def is_ready(self) -> None:
        """Wait until it listens and has completed its first scan."""
        wait_until(lambda: self.events(self._awaited) or self.process.poll() is not None)
        assert self.process.poll() is None, self.log.read_text()

    def cpu(self) -> float:
        """CPU time that it has used so far, in seconds."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2]
        user, system = fields.split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def wakes(self) -> int:
        """Number of times that its threads have woken so far."""
        told = 0
        for each in Path(f"/proc/{self.process.pid}/task").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):  # the thread has just ended
                status = (each / "status").read_text()
                told += int(status.partition("voluntary_ctxt_switches:")[2].split()[0])
        return told

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End it; returns its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(timeout=60)


def own_seconds(process: subprocess.Popen[Any], *, patience: float = 60.0) -> float:
    """Wait until a process has ended; returns how many seconds of its own that took.

    Its own are those in which it computes or waits, but not those in which one of its threads
    waits for a processor that others have, or for the disk, where no signal reaches it: what
    it writes must become durable, which may take minutes where others write, too. Nor those
    in which this thread got no processor to see its end.
    """
    took, began = 0.0, time.monotonic()
    seen, before = began, _held_up(process.pid)
    while process.poll() is None:
        assert seen < began + patience, "it does not end"
        time.sleep(0.02)
        now, held_up = time.monotonic(), _held_up(process.pid)
        longest = max(
            (held_up[each] - before[each] for each in held_up.keys() & before.keys()), default=0.0
        )
        took += max(0.0, now - seen - longest)
        seen, before = now, held_up
    return took


def _held_up(pid: int) -> dict[str, float]:
    """Seconds for which each thread of a process, and this one, have waited for a processor.

    Beside a thread that waits for the disk just now, the time. Empty where no system tells.
    """
    found: dict[str, float] = {}
    with suppress(FileNotFoundError, ProcessLookupError):  # the process has just ended
        for each in (Path("/proc/thread-self"), *Path(f"/proc/{pid}/task").iterdir()):
            found[str(each)] = int((each / "schedstat").read_text().split()[1]) / 1e9
            if (each / "stat").read_text().rpartition(")")[2].split()[0] == "D":
                found[f"{each} disk"] = time.monotonic()
    return found


@contextmanager
def suspended(process: subprocess.Popen[Any]) -> Iterator[None]:
    """Suspend a process for the block."""
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


def wait_until(holds: Callable[[], object], *, patience: float = 60.0) -> float:
    """Wait for a condition; returns the time that it took, in seconds."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() < began + patience, "it did not happen"
        time.sleep(0.02)
    return time.monotonic() - began


def equal(home: Home) -> bool:
    """Whether both sides are equal, determined without an engine."""
    try:
        with home.open() as memory:
            status = memory.status()
    except VaultsyncError:
        return False
    return not status.pending and status.facts == status.notes
