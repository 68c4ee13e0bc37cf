"""Processes that outlive the process that starts them, at the lowest priority."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

_log = logging.getLogger(__name__)
_LOWEST = 19
_NICE = "VAULTSYNC_EMBED_NICE"
"""The variable with another niceness, from 0 to 19."""


def start_detached(arguments: Sequence[str], variables: Mapping[str, str]) -> int | None:
    """Start `python` with arguments, and with more variables; its id, None if that failed.

    It shares neither terminal nor pipes with this process: who waits for the end of our
    output does not wait for it.
    """
    if not sys.executable:  # Python is part of another program
        return None
    import subprocess  # most commands start none

    try:
        process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-P", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **variables},
            cwd=sys.prefix,  # the present folder may be removed
            start_new_session=True,
        )
    except OSError as error:
        _log.debug("no process was started: %s", error)
        return None
    import threading

    # Its exit code is taken when it ends, or a long-lived parent would keep a dead process.
    threading.Thread(target=process.wait, daemon=True).start()
    return process.pid


def lower_priority() -> None:
    """Set the lowest priority for this process."""
    given = os.environ.get(_NICE, "")
    nice = min(int(given), _LOWEST) if given.isdecimal() else _LOWEST
    with suppress(OSError, AttributeError):
        os.nice(nice)
    # A session is a scheduling group, in which being nice is no help against other sessions.
    # The group gives way as a whole, which is right only where this process leads it: else
    # the shell and all that runs in its terminal would.
    with suppress(OSError, AttributeError):
        if os.getsid(0) == os.getpid():
            Path("/proc/self/autogroup").write_text(f"{nice}", encoding="ascii")
