"""Stop long-running commands on SIGTERM and Ctrl-C: cleanly, and soon in any case."""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

STOP_SECONDS = 3.5
"""Seconds for a stop in good order. Then the process ends as by a kill, which loses nothing:
the next run finishes what was begun."""
SIGNALS = (signal.SIGTERM, signal.SIGINT)
_LEFT = b"\0"
"""Written to the pipe when the block is left; a signal is written as its number."""


@contextmanager
def late_end() -> Iterator[int]:
    """End the process `STOP_SECONDS` after the number of a signal is written to a pipe.

    Wherever it is then: it may wait for a store that is away, or embed. Yields the end of
    the pipe that is written to.
    """
    hears, tells = os.pipe()
    os.set_blocking(tells, False)
    watching = threading.Thread(target=_end_late, args=(hears,), name="stop", daemon=True)
    watching.start()
    try:
        yield tells
    finally:
        os.write(tells, _LEFT)
        watching.join()
        os.close(hears)
        os.close(tells)


@contextmanager
def until_signal(stop: Callable[[], object]) -> Iterator[threading.Event]:
    """Have the first SIGTERM or SIGINT call `stop`, and a second one end the process at once.

    The process ends some seconds after the first one in any case, as by `late_end()`. Only
    the main thread may use this. Yields what is set when a signal came.
    """
    came = threading.Event()
    before = {each: signal.getsignal(each) for each in SIGNALS}

    def stop_once(number: int, _: FrameType | None) -> None:
        signal.signal(number, before[signal.Signals(number)])
        came.set()
        stop()

    with late_end() as tells:
        # Handlers wait until the main thread runs Python again; this needs no thread.
        other = signal.set_wakeup_fd(tells, warn_on_full_buffer=False)
        try:
            for each in SIGNALS:
                signal.signal(each, stop_once)
            yield came
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)
            signal.set_wakeup_fd(other)


def _end_late(hears: int) -> None:
    message = _LEFT
    while message[0] not in SIGNALS:  # Python writes every signal with a handler
        message = os.read(hears, 1)
        if message == _LEFT:
            return
    while message != _LEFT:
        if not select.select([hears], [], [], STOP_SECONDS)[0]:
            os._exit(os.EX_OK)
        message = os.read(hears, 1)
