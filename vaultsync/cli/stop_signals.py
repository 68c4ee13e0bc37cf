"""Stop long-running commands on SIGTERM and Ctrl-C, by force if they do not stop in time."""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

STOP_SECONDS = 3.5
"""Seconds that a clean stop may take. Then the process exits at once, which loses nothing: the
next run finishes what was interrupted."""
SIGNALS = (signal.SIGTERM, signal.SIGINT)
_BLOCK_ENDED = b"\0"
"""Written to the pipe at the end of the block; a signal is written as its number."""


@contextmanager
def forced_exit() -> Iterator[int]:
    """Exit the process `STOP_SECONDS` after a signal number is written to a pipe.

    The process may then be waiting for an unavailable store, or embedding. Yields the file
    descriptor to write the signal number to.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    thread = threading.Thread(target=_exit_after_signal, args=(reader,), name="stop", daemon=True)
    thread.start()
    try:
        yield writer
    finally:
        os.write(writer, _BLOCK_ENDED)
        thread.join()
        os.close(reader)
        os.close(writer)


@contextmanager
def until_signal(stop: Callable[[], object]) -> Iterator[threading.Event]:
    """Call `stop` at the first SIGTERM or SIGINT; a second one ends the process at once.

    If `stop` does not end the block in time, `forced_exit()` does. For the main thread only.
    Yields an event that is set when a signal has arrived.
    """
    received = threading.Event()
    handlers = {each: signal.getsignal(each) for each in SIGNALS}

    def stop_once(number: int, _: FrameType | None) -> None:
        signal.signal(number, handlers[signal.Signals(number)])
        received.set()
        stop()

    with forced_exit() as pipe:
        # A Python handler waits while the main thread is in C code; this descriptor does not.
        previous_fd = signal.set_wakeup_fd(pipe, warn_on_full_buffer=False)
        try:
            for each in SIGNALS:
                signal.signal(each, stop_once)
            yield received
        finally:
            for each, handler in handlers.items():
                signal.signal(each, handler)
            signal.set_wakeup_fd(previous_fd)


def _exit_after_signal(reader: int) -> None:
    message = _BLOCK_ENDED
    while message[0] not in SIGNALS:  # Python writes every signal with a handler
        message = os.read(reader, 1)
        if message == _BLOCK_ENDED:
            return
    while message != _BLOCK_ENDED:
        if not select.select([reader], [], [], STOP_SECONDS)[0]:
            os._exit(os.EX_OK)
        message = os.read(reader, 1)
