"""Ports that stay free while a server is away."""

from __future__ import annotations

import random
import socket
from contextlib import suppress

_CHANCE = random.SystemRandom()  # Hypothesis gives all processes the same numbers
ASKED_FOR = range(20_000, 32_000)
"""Below the ports that Linux and macOS give to whoever asks for any, as other tests do."""


def free_port() -> int:
    """A port of 127.0.0.1 at which nobody listens."""
    while True:
        port = _CHANCE.choice(ASKED_FOR)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
