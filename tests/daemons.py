"""`vaultsync watch` with its bridge, in a separate process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.forked import start_program

PATIENCE = 30.0
_LONGEST_WAIT = 90.0
"""Seconds; a machine with many other processes is slow at times."""


def wait_until(holds: Callable[[], object]) -> None:
    """Wait for another process or thread."""
    end = time.monotonic() + _LONGEST_WAIT
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


@contextmanager
def watched(
    *words: str, env: Mapping[str, str] | None = None, log: list[dict[str, Any]] | None = None
) -> Iterator[str]:
    """Run a daemon during the block; yields the address of its bridge.

    At the end, `log` contains what the daemon logged meanwhile.
    """
    started = start_program(
        [sys.executable, "-m", "vaultsync", "watch", *words],
        env=env or os.environ,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert started.stderr
        said: dict[str, str] = {}
        wanted = {"watcher"} if "--no-bridge" in words else {"watcher", "bridge"}
        while wanted - said.keys():
            line = json.loads(started.stderr.readline())
            said[line["event"]] = line.get("address", "")
        yield said.get("bridge", "")
    finally:
        started.terminate()
        _, rest = started.communicate(timeout=PATIENCE)
        if log is not None:
            log += map(json.loads, rest.splitlines())
    assert started.returncode == 0
