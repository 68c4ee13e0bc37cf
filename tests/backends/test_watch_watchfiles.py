from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from vaultsync.backends.watchers import watchfiles as watch_watchfiles
from vaultsync.backends.watchers.watchfiles import WatchfilesWatcher

QUEUE = 16
PAUSE = "timeout"


class Notify:
    """Tells of batches of a test's choice, like that of watchfiles."""

    batches: Iterator[object]

    def __init__(self, paths: list[str], *_: object) -> None:
        self.root = paths[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def watch(self, *given: Any) -> object:  # noqa: ANN401 - as it is called
        said = next(self.batches, None)
        if isinstance(said, range):
            return {(1, f"{self.root}/n{number}.md") for number in said}
        if said is None:
            given[-1].set()
        return PAUSE


@pytest.mark.parametrize(
    ("batches", "is_lost"),
    [
        ([range(4)], True),
        ([range(3)], False),
        ([range(2), range(2, 4)], True),  # a slow machine reads a full queue in parts
        ([range(2), PAUSE, range(2, 4)], False),
    ],
)
def test_what_only_a_full_queue_makes_is_a_loss(
    batches: list[object],
    is_lost: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watch_watchfiles, "RustNotify", Notify)
    monkeypatch.setattr(watch_watchfiles, "_queue_length", lambda: QUEUE)
    Notify.batches = iter(batches)
    (tmp_path / "vault").mkdir()
    (tmp_path / "state").mkdir()
    watcher = WatchfilesWatcher(
        tmp_path / "vault", tmp_path / "state", wake=lambda: None
    )
    watcher.start()
    assert watcher._thread
    watcher._thread.join()
    assert bool(watcher.drain().lost) is is_lost
