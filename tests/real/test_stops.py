"""SIGTERM ends everything that runs for long within five seconds, whatever it does just then."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

import vaultsync
from tests.forked import start_program
from tests.machines import configure_machine
from tests.real.home import Home
from tests.real.programs import ROOT, command_line, start, wait_for
from tests.real.watched_home import own_seconds, wait_until
from tests.world import open_scopes
from vaultsync.api.embedding import WORKER

pytestmark = pytest.mark.long(5)

LONGEST = 5.0
"""Seconds of its own, without those in which other programs had the processor."""
ENDED = (0, -signal.SIGTERM, 128 + signal.SIGTERM)
"""Exit codes of what stopped in good order, or at once."""
ASKS = b"".join(
    json.dumps({"jsonrpc": "2.0", **each}).encode() + b"\n"
    for each in (
        {
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-03-26",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "0"},
            },
        },
        {"method": "notifications/initialized"},
        {
            "id": 2,
            "method": "tools/call",
            "params": {"name": "memory_store_fact", "arguments": {"text": "A."}},
        },
    )
)
"""What a client sends that wants a fact stored."""
_running: list[subprocess.Popen[bytes]] = []


@pytest.fixture(autouse=True)
def _none_is_left() -> Iterator[None]:
    yield
    while _running:
        _running[-1].kill()
        _running.pop().communicate()


def begin(line: Sequence[str], **variables: str) -> subprocess.Popen[bytes]:
    """Start a program with pipes."""
    started = start_program(
        line,
        cwd=ROOT,
        env={**os.environ, "VAULTSYNC_EMBEDDER": "none", **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    _running.append(started)
    return started


def end(started: subprocess.Popen[bytes]) -> float:
    """Send it SIGTERM; returns how many seconds of its own it took."""
    assert started.poll() is None, started.stderr and started.stderr.read()
    started.terminate()
    took = own_seconds(started)
    _, said = started.communicate(timeout=60)
    assert started.returncode in ENDED, (started.returncode, said)
    assert b"Traceback" not in said, said.decode()
    return took


def notes(home: Home, count: int, *, lines: int = 3) -> None:
    folder = home.root / "public" / "notes"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        text = "\n\n".join(f"Line {line} of note {number} says much." for line in range(lines))
        (folder / f"n{number}.md").write_text(f"# Note {number}\n\n{text}\n")


SERVES = {
    ("watch",): b'"bridge"',
    ("watch", "--no-bridge"): b'"watcher"',
    ("bridge", "--port", "0"): b"http:",
    ("mcp", "--agent", "ada"): b'"result"',
    ("mcp", "--agent", "ada", "--http", "--port", "0"): b"http:",
}
"""What serves, and what it says when it does."""


@pytest.mark.parametrize("words", SERVES, ids=" ".join)
def test_what_serves_ends(home: Home, words: tuple[str, ...]) -> None:
    started = begin([each for each in command_line(home, *words) if each != "--json"])
    assert started.stdin
    assert started.stdout
    assert started.stderr
    started.stdin.write(ASKS if words[-1] == "ada" else b"")
    started.stdin.flush()
    says_it = started.stderr if words[0] == "watch" else started.stdout
    while SERVES[words] not in (line := says_it.readline()):
        assert line, "it has ended"
    assert end(started) < LONGEST


@pytest.mark.parametrize("words", [("sync",), ("watch", "--no-bridge")], ids=" ".join)
@pytest.mark.long(2)
def test_a_run_ends_in_the_middle(home: Home, words: tuple[str, ...]) -> None:
    notes(home, 400)
    started = begin(command_line(home, *words))
    wait_until(lambda: facts(home) or started.poll() is not None)
    assert end(started) < LONGEST
    home.sync()
    assert facts(home) == 400
    home.check_equal()


@contextmanager
def nobody() -> Iterator[tuple[socket.socket, int]]:
    """A socket that listens, and its port: what connects to it gets no answer."""
    with socket.create_server(("127.0.0.1", 0)) as hangs:
        hangs.settimeout(60)
        yield hangs, hangs.getsockname()[1]


@pytest.mark.parametrize(
    "words", [("watch", "--no-bridge"), ("mcp", "--agent", "ada")], ids=" ".join
)
@pytest.mark.long(2)
def test_what_waits_for_a_store_that_hangs_ends(home: Home, words: tuple[str, ...]) -> None:
    """A request waits ten seconds, and is tried again until fifteen are over."""
    with nobody() as (hangs, port):
        configure_machine(home.root, f'store = "qdrant://127.0.0.1:{port}/indy"')
        started = begin([each for each in command_line(home, *words) if each != "--json"])
        if words[0] == "mcp":
            assert started.stdin
            started.stdin.write(ASKS)
            started.stdin.flush()
        with hangs.accept()[0]:
            time.sleep(0.5)
            assert end(started) < LONGEST


@pytest.mark.parametrize("store", ["sqlite", "qdrant+local:../points"])
@pytest.mark.parametrize("words", [("watch", "--no-bridge"), ("index", "--wait")], ids=" ".join)
@pytest.mark.long(4)
def test_what_embeds_ends(tmp_path: Path, words: tuple[str, ...], store: str) -> None:
    """A model that takes long for one text; with the second store it is called by the daemon."""
    home = Home(tmp_path)
    vaultsync.init(str(home.root), state_dir=str(home.state), store=store)
    open_scopes(home.root)
    notes(home, 3)
    with nobody() as (hangs, port):
        model = {
            "VAULTSYNC_EMBEDDER": f"http:http://127.0.0.1:{port}#slow",
            "VAULTSYNC_EMBED_IN_BACKGROUND": "on",
            # Other tests leave nothing to a process that goes last.
            "VAULTSYNC_EMBED_NICE": "0",
        }
        started = begin(command_line(home, *words), **model)
        with hangs.accept()[0]:
            time.sleep(0.5)
            assert end(started) < LONGEST
    with home.open() as memory:
        memory.stop_embedding()


def test_the_process_that_embeds_ends(home: Home) -> None:
    notes(home, 3)
    home.sync()
    with nobody() as (hangs, port):
        places = [str(home.root), str(home.state), "sqlite", "60", "keep"]
        url = f"http:http://127.0.0.1:{port}#slow"
        started = begin([sys.executable, "-m", WORKER, *places], VAULTSYNC_EMBEDDER=url)
        with hangs.accept()[0]:
            assert end(started) < LONGEST


def test_what_waits_for_the_engine_ends(home: Home) -> None:
    holder = start("hold", home)
    wait_for(holder)
    started = begin(command_line(home, "watch", "--wait", "--no-bridge"))
    time.sleep(2)
    assert end(started) < LONGEST
    holder.communicate("stop\n", timeout=60)


def test_seconds_in_which_a_program_waits_are_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    started = begin([sys.executable, "-c", "print('waits', flush=True); input()"])
    assert started.stdout
    assert started.stdout.readline() == b"waits\n"
    looks = iter([None] * 25 + [0])  # each follows a pause of 0.02 s
    monkeypatch.setattr(started, "poll", lambda: next(looks))
    assert own_seconds(started) > 0.45


def facts(home: Home) -> int:
    with home.open() as memory:
        return memory._ctx.store.state().facts
