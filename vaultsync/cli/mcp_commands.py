"""`mcp`: serve the memory to an agent.

The server is imported when it starts: its SDK is optional and slow to load.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vaultsync.cli.options import (
    agent_named,
    common,
    flag,
    named_option,
    number_option,
    text_option,
)
from vaultsync.cli.output import Options, is_terminal
from vaultsync.cli.stop_signals import forced_exit, until_signal
from vaultsync.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    from vaultsync.mcp_server.agent_memory import AgentMemory


@click.command()
@named_option("--scope", "S", "Default scope of new facts; default: the agent's own scope.")
@named_option("--user", "U", "Recall and store only facts about this user.")
@flag("--http", "Serve on 127.0.0.1, with a token.", "over_http")
@number_option("--port", "Port for --http; default: 27126. 0 picks a free port.", maximum=65535)
@agent_named("Name of the agent; default: $VAULTSYNC_AGENT, else mcp.")
@text_option(
    "--toolsets",
    "NAMES",
    "Tools to offer: auto, all, or a comma-separated list of memory, repo, modules, files and"
    " sessions; default: the setting, else auto, which adds repo in a git repository.",
)
@common
def mcp(
    options: Options,
    *,
    scope: str | None,
    user: str | None,
    over_http: bool,
    port: int | None,
    toolsets: str | None,
) -> None:
    """Serve the memory to an agent over the Model Context Protocol.

    MCP clients start this command; it uses stdin and stdout until they are closed. It serves
    one agent, which sees its own scope and shared scopes.
    """
    if port is not None and not over_http:
        message = "--port needs --http"
        raise click.UsageError(message)
    if sys.stdout is None and not over_http:
        message = "standard output is closed"
        raise UsageError(message, hint="an MCP client starts this command and reads its output")

    from vaultsync.mcp_server.agent_settings import settings_for
    from vaultsync.mcp_server.toolsets import choose_toolsets

    settings = settings_for(
        options.vault, agent=options.agent, state_dir=options.state_dir, scope=scope, user=user
    )

    listed = choose_toolsets(toolsets or settings.mcp_toolsets, Path.cwd())

    def open_agent_memory() -> AgentMemory:
        """Open the memory in the worker thread; the client need not wait for it to connect."""
        from vaultsync.mcp_server.agent_memory import AgentMemory

        return AgentMemory(settings, scope=scope)

    try:
        from vaultsync.mcp_server.server import AgentWorker

        if not over_http:
            from vaultsync.mcp_server.stdio import serve
        else:
            from vaultsync.mcp_server.mcp_http import MCP_PATH, MCP_PORT, running_mcp
    except ModuleNotFoundError as missing:
        raise MissingExtraError("the MCP server", missing.name or "a package", "mcp") from None
    worker = AgentWorker(open_agent_memory)
    if not over_http:
        if is_terminal(sys.stdin):
            options.print_message(
                "waiting for an MCP client, which starts this command itself; `vaultsync install"
                " HOST` connects one; Ctrl-C stops"
            )
        with forced_exit() as pipe:
            serve(worker, lambda number: os.write(pipe, bytes([number])), listed)
        return

    from vaultsync.cli.bridge_commands import serve_until_stopped
    from vaultsync.service.daemon_runner import WakeEvent

    stopped = WakeEvent()
    port = MCP_PORT if port is None else port
    with (
        until_signal(stopped.set),
        running_mcp(worker, settings, port=port, toolsets=listed) as running,
    ):
        serve_until_stopped(options, running.address + MCP_PATH, lambda: running.is_alive, stopped)
