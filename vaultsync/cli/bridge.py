"""`bridge`: HTTP for Obsidian's plugin, on this machine alone.

What listens on this machine and its token, as JSON or for a person.
"""

from __future__ import annotations

import sys

import click

from vaultsync.cli.exit_codes import EXIT_DONE
from vaultsync.cli.options import Options, agent_option, common
from vaultsync.cli.output import echo, print_json, print_message


def print_listening(options: Options, address: str, *, who: str) -> None:
    """Where it listens, for `who` asks; at once, for somebody may wait for it."""
    if options.json:
        print_json({"address": address})
    else:
        echo(address)
    sys.stdout.flush()
    print_message(options, f"`vaultsync bridge token` prints what {who} to know; ^C ends")


def print_token(options: Options, found: str) -> None:
    """The token, which is a secret."""
    if options.json:
        print_json({"token": found})
        return
    echo(found)
    print_message(
        options,
        "keep it out of the vault: whoever has it can read and write every fact",
    )


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
        return EXIT_DONE

    from vaultsync.cli.serving import wait_for_signal
    from vaultsync.cli.vault import load_vault_settings
    from vaultsync.http_bridge.server import running_bridge
    from vaultsync.service.bridge_service import standalone_bridge

    settings = load_vault_settings(options, agent=agent)
    with standalone_bridge(settings) as services, running_bridge(services, port=port) as running:
        print_listening(options, running.address, who="the plugin has")
        wait_for_signal(lambda: running.is_alive)
    return EXIT_DONE


@bridge.command()
@click.option("--rotate", is_flag=True, help="Make a new one; the old one ends.")
@common
def token(options: Options, *, rotate: bool) -> int:
    """Print the token that the plugin's settings ask for."""
    from vaultsync.cli.vault import load_vault_settings
    from vaultsync.service.bridge_service import vault_token

    print_token(options, vault_token(load_vault_settings(options), rotate=rotate))
    return EXIT_DONE
