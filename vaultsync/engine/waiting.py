"""The waits for the disk, and the work that needs none meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

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
