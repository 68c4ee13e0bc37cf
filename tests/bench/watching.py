"""How soon the daemon has what was written, and which watcher serves it best."""

from __future__ import annotations

import ctypes
import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from tests.bench import corpus
from tests.bench.measure import p95
from tests.bench.table import Row, Worth
from tests.bench.worlds import World, new_folder, notes_in, settle_disk
from vaultsync.api.memory import Memory
from vaultsync.settings import WatchSettings

ROOT = Path(__file__).parents[2]
MARGIN = 0.150
"""Seconds that the daemon may take beside what it has to wait for."""
PATIENCE = 60.0
REST_AFTER = 15.0
"""Seconds until a daemon has nothing left to do."""
HEARD, COMMIT = "bare inotify and SQLite commit, p95", "bare SQLite commit, p95"
_CLOSED_AFTER_WRITING = 0x8
"""`IN_CLOSE_WRITE` of inotify."""


@contextmanager
def _watched(world: World) -> Iterator[subprocess.Popen[str]]:
    """A daemon in a process of its own, which has come to rest."""
    words = ["watch", "--vault", str(world.vault), "--state-dir", str(world.state)]
    started = subprocess.Popen(
        [sys.executable, "-m", "vaultsync", *words, "--no-bridge"],
        cwd=ROOT,
        env={**os.environ, "VAULTSYNC_EMBEDDER": "none"},
        stderr=subprocess.PIPE,
        text=True,
    )
    listens = threading.Event()

    def read() -> None:
        for line in started.stderr or ():
            if json.loads(line)["event"] == "watcher":
                listens.set()

    threading.Thread(target=read, daemon=True).start()
    try:
        if not listens.wait(PATIENCE):
            raise SystemExit("bench: the daemon does not listen")
        time.sleep(3)  # it looks at everything, and at what is derived
        yield started
    finally:
        started.terminate()
        started.wait(PATIENCE)


def _mirrored(folder: Path, count: int) -> World:
    world = World(new_folder(folder))
    # With the indexes, which the daemon would otherwise build while it is measured.
    with world.open(derived=True) as memory:
        memory.import_(corpus.fact_lines(count))
        memory.sync()
    settle_disk()
    return world


def latencies(folder: Path, notes: int, *, times: int) -> list[Row]:
    """A saved note is in the store, a stored fact in the vault: the slowest of twenty.

    Of a saved note, without the time that it has to settle.
    """
    world = _mirrored(folder, notes)
    settle = WatchSettings().settle_seconds
    saves, heard = [], []
    with _watched(world), world.open() as memory, _bare_listener(new_folder(folder)) as save:
        for number in range(times):
            saves.append(_saved(world, memory, number) - settle)
            heard.append(save(number))
        stores = [_stored(world, memory, number) for number in range(times)]
    commits = p95(_bare_commits(new_folder(folder), times))
    among = f"among {notes:,} notes, p95"
    saved = f"saved note in the store, {among} (without {settle * 1000:.0f} ms to settle)"
    stored = f"stored fact in the vault, {among}"
    return [
        Row(saved, times, p95(saves), HEARD, p95(heard), None, limit=MARGIN),
        Row(stored, times, p95(stores), COMMIT, commits, None, limit=MARGIN),
    ]


def at_rest(folder: Path, notes: int, *, seconds: float) -> Worth:
    """What a daemon takes of a processor while nothing happens."""
    world = _mirrored(folder, notes)
    with _watched(world) as daemon:
        time.sleep(REST_AFTER)
        began, before = time.perf_counter(), _cpu_of(daemon.pid)
        time.sleep(seconds)
        took = (_cpu_of(daemon.pid) - before) / (time.perf_counter() - began)
    return Worth("daemon at rest, % of a core", notes, took * 100, f"{seconds:.0f} s", most=0.2)


def _cpu_of(pid: int) -> float:
    """Seconds that a process has taken, with those of its threads."""
    words = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def _bare_listener(folder: Path) -> Iterator[Callable[[int], float]]:
    """Saves a file, and tells how long a listener took to hear of it and to commit a row."""
    inotify = ctypes.CDLL(None)
    queue = inotify.inotify_init1(0)
    notes = folder / "notes"
    notes.mkdir()
    inotify.inotify_add_watch(queue, os.fsencode(notes), _CLOSED_AFTER_WRITING)
    done: SimpleQueue[float] = SimpleQueue()

    def listen() -> None:
        with closing(sqlite3.connect(folder / "bare.sqlite3")) as db:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            db.execute("CREATE TABLE facts (body TEXT)")
            while b"end" not in os.read(queue, 4096):
                db.execute("INSERT INTO facts (body) VALUES (?)", (corpus.prose(1),))
                db.commit()
                done.put(time.perf_counter())

    def save(number: int) -> float:
        began = time.perf_counter()
        (notes / f"{number}.md").write_bytes(b"text")
        return done.get(timeout=PATIENCE) - began

    thread = threading.Thread(target=listen)
    thread.start()
    try:
        yield save
    finally:
        (notes / "end").write_bytes(b"")
        thread.join(PATIENCE)
        os.close(queue)


def _saved(world: World, memory: Memory, number: int) -> float:
    """Seconds from the end of a save to the fact that says the same."""
    path = notes_in(world.vault)[number]
    text = path.read_text()
    said = f"Saved the {number}th time."
    before = _seq(memory)
    path.write_text(text.replace("\n\n", f"\n\n{said}\n\n", 1))
    return _seconds(lambda: _seq(memory) != before)


def _seq(memory: Memory) -> int:
    return memory._ctx.store.state().seq


def _stored(world: World, memory: Memory, number: int) -> float:
    """Seconds from the commit of a new fact to its note."""
    time.sleep(0.05 + number % 7 / 100)  # at no fixed moment of the daemon's rounds
    home = world.vault / "public" / "decisions"
    before = len(list(home.iterdir())) if home.is_dir() else 0
    text, title = corpus.prose(number), f"Stored {number}"
    memory.remember(text, title=title, type="decision", scope="public")
    return _seconds(lambda: home.is_dir() and len(list(home.iterdir())) > before)


def _seconds(holds: Callable[[], bool], *, pause: float = 0.001) -> float:
    began = time.perf_counter()
    while not holds():
        if time.perf_counter() - began > PATIENCE:
            raise SystemExit("bench: the daemon did nothing")
        time.sleep(pause)
    return time.perf_counter() - began


def _bare_commits(folder: Path, times: int) -> list[float]:
    took = []
    with closing(sqlite3.connect(folder / "bare.sqlite3")) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("CREATE TABLE facts (id INTEGER PRIMARY KEY, body TEXT)")
        for number in range(times):
            began = time.perf_counter()
            db.execute("INSERT INTO facts (body) VALUES (?)", (corpus.prose(number),))
            db.commit()
            took.append(time.perf_counter() - began)
    return took


def burst(folder: Path, *, count: int, target: float) -> Row:
    """Many facts at once, beside the pass that brings them out without a daemon."""
    lines = list(corpus.fact_lines(count))
    plain = World(new_folder(folder))
    with plain.open() as memory:
        memory.import_(lines)
        settle_disk()
        began = time.perf_counter()
        memory.sync()
        floor = time.perf_counter() - began
    world = World(new_folder(folder))
    with world.open() as memory:
        memory.remember("So that there is something.", title="Something")
    with _watched(world), world.open() as memory:
        before = len(notes_in(world.vault))
        memory.import_(lines)
        # To list a thousand notes without a pause would take a processor from the daemon.
        ours = _seconds(lambda: len(notes_in(world.vault)) == before + count, pause=0.02)
    return Row("burst of facts, all in the vault", count, ours, "plain pass", floor, target)


def watchers(folder: Path, *, count: int) -> Row:
    """Which watcher hears more of a burst, and what that costs: why one is the default."""
    told = {kind: _heard(kind, new_folder(folder), count) for kind in ("inotify", "watchdog")}
    ours, other = told["inotify"], told["watchdog"]
    if ours["notes"] < count and not ours["lost"]:
        raise SystemExit("bench: inotify lost events and said nothing")
    words = f"inotify, cpu of a burst (lost {count - ours['notes']:,})"
    beside = f"watchdog (lost {count - other['notes']:,})"
    return Row(words, count, ours["cpu"], beside, other["cpu"], 1.0, ours["cpu"])


def _heard(kind: str, folder: Path, count: int) -> dict[str, Any]:
    root, state = folder / "vault", folder / "state"
    root.mkdir()
    state.mkdir()
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.watcher_program", kind, str(root), str(state)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    if child.stdout is None or child.stdout.readline() != "ready\n":
        raise SystemExit(f"bench: {kind} does not listen")
    code = (
        "import sys, pathlib; root, name, n = sys.argv[1:];"
        "[pathlib.Path(root, f'{name}-{x}.md').write_bytes(b'text') for x in range(int(n))]"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(root), str(n), str(count // 4)])
        for n in range(4)
    ]
    for each in writers:
        each.wait()
    said: dict[str, Any] = json.loads(child.communicate("0\n")[0])
    return said
