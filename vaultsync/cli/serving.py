"""Waits while a server runs in another thread."""

from __future__ import annotations

import signal
from collections.abc import Callable

from vaultsync.service.daemon_runner import WakeEvent

_CHECK_SECONDS = 1.0
"""How often a server is checked that may have ended by itself."""


def wait_for_signal(is_alive: Callable[[], bool]) -> None:
    """Return at SIGTERM or SIGINT, or when the server has ended.

    Args:
        is_alive: whether it still serves.
    """
    stopped = WakeEvent()
    signals = (signal.SIGTERM, signal.SIGINT)
    before = {each: signal.signal(each, lambda *_: stopped.set()) for each in signals}
    try:
        while is_alive() and not stopped.wait(_CHECK_SECONDS):
            pass
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
