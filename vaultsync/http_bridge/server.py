"""The bridge as a server on loopback, in a thread of its own."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from vaultsync.app.serving import Serving, guarded
from vaultsync.errors import ConfigError
from vaultsync.http_bridge.application import make_app

PORT = 27125
"""Where a bridge listens when nobody names a port and no other one has it."""
HOST = "127.0.0.1"
_MANY = 100
"""Requests and streams at a time."""
_PATIENCE = 1
"""Seconds that what is under way has when the bridge stops."""


class Bridge:
    """A bridge that listens from when it is made until it is stopped."""

    def __init__(self, serving: Serving, *, port: int | None = None) -> None:
        """Listen.

        Raises:
            ConfigError: another program has the port.
        """
        self._serving = serving
        self._socket = _listening(port)
        self.port: int = self._socket.getsockname()[1]
        app = guarded(make_app(serving), serving.settings, self.port)
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                lifespan="off",
                ws="none",
                access_log=False,
                log_config=None,
                server_header=False,
                limit_concurrency=_MANY,
                timeout_graceful_shutdown=_PATIENCE,
            )
        )
        self._thread = threading.Thread(target=self._run, name="bridge", daemon=True)
        self._thread.start()
        serving.announce(self.port)

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://{HOST}:{self.port}"

    @property
    def is_alive(self) -> bool:
        """Whether it still serves."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Let go of all who listen, end, and take the announcement back."""
        self._serving.withdraw()
        self._serving.events.close()
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def _run(self) -> None:
        self._server.run(sockets=[self._socket])


def _listening(port: int | None) -> socket.socket:
    """A socket at the port; without one at the usual, or any that is free."""
    for wanted in (PORT, 0) if port is None else (port,):
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind((HOST, wanted))
        except OSError as error:
            made.close()
            trouble = error
            continue
        made.listen(128)
        return made
    raise ConfigError(
        f"the bridge cannot listen at port {port}: {trouble.strerror}",
        hint="name another port with --port, or none, and one that is free is taken",
    )


@contextmanager
def running(serving: Serving, *, port: int | None = None) -> Iterator[Bridge]:
    """A bridge, while it is needed.

    Raises:
        ConfigError: another program has the port.
    """
    bridge = Bridge(serving, port=port)
    try:
        yield bridge
    finally:
        bridge.stop()
