"""The command that serves the memory to an agent."""

from __future__ import annotations

import click

from vaultsync.cli.failure import DONE
from vaultsync.cli.options import Options, agent_option, common


@click.command()
@click.option(
    "--scope",
    metavar="S",
    help="Where its facts go unless it says so; else its own scope.",
)
@agent_option
@common
def mcp(options: Options, *, scope: str | None, agent: str | None) -> int:
    """Serve the memory to an agent, over the Model Context Protocol.

    Speaks on stdin and stdout until they are closed; a client starts it. The agent is
    fixed for as long as it runs, and sees its own scope and those that are shared.
    """
    from vaultsync.cli import mcp_serving

    mcp_serving.over_stdio(options, agent=agent, scope=scope)
    return DONE
