"""A process that is suspended, as by a debugger or a laptop's lid, keeps no other waiting."""

from __future__ import annotations

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.real.home import Home
from tests.real.programs import command
from tests.real.watched_home import Daemon, suspended

LONGEST = 60.0
"""Seconds: five for an answer, and the start of a process beside many others."""
BUSY = 5


def timed(home: Home, *words: str) -> tuple[float, int, dict[str, Any]]:
    """How long a command takes, its exit code, and what it prints."""
    began = time.monotonic()
    done = command(home, *words, timeout=2 * LONGEST)
    assert "Traceback" not in done.stderr
    return time.monotonic() - began, done.returncode, json.loads(done.stdout)


def test_no_command_hangs_beside_a_suspended_daemon(tmp_path: Path) -> None:
    home = Home.make(tmp_path / "home")
    with home.open() as memory:
        fact = memory.remember("Convex is our system of record.", scope="public")
    daemon = Daemon(home, bridge=True)
    daemon.is_ready()
    with suspended(daemon.process), ThreadPoolExecutor(8) as pool:
        works = (
            ("status",),
            ("get", fact.id),
            ("recall", "convex"),
            ("update", fact.id, "--content", "SQLite is our system of record."),
        )
        refused = (
            ("sync",),
            ("sync", "--dry-run"),
            ("verify",),
            ("maintain",),
            ("undo", "01a207e1-1bc3-70b6-bc1b-d29b7e7c0f51"),
            ("resolve", "0123456789ab", "--take", "store"),
            ("adopt",),
            ("links", "check", "--fix"),
        )
        running = {words: pool.submit(timed, home, *words) for words in (*works, *refused)}
        done = {words: each.result() for words, each in running.items()}
    took = {words: seconds for words, (seconds, _, _) in done.items()}
    assert max(took.values()) < LONGEST, took
    assert {words: done[words][1] for words in works} == dict.fromkeys(works, 0)
    assert {words: done[words][1] for words in refused} == dict.fromkeys(refused, BUSY)
    for words in refused[1:]:
        error = done[words][2]["error"]
        assert error["kind"] == "EngineBusyError"
        assert re.search(rf"process {daemon.process.pid}\b.*does not answer", error["message"]), (
            words
        )
        assert "kill -CONT" in error["hint"]
    assert daemon.stop() == 0
    home.sync()
    home.check_equal()
    home.check_quiet()
