"""MCP over streamable HTTP on loopback, behind the guard and the token of the bridge."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from vaultsync.app.serving import guarded
from vaultsync.config import Settings
from vaultsync.errors import ConfigError
from vaultsync.mcp_server.server import make_server
from vaultsync.mcp_server.worker import Worker

HOST = "127.0.0.1"
PORT = 27126
"""Where it listens when nobody names a port: beside the bridge."""
PATH = "/mcp"
_MANY = 100
"""Requests and streams at a time."""
_SESSIONS = 50
_PATIENCE = 1
"""Seconds that what is under way has when it stops."""


class Listening:
    """The server of one agent's memory, from when it is made until it is stopped."""

    def __init__(self, worker: Worker, settings: Settings, *, port: int) -> None:
        """Listen; port 0 takes any that is free.

        Raises:
            ConfigError: another program has the port, or the token cannot be used.
        """
        self._worker = worker
        self._socket = _socket(port)
        self.port: int = self._socket.getsockname()[1]
        self._server = uvicorn.Server(
            uvicorn.Config(
                # No header of our own: clients of the protocol send their own ones.
                guarded(make_app(worker), settings, self.port, header=None),
                lifespan="on",
                ws="none",
                access_log=False,
                log_config=None,
                server_header=False,
                limit_concurrency=_MANY,
                timeout_graceful_shutdown=_PATIENCE,
            )
        )
        self._thread = threading.Thread(target=self._run, name="mcp", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """Where clients find it."""
        return f"http://{HOST}:{self.port}{PATH}"

    @property
    def is_alive(self) -> bool:
        """Whether it still serves."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Let go of all clients, end, and finish the bookkeeping."""
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()
        self._worker.close()

    def _run(self) -> None:
        self._server.run(sockets=[self._socket])


def make_app(worker: Worker) -> ASGIApp:
    """The application, without its guard."""
    # It tells of clients that left as of errors.
    logging.getLogger("mcp.server.streamable_http").setLevel(logging.CRITICAL)
    sessions = StreamableHTTPSessionManager(
        make_server(worker), json_response=True, max_sessions=_SESSIONS
    )

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with sessions.run():
            yield

    return Starlette(routes=[Route(PATH, _Endpoint(sessions))], lifespan=lifespan)


class _Endpoint:
    """One address for all methods of the protocol."""

    def __init__(self, sessions: StreamableHTTPSessionManager) -> None:
        self._sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._sessions.handle_request(scope, receive, send)


def _socket(port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((HOST, port))
    except OSError as error:
        made.close()
        raise ConfigError(
            f"the MCP server cannot listen at port {port}: {error.strerror}",
            hint="name another port with --port; 0 takes any that is free",
        ) from None
    made.listen(128)
    return made


@contextmanager
def running(worker: Worker, settings: Settings, *, port: int) -> Iterator[Listening]:
    """The server, while it is needed.

    Raises:
        ConfigError: another program has the port, or the token cannot be used.
    """
    listening = Listening(worker, settings, port=port)
    try:
        yield listening
    finally:
        listening.stop()
