"""The daemon as people run it: real files, real signals, real processes."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.real.home import Home, say
from tests.real.programs import ROOT, start, told_by, wait_for
from tests.real.test_storm import Numbers, storm
from tests.real.watched_home import RESCAN, Daemon, equal, make_home, own_seconds, wait_until
from vaultsync.backends.state.engine_lock import EngineLock

pytestmark = pytest.mark.long(5)

BUSY = 5
SOON = 5.0
"""Seconds of its own within which a daemon ends."""
SLOW_MACHINE = 40.0
"""Seconds that a loaded machine may take longer."""
AWAKE = 12.0
"""Times a second that the five threads of an idle daemon wake, with all that a probe of the
watcher wakes; one timer of a twentieth of a second is more."""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return make_home(tmp_path / "home")


@pytest.fixture
def daemon(home: Home) -> Daemon:
    found = Daemon(home)
    found.is_ready()
    return found


def facts(home: Home) -> int:
    with home.open() as memory:
        return memory._ctx.store.state().facts


def in_time(home: Home, count: int) -> None:
    """Both sides are equal, with so many facts, within one rescan."""
    took = wait_until(lambda: facts(home) == count and equal(home))
    assert took < RESCAN + SLOW_MACHINE


def test_a_second_daemon_leaves_and_one_that_waits_takes_over(home: Home, daemon: Daemon) -> None:
    assert Daemon(home, name="second").process.wait(60) == BUSY
    third = Daemon(home, "--wait", name="third")
    time.sleep(1)
    assert third.process.poll() is None
    daemon.stop()
    third.is_ready()
    home.save("public/notes/a.md", b"# A\n\nText.\n")
    in_time(home, 1)
    assert third.stop() == 0


def test_a_daemon_starts_beside_agents_that_write_without_a_pause(home: Home) -> None:
    """Each write has the lock for a moment, and each moment is one of a write."""
    locks = [EngineLock(home.state_dir, str(home.root)) for _ in "ab"]
    done = threading.Event()

    def write(lock: EngineLock) -> None:
        while not done.is_set():
            if lock.try_lock():
                time.sleep(0.1)
                lock.unlock()

    agents = [threading.Thread(target=write, args=(lock,)) for lock in locks]
    for each in agents:
        each.start()
    try:
        daemon = Daemon(home)
        daemon.is_ready()
    finally:
        done.set()
        for each in agents:
            each.join()
    assert daemon.stop() == 0


def test_nobody_writes_when_nothing_happens(tmp_path: Path) -> None:
    rescan = 1.5
    home = make_home(tmp_path / "home", rescan=rescan)
    daemon = Daemon(home)
    daemon.is_ready()
    for number in range(50):
        home.save(f"public/notes/n{number}.md", b"# Note\n\nText.\n")
    in_time(home, 50)

    def is_derived() -> bool:
        """Whether the indexes have followed the last run."""
        told = [each["event"] for each in daemon.events()]
        return [each for each in told if each in ("pass", "derived")][-1:] == ["derived"]

    wait_until(is_derived)

    def rests() -> bool:
        picture = home.picture()
        time.sleep(rescan)
        return bool(home.picture() == picture)

    wait_until(rests)
    before, told, cpu = home.picture(), len(daemon.events("pass")), daemon.cpu()
    time.sleep(2 * rescan)
    assert home.picture() == before
    assert len(daemon.events("pass")) == told
    used = (daemon.cpu() - cpu) / (2 * rescan)
    say(f"idle: {used:.1%} of a processor")
    assert used < 0.1
    assert daemon.stop() == 0


def test_an_idle_daemon_with_a_bridge_sleeps(tmp_path: Path) -> None:
    """Nothing in it looks more than once a second at what an event can tell."""
    home = make_home(tmp_path / "home", rescan=60.0)
    home.new_note("public/notes/A.md")
    daemon = Daemon(home, bridge=True)
    daemon.is_ready()
    seconds = 3.0
    wakes = [float("inf")]
    while len(wakes) < 30 and min(wakes) >= AWAKE:  # the machine may be busy, or its start
        before = daemon.wakes()
        time.sleep(seconds)
        wakes.append((daemon.wakes() - before) / seconds)
    say(f"idle: it wakes {min(wakes):.1f} times a second")
    assert min(wakes) < AWAKE
    assert daemon.stop() == 0


def test_an_echo_of_our_own_write_writes_nothing(home: Home, daemon: Daemon) -> None:
    with home.open() as memory:
        made = [home.remember(memory, {"content": f"Fact {n}."}) for n in range(20)]

    def wrote() -> int:
        counts = [each["counts"] for each in daemon.events("pass")]
        return sum(sum(each.values()) - each.get("unchanged", 0) for each in counts)

    wait_until(lambda: wrote() >= len(made))
    time.sleep(2)
    assert wrote() == len(made) == len(home.notes())


def test_a_daemon_that_was_stopped_for_a_while_catches_up(home: Home, daemon: Daemon) -> None:
    daemon.process.send_signal(signal.SIGSTOP)
    for number in range(300):
        home.save(f"public/notes/n{number}.md", f"# N {number}\n".encode())
    daemon.process.send_signal(signal.SIGCONT)
    in_time(home, 300)


def test_a_folder_that_moves_in_is_mirrored_and_followed(home: Home, daemon: Daemon) -> None:
    outside = home.where / "outside" / "sub"
    outside.mkdir(parents=True)
    for number in range(20):
        (outside / f"n{number}.md").write_text(f"# N {number}\n")
    (home.root / "public").mkdir(exist_ok=True)
    (home.where / "outside").rename(home.root / "public" / "inside")
    in_time(home, 20)
    word = home.edit("public/inside/sub/n3.md", lambda old, new: old + new.encode())
    wait_until(lambda: word in home.in_store())


def test_when_the_root_is_replaced_the_new_one_is_mirrored(home: Home, daemon: Daemon) -> None:
    home.save("public/notes/a.md", b"# A\n\nText.\n")
    in_time(home, 1)
    # What a run staged it may remove at any moment.
    shutil.copytree(home.root, home.where / "copy", ignore=shutil.ignore_patterns("staging"))
    home.root.rename(home.where / "old")
    time.sleep(0.5)
    (home.where / "copy").rename(home.root)
    home.save("public/notes/b.md", b"# B\n\nText.\n")
    in_time(home, 2)
    wait_until(lambda: len(daemon.events("watcher")) > 1)
    word = home.edit("public/notes/b.md", lambda old, new: old + new.encode())
    wait_until(lambda: word in home.in_store())


def test_a_daemon_ends_when_a_backup_replaces_its_state(home: Home, daemon: Daemon) -> None:
    home.save("public/notes/a.md", b"# A\n\nText.\n")
    in_time(home, 1)
    state = home.state_dir
    backup = Path(shutil.copytree(state, home.where / "backup"))
    word = home.edit("public/notes/a.md", lambda old, new: old + new.encode())
    wait_until(lambda: word in home.in_store())
    state.rename(home.where / "newer")
    time.sleep(0.5)
    assert daemon.process.poll() is None  # as long as there is nothing in its place
    backup.rename(state)
    assert daemon.process.wait(60) == 1
    assert '"kind": "ArchiveReplacedError"' in daemon.log.read_text()
    assert Daemon(home, "--once-settled", name="again").process.wait(60) == 0
    assert word in home.in_store()
    home.check_equal()


def test_a_daemon_that_waited_ends_when_a_backup_came_meanwhile(home: Home, daemon: Daemon) -> None:
    waits = Daemon(home, "--wait", name="waits")
    archive = home.state_dir / "archive.sqlite3"
    wait_until((home.state_dir / "engine.next").exists)
    Path(shutil.copy(archive, home.where / "backup")).replace(archive)
    for each in (daemon, waits):
        assert each.process.wait(60) == 1
        assert '"kind": "ArchiveReplacedError"' in each.log.read_text()


def test_a_daemon_ends_when_a_newer_version_changes_its_archive(home: Home, daemon: Daemon) -> None:
    with closing(sqlite3.connect(home.state_dir / "archive.sqlite3")) as newer:
        newer.execute("INSERT INTO migrations (name) VALUES ('m999_next')")
        newer.execute("ALTER TABLE runs RENAME TO next")
        newer.commit()
    home.save("public/notes/a.md", b"# A\n\nText.\n")
    assert daemon.process.wait(60) == 1
    assert "a newer version of vaultsync changed the archive" in daemon.log.read_text()


def test_a_killed_daemon_loses_nothing(home: Home, daemon: Daemon) -> None:
    with home.open() as memory:
        for number in range(200):
            home.remember(memory, {"content": f"Fact {number}."})
    wait_until(lambda: len(home.notes()) > 20)
    daemon.stop(signal.SIGKILL)
    again = Daemon(home, "--once-settled", name="again")
    assert again.process.wait(60) == 0
    assert len(home.notes()) == 200
    home.check_equal()
    home.check_quiet()


def test_a_signal_in_the_middle_of_a_pass_ends_it_soon(home: Home, daemon: Daemon) -> None:
    lines = [f'{{"title": "Fact {n}", "content": "Number {n}."}}' for n in range(1000)]
    with home.open() as memory:
        memory.import_(lines)
    wait_until(home.notes)
    daemon.process.send_signal(signal.SIGTERM)
    took = own_seconds(daemon.process)
    say(f"stopped after {took:.2f} s")
    assert took < SOON
    assert daemon.stop() == 0
    home.sync()
    assert len(home.notes()) == 1000
    home.check_equal()


def test_a_signal_at_any_moment_of_waiting_ends_it(home: Home) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.signalled", str(home.root), str(home.state)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr


# ----------------------------------------------------- all of them on one vault at once


def crowd(where: Path, seconds: float, *, agents: int, idle: float) -> Numbers:
    """Two daemons, agents and a storm of editors on one vault; nothing is lost.

    At last, a daemon uses less than a share `idle` of a processor.
    """

    @contextmanager
    def engines(home: Home, numbers: Numbers) -> Iterator[None]:
        with (home.root / ".meta" / "config.toml").open("a") as file:
            file.write("\n[watch]\nrescan_seconds = 5.0\n")
        first = Daemon(home, name="first")
        first.is_ready()
        second = Daemon(home, "--wait", name="second")
        third = Daemon(home, name="third")
        adding = [start("adder", home, 100 + n) for n in range(agents)]
        wait_for(*adding)
        yield
        assert third.process.wait(60) == BUSY
        told: set[str] = set()
        for each in adding:
            told |= set(told_by(each)["told"])
        wait_until(lambda: told <= home.in_store() & home.in_vault())
        assert first.stop() == 0
        second.is_ready()
        wait_until(lambda: equal(home), patience=120)
        numbers["told"] = len(told)
        numbers["wrote"] = _written(first) + _written(second)
        # When all is mirrored nobody writes any more, and soon nothing is computed.
        wait_until(lambda: _still(home, second, numbers) and numbers["idle"] < idle)
        assert second.stop() == 0

    return storm(where, seconds, engines=engines)


def _written(daemon: Daemon) -> int:
    """The number of notes it wrote because of a change by another writer."""
    counts = [each["counts"] for each in daemon.events("pass")]
    return sum(each.get("updated_in_vault", 0) + each.get("merged", 0) for each in counts)


def _still(home: Home, daemon: Daemon, numbers: Numbers) -> bool:
    before, used = home.picture(), daemon.cpu()
    time.sleep(4)
    numbers["idle"] = (daemon.cpu() - used) / 4
    return home.picture() == before


def test_daemons_agents_and_editors_lose_nothing(tmp_path: Path) -> None:
    say(str(crowd(tmp_path / "home", 1.5, agents=2, idle=0.2)))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_daemons_twenty_agents_and_editors_lose_nothing_in_a_minute(tmp_path: Path) -> None:
    numbers = crowd(tmp_path / "home", 60, agents=20, idle=0.05)
    say(str(numbers))
    assert numbers["told"] > 1000


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_burst_of_sixty_thousand_notes_is_mirrored(tmp_path: Path) -> None:
    # What was displaced goes when it has lingered, 500 files in a pass: on a slow machine
    # it would be due just when a further pass must write nothing.
    home = make_home(tmp_path / "home", rescan=60, linger=3600)
    daemon = Daemon(home)
    daemon.is_ready()
    (home.root / "public" / "notes").mkdir(parents=True)
    writers = [start("burst", home, n, 7500) for n in range(8)]
    wait_for(*writers)
    for each in writers:
        told_by(each)
    took = wait_until(lambda: facts(home) == 60_000 and equal(home), patience=600)
    say(f"60,000 notes after {took:.0f} s")
    assert daemon.stop() == 0
    home.sync()  # what is derived may not have followed yet
    home.check_quiet()
