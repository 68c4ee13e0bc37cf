"""The waits for the disk and for the clock, and the work that needs none meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from vaultsync.storage.clock import Clock

MANY = 100
"""From so many actions on, a wait is long enough for a thread."""


def wait(sync: Callable[[], None], work: Iterator[object], *, many: bool) -> None:
    """Wait for the disk, and get on with some work until it answers.

    Where there is little to wait for, the work is done first, all of it: no thread, and
    always the same order of events.

    Args:
        sync: returns when everything is on the disk.
        work: steps that write nothing; what is left of them can be done later.
        many: whether there is much to wait for.

    Raises: what either does; the wait is over then, too.
    """
    if not many:
        for _ in work:
            pass
        sync()
        return
    with ThreadPoolExecutor(1, "vaultsync-sync") as thread:
        synced = thread.submit(sync)
        for _ in work:
            if synced.done():
                break
        synced.result()


def rest(clock: Clock, seconds: float, work: Iterator[object]) -> None:
    """Get on with some work for so long, and sleep for what is left of the time.

    Args:
        clock: which tells the time.
        seconds: how long to wait; not at all when they are none or fewer.
        work: as of `wait()`.

    Raises: what the work does.
    """
    until = clock.monotonic() + seconds
    if seconds > 0:
        for _ in work:
            if clock.monotonic() >= until:
                break
    clock.sleep(until - clock.monotonic())
