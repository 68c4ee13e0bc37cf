"""`vaultsync watch` with its bridge, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

PATIENCE = 30.0


@contextmanager
def watched(*words: str, env: Mapping[str, str] | None = None) -> Iterator[str]:
    """The address of the bridge of a daemon that listens, while it is needed."""
    started = subprocess.Popen(
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
        started.communicate(timeout=PATIENCE)
    assert started.returncode == 0
