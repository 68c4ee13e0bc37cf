"""Threads for waiting on the disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def run_in_thread(work: Callable[[], None]) -> Iterator[Callable[[], bool]]:
    """Run `work` concurrently; implements `sync.context.Background`.

    Raises: the errors of `work`, at the end of `with`.
    """
    # It loads `logging` and `queue`, and questions need no thread.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1, "vaultsync-sync") as thread:
        running = thread.submit(work)
        yield running.done
        running.result()
