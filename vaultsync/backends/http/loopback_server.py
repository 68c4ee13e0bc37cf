"""An ASGI application that listens on loopback, in a thread of its own."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Sequence
from typing import Literal

from vaultsync.backends.http.loopback_guard import Asgi
from vaultsync.errors import needs_extra

HOST = "127.0.0.1"
_MAX_CONNECTIONS = 100
"""Requests and streams at a time."""
_SHUTDOWN_SECONDS = 1
"""Seconds that running requests have to finish when it stops."""


class LoopbackServer:
    """A server that listens at the first free of some ports until it is stopped.

    `make` makes the application, given the port; port 0 is any free one. `name` is that of
    the thread, and `lifespan` whether the application gets events of start and end.

    Raises:
        MissingExtraError: uvicorn is not installed.
        OSError: none of the ports is free.
    """

    def __init__(
        self,
        make: Callable[[int], Asgi],
        ports: Sequence[int],
        *,
        name: str,
        lifespan: Literal["on", "off"],
    ) -> None:
        with needs_extra("a server"):
            import uvicorn
        self._socket = _bound_socket(ports)
        self.port: int = self._socket.getsockname()[1]
        self._server = uvicorn.Server(
            uvicorn.Config(
                make(self.port),
                lifespan=lifespan,
                ws="none",
                access_log=False,
                log_config=None,
                server_header=False,
                limit_concurrency=_MAX_CONNECTIONS,
                timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
            )
        )
        sockets = {"sockets": [self._socket]}
        self._thread = threading.Thread(
            target=self._server.run, kwargs=sockets, name=name, daemon=True
        )
        self._thread.start()

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://{HOST}:{self.port}"

    @property
    def is_alive(self) -> bool:
        """Whether it still serves."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Let running requests finish soon, and stop."""
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()


def _bound_socket(ports: Sequence[int]) -> socket.socket:
    """A socket at the first free port."""
    failure = OSError("no port was named")
    for port in ports:
        found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((HOST, port))
        except OSError as error:
            found.close()
            failure = error
        else:
            found.listen(128)
            return found
    raise failure
