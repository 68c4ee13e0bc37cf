"""MCP over streamable HTTP on loopback, behind the guard and the token of the bridge."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from vaultsync.errors import ConfigError
from vaultsync.mcp_server.server import DEFAULT_TOOLSETS, AgentWorker, make_server
from vaultsync.service.bridge_service import RunningServer, serve_on_loopback
from vaultsync.settings import Settings

MCP_PORT = 27126
"""The default port, next to that of the bridge."""
MCP_PATH = "/mcp"
_MAX_SESSIONS = 1_000
"""Of clients that did not say that they end, too: their sessions last for half an hour. A session
takes about 60 kB."""


@contextmanager
def running_mcp(
    worker: AgentWorker,
    settings: Settings,
    *,
    port: int,
    toolsets: Collection[str] = DEFAULT_TOOLSETS,
) -> Iterator[RunningServer]:
    """Serve the memory of one agent at `MCP_PATH` until the block ends, and close it then.

    Port 0 is any free port.

    Raises:
        ConfigError: another program has the port, or the token cannot be used.
    """
    try:
        server = serve_on_loopback(
            make_mcp_app(worker, toolsets),
            settings,
            (port,),
            name="mcp",
            lifespan="on",
            header=None,  # clients of the protocol send headers of their own
        )
    except OSError as error:
        raise ConfigError(
            f"the MCP server cannot listen on port {port}: {error.strerror}",
            hint="choose another port with --port; 0 uses any free port",
        ) from None
    try:
        yield server
    finally:
        server.stop()
        worker.close()


def make_mcp_app(worker: AgentWorker, toolsets: Collection[str] = DEFAULT_TOOLSETS) -> ASGIApp:
    """The application, without its guard; it lists the tools of `toolsets`."""
    # It logs a client that disconnects as an error.
    logging.getLogger("mcp.server.streamable_http").setLevel(logging.CRITICAL)
    sessions = StreamableHTTPSessionManager(
        make_server(worker, toolsets), json_response=True, max_sessions=_MAX_SESSIONS
    )

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with sessions.run():
            yield

    return Starlette(routes=[Route(MCP_PATH, _Endpoint(sessions))], lifespan=lifespan)


class _Endpoint:
    """One path for all methods of the protocol."""

    def __init__(self, sessions: StreamableHTTPSessionManager) -> None:
        self._sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._sessions.handle_request(scope, receive, send)
