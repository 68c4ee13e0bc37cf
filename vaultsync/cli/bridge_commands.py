"""`bridge`: the HTTP server for the Obsidian plugin, on this machine only."""

from __future__ import annotations

import sys

import click

from vaultsync.cli.exit_codes import EXIT_DONE
from vaultsync.cli.options import Options, agent_option, common
from vaultsync.cli.output import echo, print_json, print_message


def print_listening(options: Options, address: str) -> None:
    """Print the address, and flush it: a program may be waiting for it."""
    if options.json:
        print_json({"address": address})
    else:
        echo(address)
    sys.stdout.flush()
    print_message(options, "`vaultsync bridge token` prints the token; Ctrl-C stops")


@click.group(invoke_without_command=True)
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    help="Port to listen on; default: 27125. 0 picks a free port.",
)
@agent_option
@common
def bridge(options: Options, *, port: int | None, agent: str | None) -> int:
    """Serve the Obsidian plugin on 127.0.0.1 until stopped.

    Clients must send the token. `vaultsync watch` also serves the plugin, and syncs.
    """
    if click.get_current_context().invoked_subcommand is not None:
        return EXIT_DONE

    from vaultsync.cli.open_vault import load_vault_settings
    from vaultsync.cli.serving import wait_for_signal
    from vaultsync.errors import needs_extra
    from vaultsync.service.bridge_service import standalone_bridge

    with needs_extra("the bridge"):
        from vaultsync.http_bridge.bridge_server import running_bridge
    settings = load_vault_settings(options, agent=agent)
    with standalone_bridge(settings) as services, running_bridge(services, port=port) as running:
        print_listening(options, running.address)
        wait_for_signal(lambda: running.is_alive)
    return EXIT_DONE


@bridge.command()
@click.option("--rotate", is_flag=True, help="Replace the token; the old one stops working.")
@common
def token(options: Options, *, rotate: bool) -> int:
    """Print the token for the plugin's settings."""
    from vaultsync.cli.open_vault import load_vault_settings
    from vaultsync.service.bridge_service import vault_token

    secret = vault_token(load_vault_settings(options), rotate=rotate)
    if options.json:
        print_json({"token": secret})
        return EXIT_DONE
    echo(secret)
    print_message(options, "Keep it out of the vault: it gives access to every fact.")
    return EXIT_DONE
