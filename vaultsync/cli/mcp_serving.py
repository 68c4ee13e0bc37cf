"""What `mcp` serves, loaded when it does: the SDK of the protocol is dear to load."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from vaultsync.cli.options import Options
from vaultsync.errors import MissingExtraError
from vaultsync.mcp_server.agent_settings import settings_for

if TYPE_CHECKING:
    from vaultsync.mcp_server.agent_memory import AgentMemory
    from vaultsync.mcp_server.http import McpHttpServer
    from vaultsync.settings import Settings

__all__ = ["agent_settings", "serve_http", "serve_stdio"]


def agent_settings(
    options: Options, *, agent: str | None, scope: str | None, user: str | None
) -> Settings:
    """The settings of the vault for the agent that is served.

    Raises:
        UsageError: as `settings_for()`.
    """
    return settings_for(
        options.vault, agent=agent, state_dir=options.state_dir, scope=scope, user=user
    )


def serve_stdio(settings: Settings, *, scope: str | None) -> None:
    """Serve MCP on stdin and stdout.

    Raises:
        MissingExtraError: the SDK of the protocol is not installed.
    """
    try:
        from vaultsync.mcp_server.stdio import serve
        from vaultsync.mcp_server.worker import AgentWorker
    except ModuleNotFoundError as missing:
        raise _not_installed(missing) from None
    serve(AgentWorker(partial(_open, settings, scope)))


@contextmanager
def serve_http(
    settings: Settings, *, scope: str | None, port: int | None
) -> Iterator[McpHttpServer]:
    """MCP over HTTP on loopback, while it is needed.

    Raises:
        MissingExtraError: the SDK of the protocol, or the server, is not installed.
        ConfigError: the port is taken.
    """
    try:
        from vaultsync.mcp_server.http import MCP_PORT, running_mcp
        from vaultsync.mcp_server.worker import AgentWorker
    except ModuleNotFoundError as missing:
        raise _not_installed(missing) from None
    worker = AgentWorker(partial(_open, settings, scope))
    with running_mcp(worker, settings, port=MCP_PORT if port is None else port) as listening:
        yield listening


def _open(settings: Settings, scope: str | None) -> AgentMemory:
    """The memory; loaded when it is first needed, for a client waits for a greeting."""
    from vaultsync.mcp_server.agent_memory import AgentMemory

    return AgentMemory(settings, scope=scope)


def _not_installed(missing: ModuleNotFoundError) -> MissingExtraError:
    return MissingExtraError("the MCP server", missing.name or "a package", "mcp")
