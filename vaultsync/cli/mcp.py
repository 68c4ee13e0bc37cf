"""`mcp`: the memory as tools of an agent."""

from __future__ import annotations

import click

from vaultsync.cli.exit_codes import EXIT_DONE
from vaultsync.cli.options import Options, agent_option, common


@click.command()
@click.option(
    "--scope",
    metavar="S",
    help="Where its facts go unless it names one; else its own scope.",
)
@click.option(
    "--user",
    metavar="U",
    help="Whom it serves: it recalls only what is about them, and what it keeps is.",
)
@click.option("--http", "over_http", is_flag=True, help="On 127.0.0.1, with a token.")
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    help="With --http: listen there; else at 27126. 0 is any that is free.",
)
@agent_option
@common
def mcp(
    options: Options,
    *,
    scope: str | None,
    user: str | None,
    over_http: bool,
    port: int | None,
    agent: str | None,
) -> int:
    """Serve the memory to an agent, by the Model Context Protocol.

    Speaks on stdin and stdout until they are closed: a client starts it. The agent is the
    same for as long as it runs; it sees its own scope and those that are shared.
    """
    if port is not None and not over_http:
        message = "--port is for --http"
        raise click.UsageError(message)

    from vaultsync.cli import mcp_serving

    served = mcp_serving.agent_settings(options, agent=agent, scope=scope, user=user)
    if not over_http:
        mcp_serving.serve_stdio(served, scope=scope)
        return EXIT_DONE

    from vaultsync.cli import bridge as show_bridge
    from vaultsync.cli.serving import wait_for_signal

    with mcp_serving.serve_http(served, scope=scope, port=port) as running:
        show_bridge.print_listening(options, running.address, who="clients have")
        wait_for_signal(lambda: running.is_alive)
    return EXIT_DONE
