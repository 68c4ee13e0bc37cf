from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vaultsync.backends.watchers import watchfiles as watch_watchfiles
from vaultsync.backends.watchers.inotify import InotifyWatcher
from vaultsync.backends.watchers.watchfiles import InotifyTripwire, WatchfilesWatcher

QUEUE = 16
PAUSE = range(0)


@pytest.mark.parametrize(
    ("batches", "is_lost"),
    [
        ([range(4)], True),
        ([range(3)], False),
        ([range(2), range(2, 4)], True),  # a slow machine reads a full queue in parts
        ([range(2), *[PAUSE] * 2, range(2, 4)], False),
        ([range(2), *PAUSE, range(2, 4)], True),
    ],
)
def test_what_only_a_full_queue_makes_is_a_loss(
    batches: list[range], is_lost: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def watch(root: str, *_: object, **how: Any) -> Iterator[set[tuple[int, str]]]:  # noqa: ANN401 - as it is called
        for some in batches:
            yield {(1, f"{root}/n{number}.md") for number in some}
        how["stop_event"].set()

    monkeypatch.setattr(watch_watchfiles, "watch", watch)
    monkeypatch.setattr(watch_watchfiles, "system_limit", lambda _: QUEUE)
    (tmp_path / "vault").mkdir()
    (tmp_path / "state").mkdir()
    watcher = WatchfilesWatcher(tmp_path / "vault", tmp_path / "state", wake=lambda: None)
    watcher.start()
    assert watcher._thread
    watcher._thread.join()
    assert bool(watcher.drain().lost) is is_lost


@pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")
def test_an_event_that_another_thread_has_read_by_then_is_still_told(tmp_path: Path) -> None:
    """The thread of watchfiles empties the queue, on a busy machine before anybody looks."""
    watcher = InotifyWatcher(tmp_path, tmp_path)
    watcher.start()
    found: list[bool] = []

    def wait(tripwire: InotifyTripwire) -> None:
        tripwire.arm()
        assert tripwire.wait(1)  # what came before
        (tmp_path / "note.md").write_text("text")
        assert watcher.drain().notes == {"note.md"}
        found.append(tripwire.wait(0))
        found.append(tripwire.wait(0))
        tripwire.trip()
        found.append(tripwire.wait(0))

    tripwire = InotifyTripwire(watcher._fd)
    thread = threading.Thread(target=wait, args=(tripwire,))
    thread.start()
    thread.join()
    tripwire.close()
    watcher.stop()
    assert found == [True, False, True]


def test_no_event_waits_for_the_end_of_a_sleep(tmp_path: Path) -> None:
    heard = threading.Event()
    for each in ("vault", "state"):
        (tmp_path / each).mkdir()
    watcher = WatchfilesWatcher(tmp_path / "vault", tmp_path / "state", wake=heard.set)
    watcher.start()
    try:
        for number in range(5):
            time.sleep(0.15)  # it sleeps again
            heard.clear()
            (tmp_path / "vault" / f"{number}.md").write_text("text")
            assert heard.wait(0.75)
            assert f"{number}.md" in watcher.drain().notes
    finally:
        watcher.stop()


def test_where_events_are_not_signalled_watchfiles_looks_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(22, "no such call")

    monkeypatch.setattr(watch_watchfiles, "_signal_this_thread", fail)
    heard = threading.Event()
    for each in ("vault", "state"):
        (tmp_path / each).mkdir()
    watcher = WatchfilesWatcher(tmp_path / "vault", tmp_path / "state", wake=heard.set)
    watcher.start()
    try:
        assert watcher._tripwire is None
        (tmp_path / "vault" / "note.md").write_text("text")
        assert heard.wait(5)
    finally:
        watcher.stop()
