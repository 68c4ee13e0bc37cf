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
"""The environment variable with a different niceness, from 0 to 19."""


def start_detached(arguments: Sequence[str], variables: Mapping[str, str]) -> int | None:
    """Start `python` with arguments and additional variables; returns its id, None if that failed.

    It shares neither terminal nor pipes with this process, so a program that waits for the end
    of our output does not wait for it.
    """
    if not sys.executable:  # Python is embedded in another program
        return None
    import subprocess  # most commands start none

    try:
        process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-P", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **variables},
            cwd=sys.prefix,  # the current folder may be removed
            start_new_session=True,
        )
    except OSError as error:
        _log.debug("no process was started: %s", error)
        return None
    import threading

    # Collect its exit code, because otherwise a long-lived parent would keep a zombie.
    threading.Thread(target=process.wait, daemon=True).start()
    return process.pid


def lower_priority() -> None:
    """Set the lowest priority for this process."""
    given = os.environ.get(_NICE, "")
    nice = min(int(given), _LOWEST) if given.isdecimal() else _LOWEST
    with suppress(OSError):
        os.nice(nice)
    # A session is a scheduling group, and niceness has no effect between sessions. Lower the
    # priority of the whole group only if this process leads it, because otherwise the shell
    # and everything in its terminal would be affected.
    with suppress(OSError):
        if os.getsid(0) == os.getpid():
            Path("/proc/self/autogroup").write_text(f"{nice}", encoding="ascii")
