"""`bridge`: HTTP for Obsidian's plugin, on this machine alone."""

from __future__ import annotations

import click

from vaultsync.cli.exit_codes import DONE
from vaultsync.cli.options import Options, agent_option, common


@click.group(invoke_without_command=True)
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    help="Listen there; else at 27125. 0 is any that is free.",
)
@agent_option
@common
def bridge(options: Options, *, port: int | None, agent: str | None) -> int:
    """Serve Obsidian's plugin on 127.0.0.1, until a signal.

    Who asks must know the token; `vaultsync watch` serves as well, and mirrors.
    """
    if click.get_current_context().invoked_subcommand is not None:
        return DONE

    from vaultsync.cli import serving, show_bridge

    with serving.bridge(options, port=port, agent=agent) as running:
        show_bridge.listening(options, running.address, who="the plugin has")
        serving.until_signal(lambda: running.is_alive)
    return DONE


@bridge.command()
@click.option("--rotate", is_flag=True, help="Make a new one; the old one ends.")
@common
def token(options: Options, *, rotate: bool) -> int:
    """Print the token that the plugin's settings ask for."""
    from vaultsync.cli import serving, show_bridge

    show_bridge.token(options, serving.token(options, rotate=rotate))
    return DONE
