from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vaultsync.backends.watchers import watchfiles as watch_watchfiles
from vaultsync.backends.watchers.watchfiles import WatchfilesWatcher

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
    (thread,) = watcher._threads
    thread.join()
    assert bool(watcher.drain().lost) is is_lost
