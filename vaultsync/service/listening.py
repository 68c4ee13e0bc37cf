"""What listens on this machine: an application behind the guard of loopback.

Nothing listens in any other way, so nothing answers before the guard has looked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from vaultsync.backends.http.loopback_guard import (
    MAX_BODY_BYTES,
    REQUIRED_HEADER,
    Asgi,
    LoopbackGuard,
)
from vaultsync.backends.http.loopback_server import LoopbackServer
from vaultsync.backends.state.token_file import TokenFile
from vaultsync.backends.system.system_clock import SystemClock
from vaultsync.settings import Settings


def serve_on_loopback(
    app: Asgi,
    settings: Settings,
    ports: Sequence[int],
    *,
    name: str,
    lifespan: Literal["on", "off"] = "off",
    header: str | None = REQUIRED_HEADER,
) -> LoopbackServer:
    """Serve an ASGI application to those who have the token of a vault.

    Args:
        app: the application.
        settings: of the vault.
        ports: to be tried in order; 0 is any that is free.
        name: of the thread that serves.
        lifespan: whether the application is told of start and end.
        header: of every request that may change something; None asks for none.

    Raises:
        OSError: none of the ports can be had.
        ConfigError: the token cannot be used.
    """
    token = TokenFile(settings.state_dir).token
    monotonic = SystemClock().monotonic

    def behind_guard(port: int) -> Asgi:
        return LoopbackGuard(app, token, port, MAX_BODY_BYTES, monotonic=monotonic, header=header)

    return LoopbackServer(behind_guard, ports, name=name, lifespan=lifespan)
