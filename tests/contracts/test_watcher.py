"""What every watcher must do, whatever tells it."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.watchers import ASKED, KINDS, LINUX, TOLD, make, open_queues
from vaultsync.backends.watchers.collector import (
    MAX_PATHS,
    PROBE_FILE,
    EventCollector,
    signal_store_change,
)
from vaultsync.daemon.ports import Watcher, WatchEvents
from vaultsync.model.paths import VaultPath

pytestmark = pytest.mark.long(5)

PATIENCE = 60.0
"""Seconds; a machine under load is slow, and nothing is waited for that has come."""


class Place:
    """A vault, a state folder, and a watcher of both."""

    def __init__(self, kind: str, where: Path) -> None:
        self.where = where
        self.root = where / "vault"
        self.state = where / "state"
        self.root.mkdir()
        self.state.mkdir()
        self.woken = threading.Event()
        self.kind = kind
        self.watcher: Watcher = make(kind, self.root, self.state, self.woken.set)
        self._markers = count()

    def hears(self, wanted: Callable[[WatchEvents], bool]) -> WatchEvents:
        """Wait until all that was heard since is what is wanted."""
        all_of_it = WatchEvents()
        end = time.monotonic() + PATIENCE
        while not wanted(all_of_it):
            assert time.monotonic() < end, f"heard only {all_of_it}"
            self.woken.wait(0.05)
            self.woken.clear()
            now = self.watcher.drain()
            all_of_it = WatchEvents(
                all_of_it.notes | now.notes,
                all_of_it.others | now.others,
                now.lost or all_of_it.lost,
                all_of_it.probes + now.probes,
                all_of_it.store or now.store,
            )
        return all_of_it

    def hears_note(self, *paths: str) -> WatchEvents:
        return self.hears(lambda heard: set(paths) <= heard.notes or bool(heard.lost))

    def write(self, path: str, text: str = "text") -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def settle(self) -> None:
        """Let what was done before be over for it: a marker is heard after it.

        A marker is moved in, which is a single event: nothing of it is heard later. A scan tells
        of its changes in any order, and may miss what was done while it ran, so that only the
        marker of a third one comes after everything.
        """
        for _ in range(3 if self.watcher.polls else 1):
            marker = f"marker{next(self._markers)}.md"
            (self.where / marker).write_text("text")
            (self.where / marker).rename(self.root / marker)
            self.hears_note(marker)


@contextlib.contextmanager
def _watched(kind: str, folder: Path, note: str) -> Iterator[Place]:
    """A watcher of a vault with a note, while it runs."""
    place = Place(kind, folder)
    place.write(note)
    place.watcher.start()
    try:
        yield place
    finally:
        place.watcher.stop()


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with _watched(request.param, tmp_path, "known/a.md") as place:
        yield place


def test_new_changed_moved_and_deleted_notes_are_heard(place: Place) -> None:
    place.write("b.md")
    place.hears_note("b.md")
    place.write("b.md", "other text")
    place.hears_note("b.md")
    (place.root / "b.md").rename(place.root / "c.md")
    place.hears_note("b.md", "c.md")
    (place.root / "c.md").unlink()
    place.hears_note("c.md")
    (place.root / "known" / ".a.md.tmp").write_text("other text")
    (place.root / "known" / ".a.md.tmp").replace(place.root / "known" / "a.md")
    place.hears_note("known/a.md")


def test_a_folder_that_moves_in_or_out_is_heard_and_edits_in_it(place: Place) -> None:
    outside = place.where / "outside" / "sub"
    outside.mkdir(parents=True)
    (outside / "n.md").write_text("text")
    (place.where / "outside").rename(place.root / "inside")
    place.hears(lambda heard: "inside/sub/n.md" in heard.notes or "inside" in heard.others)
    place.settle()
    (place.root / "inside" / "sub" / "n.md").write_text("other text")
    place.hears_note("inside/sub/n.md")
    (place.root / "inside").rename(place.where / "outside")
    place.hears(lambda heard: "inside" in heard.others)


def test_notes_of_folders_made_just_before_are_heard_or_the_folder_is(place: Place) -> None:
    for number in range(20):
        place.write(f"new{number}/deep/er/note.md")
    wanted = {f"new{number}" for number in range(20)}

    def all_of_them(heard: WatchEvents) -> bool:
        seen = {path.partition("/")[0] for path in (*heard.notes, *heard.others)}
        return wanted <= seen or bool(heard.lost)

    place.hears(all_of_them)


def test_of_a_burst_every_note_is_heard_or_the_loss_is(place: Place) -> None:
    names = [f"burst/n{number}.md" for number in range(3000)]
    (place.root / "burst").mkdir()
    place.settle()
    for name in names:
        (place.root / name).write_bytes(b"text")
    place.hears_note(*names)


def test_hidden_folders_other_files_and_notes_that_are_only_read_are_no_news(place: Place) -> None:
    place.settle()
    assert not place.watcher.drain()  # what was heard is told once
    for path in (".obsidian/a.md", ".meta/staging/x", "a/.git/b.md", "known/p.png"):
        place.write(path)
    for _ in range(20):
        (place.root / "known" / "a.md").read_text()
    place.write("last.md")
    heard = place.hears_note("last.md")
    assert heard.notes <= {"last.md"}
    assert not any("." in path for path in heard.others)


def test_a_root_that_was_replaced_is_trouble(place: Place) -> None:
    assert place.watcher.failure() == ""
    place.root.rename(place.where / "old")
    assert "cannot be seen" in place.watcher.failure()
    place.root.mkdir()
    assert "not the folder" in place.watcher.failure()


def test_after_the_stop_nothing_of_it_runs_nor_where_no_root_is(place: Place) -> None:
    other = make(place.kind, place.where / "nowhere", place.state)
    with pytest.raises(OSError, match="nowhere"):
        other.start()
    other.stop()
    before = {each for each in threading.enumerate() if each.name == "watcher"}
    place.watcher.stop()
    place.watcher.stop()
    place.write("late.md")
    assert not any(each.is_alive() for each in before)
    assert place.watcher.failure() == ""


def test_a_probe_is_heard_outside_the_vault(place: Place) -> None:
    before = sorted(place.root.rglob("*"))
    place.watcher.probe()
    assert sorted(place.root.rglob("*")) == before
    if not place.watcher.polls:
        place.hears(lambda heard: heard.probes > 0)


def test_an_error_while_hearing_is_a_failure(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: EventCollector, paths: object) -> None:
        message = "a handler that raises"
        raise RuntimeError(message)

    monkeypatch.setattr(EventCollector, "add", fail)
    place.write("b.md")
    end = time.monotonic() + PATIENCE
    while not place.watcher.failure():
        assert time.monotonic() < end
        time.sleep(0.05)
    assert "a handler that raises" in place.watcher.failure()


@pytest.mark.parametrize("kind", TOLD)
@pytest.mark.long(3)
def test_a_full_queue_is_heard_when_the_process_was_stopped(kind: str, tmp_path: Path) -> None:
    """Nobody reads the queue meanwhile: it overflows for certain."""
    (tmp_path / "vault").mkdir()
    (tmp_path / "state").mkdir()
    places = [str(tmp_path / "vault"), str(tmp_path / "state")]
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.watcher_program", kind, *places],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout
    assert child.stdout.readline() == "ready\n"
    child.send_signal(signal.SIGSTOP)
    os.waitpid(child.pid, os.WUNTRACED)
    for number in range(7000):  # three events each, of a queue of 16,384
        (tmp_path / "vault" / f"n{number}.md").write_bytes(b"text")
    child.send_signal(signal.SIGCONT)
    said = json.loads(child.communicate("7000\n")[0])
    assert said["notes"] >= 7000 or said["lost"]


# ----------------------------------------------------------------- the queue of Linux


@pytest.fixture(params=[*LINUX, *ASKED])
def queue(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A watcher of a vault with a folder in a folder, and a note in it."""
    with _watched(request.param, tmp_path, "known/sub/a.md") as place:
        yield place


class Refusing:
    """The C library of a system that does not allow to watch some folders."""

    def __init__(self, libc: ctypes.CDLL, end: bytes, number: int) -> None:
        self.libc, self.end, self.number = libc, end, number
        self.inotify_init1 = libc.inotify_init1

    def inotify_add_watch(self, fd: int, path: bytes, wanted: int) -> int:
        if not path.endswith(self.end):
            return int(self.libc.inotify_add_watch(fd, path, wanted))
        ctypes.set_errno(self.number)
        return -1


@pytest.mark.parametrize("to", ["vault/.trash", "vault/ignored", "outside"])
def test_a_folder_that_left_is_heard_no_more_until_it_is_back(queue: Place, to: str) -> None:
    queue.watcher._ignores = "ignored".__eq__  # type: ignore[attr-defined]
    (queue.root / "known").rename(queue.where / to)
    queue.settle()
    queue.watcher.drain()
    (queue.where / to / "sub" / "a.md").write_text("other text")
    (queue.where / to / "sub" / "new").mkdir()
    queue.write("last.md")
    assert queue.hears_note("last.md") == WatchEvents(notes=frozenset({VaultPath("last.md")}))
    (queue.where / to).rename(queue.root / "back")
    queue.settle()
    (queue.root / "back" / "sub" / "a.md").write_text("text")
    queue.hears_note("back/sub/a.md")


def test_a_folder_that_another_replaces_is_heard_with_what_is_below(queue: Place) -> None:
    """The folder looks as before, since notes are only below."""
    (queue.where / "other" / "below").mkdir(parents=True)
    (queue.where / "other" / "below" / "n.md").write_text("text")
    (queue.root / "known").rename(queue.where / "old")
    (queue.where / "other").rename(queue.root / "known")
    queue.hears(lambda heard: {"known", "known/below"} <= heard.others)
    queue.settle()
    (queue.where / "old" / "sub" / "a.md").write_text("other text")
    queue.write("known/below/n.md", "other text")
    assert queue.hears_note("known/below/n.md").notes <= {"known/below/n.md"}


def test_a_root_that_was_deleted_is_trouble_whatever_has_its_number(queue: Place) -> None:
    number = queue.root.stat().st_ino
    for _ in range(20):  # until it has the inode number of the one that was watched
        shutil.rmtree(queue.root)
        queue.root.mkdir()
        if queue.root.stat().st_ino == number:
            break
    end = time.monotonic() + PATIENCE
    while not queue.watcher.failure():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_folder_that_may_be_read_again_is_watched(queue: Place) -> None:
    watcher: Any = queue.watcher
    libc = watcher._libc
    watcher._libc = Refusing(libc, b"/closed", errno.EACCES)
    queue.write("closed/sub/a.md")
    queue.settle()
    queue.write("closed/sub/a.md", "unheard")
    watcher._libc = libc
    (queue.root / "closed").chmod(0o700)
    queue.hears(lambda heard: {"closed", "closed/sub"} <= heard.others)
    queue.write("closed/sub/a.md", "heard")
    queue.hears_note("closed/sub/a.md")


def _rearrange(where: Path, seed: int) -> None:
    """Let folders of a vault come, go, move and replace each other."""
    chance = random.Random(seed)
    for number in range(120):
        every = [Path(each) for each, _, _ in os.walk(where / "vault")]
        other, name = chance.choice(every), f"{seed}-{number}"
        place = chance.choice(every[1:] or [other / "none"])
        with contextlib.suppress(OSError):  # another program was faster
            match chance.randrange(6):
                case 0 | 1:
                    (other / name / "b" / "c").mkdir(parents=True)
                case 2:
                    place.rename(other / name)
                case 3:
                    place.rename(where / f"out{name}")
                case 4:  # a new folder has the name of the old one
                    (where / f"new{name}" / "b").mkdir(parents=True)
                    place.rename(where / f"out{name}")
                    (where / f"new{name}").rename(place)
                case _:
                    chance.choice([*where.glob("out*"), place]).rename(other / name)


@pytest.mark.parametrize("seed", range(4))
def test_whatever_happened_each_folder_is_heard_by_its_name(queue: Place, seed: int) -> None:
    places = [(queue.where, 2 * seed + each) for each in (0, 1)]
    programs = [threading.Thread(target=_rearrange, args=each) for each in places]
    for each in programs:
        each.start()
    for each in programs:
        each.join()
    queue.settle()
    queue.watcher.drain()
    for folder, _, _ in os.walk(queue.where):
        Path(folder, "last.md").write_text("text")
    wanted = {path.relative_to(queue.root).as_posix() for path in queue.root.rglob("last.md")}
    assert queue.hears_note(*wanted).notes == wanted


@pytest.mark.parametrize("kind", ASKED)
def test_the_limit_of_the_system_is_named(kind: str, tmp_path: Path) -> None:
    place = Place(kind, tmp_path)
    watcher: Any = place.watcher
    watcher._libc = Refusing(watcher._libc, b"/vault", errno.ENOSPC)
    with pytest.raises(OSError, match="max_user_watches is reached"):
        watcher.start()


@pytest.mark.parametrize("kind", LINUX)
def test_a_start_that_fails_leaves_nothing_open(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(kind, tmp_path)

    def fail() -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(os, "pipe", fail)
    before = open_queues()
    with pytest.raises(OSError, match="Too many"):
        place.watcher.start()
    assert open_queues() <= before
    place.watcher.stop()


def test_a_thread_that_ended_is_trouble(queue: Place) -> None:
    watcher: Any = queue.watcher
    if watcher._ends is None:
        return
    os.write(watcher._ends[1], b"\0")
    watcher._threads[0].join()
    assert watcher.failure() == "a thread that watches has ended"


def test_its_queue_is_open_while_it_is_read(queue: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of a closed file may be that of another one by then."""
    watcher: Any = queue.watcher
    reads, goes_on = threading.Event(), threading.Event()

    def add(self: EventCollector, paths: object) -> None:
        reads.set()
        goes_on.wait(PATIENCE)

    monkeypatch.setattr(EventCollector, "add", add)
    queue.write("b.md")
    threads = [threading.Thread(target=each) for each in (watcher.drain, watcher.stop)]
    threads[0].start()
    assert reads.wait(PATIENCE)
    fd = watcher._fd
    threads[1].start()
    time.sleep(0.1)
    assert str(Path(f"/proc/self/fd/{fd}").readlink()) == "anon_inode:inotify"
    goes_on.set()
    for each in threads:
        each.join(PATIENCE)
    assert not watcher.drain()


@pytest.mark.parametrize("kind", ASKED)
def test_a_burst_without_a_pause_does_not_keep_the_reader(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(kind, tmp_path)
    place.watcher.start()
    add = EventCollector.add
    written: list[str] = []

    def add_more(self: EventCollector, paths: list[str]) -> None:
        assert len(written) < 5
        written.append(f"n{len(written)}.md")
        place.write(written[-1])
        add(self, paths)

    monkeypatch.setattr(EventCollector, "add", add_more)
    place.write("first.md")
    assert place.watcher.drain().notes == {"first.md"}
    assert place.watcher.drain().notes == {"n0.md"}
    place.watcher.stop()


# ------------------------------------------------------- what they gather their paths in


@pytest.fixture
def gathered(tmp_path: Path) -> EventCollector:
    (tmp_path / "vault").mkdir()
    (tmp_path / "state").mkdir()
    found = EventCollector(tmp_path / "vault", tmp_path / "state", lambda: None)
    found.begin()
    return found


def test_too_many_paths_are_a_loss_and_the_first_failure_is_told(gathered: EventCollector) -> None:
    gathered.add(f"{gathered.root}/n{number}.md" for number in range(MAX_PATHS + 1))
    heard = gathered.drain()
    assert "50,000" in heard.lost
    assert heard.notes == frozenset()
    assert not gathered.drain()
    gathered.fail("first")
    gathered.fail("second")
    assert gathered.failure() == "first"


LONG = "x" * 5000


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("{where}/else.md", WatchEvents()),
        ("{where}/vault/", WatchEvents()),
        ("relative.md", WatchEvents()),
        # A name that no path can hold is news of its root.
        ("{where}/vault/a\nb.md", WatchEvents(others=frozenset({VaultPath("")}))),
        # A path that is too long to be looked at may be a folder.
        ("{where}/vault/" + LONG, WatchEvents(others=frozenset({VaultPath(LONG)}))),
        ("{where}/state/watch/" + PROBE_FILE, WatchEvents(probes=1)),
    ],
)
def test_a_path_is_news_of_what_it_names(
    gathered: EventCollector, tmp_path: Path, path: str, wanted: WatchEvents
) -> None:
    gathered.add([path.format(where=tmp_path)])
    heard = gathered.drain()
    assert heard == wanted
    assert bool(heard) == bool(wanted.others)


def test_a_process_that_wrote_to_the_store_is_heard(place: Place) -> None:
    signal_store_change(place.state)
    if not place.watcher.polls:  # then the store is polled too
        place.hears(lambda heard: heard.store)
        place.watcher.probe()  # the signal is several events, and another thread may hear them
        place.hears(lambda heard: heard.probes > 0)
    place.settle()
    assert not place.watcher.drain().store


def test_without_a_watcher_nobody_is_told_of_the_store(tmp_path: Path) -> None:
    signal_store_change(tmp_path)
    assert list(tmp_path.iterdir()) == []
