"""What is served from the command line, loaded when it is."""

from __future__ import annotations

from vaultsync.app.agents import AgentMemory, settings_for
from vaultsync.cli.options import Options
from vaultsync.errors import MissingExtraError

__all__ = ["over_stdio"]


def over_stdio(options: Options, *, agent: str | None, scope: str | None) -> None:
    """Serve MCP on stdin and stdout.

    Raises:
        MissingExtraError: the SDK of the protocol is not installed.
        UsageError: as `settings_for()`.
    """
    settings = settings_for(
        options.vault, agent=agent, state_dir=options.state_dir, scope=scope
    )
    try:
        from vaultsync.mcp_server import over_stdio
        from vaultsync.mcp_server.worker import Worker
    except ModuleNotFoundError as missing:
        raise MissingExtraError("the MCP server", missing.name or "", "mcp") from None
    over_stdio.serve(Worker(lambda: AgentMemory(settings, scope=scope)))
