"""`bridge`: the HTTP server for the Obsidian plugin, on this machine only."""

from __future__ import annotations

from collections.abc import Callable

import click
from click.core import ParameterSource

from vaultsync.cli.open_vault import load_vault_settings
from vaultsync.cli.options import agent_option, common, flag, number_option
from vaultsync.cli.output import Options, echo
from vaultsync.cli.stop_signals import until_signal
from vaultsync.extras import needs_extra
from vaultsync.service.bridge_service import standalone_bridge, vault_token
from vaultsync.service.daemon_runner import WakeEvent

_CHECK_SECONDS = 1.0
"""Seconds between checks that the server is still running."""


def serve_until_stopped(
    options: Options, address: str, is_alive: Callable[[], bool], stopped: WakeEvent
) -> None:
    """Print the server's address, and wait until `stopped` is set or the server has ended."""
    if not options.printed_as_json({"address": address}):
        echo(address)
    options.print_message("`vaultsync bridge token` prints the token; Ctrl-C stops")
    while is_alive() and not stopped.wait(_CHECK_SECONDS):
        pass


@click.group(invoke_without_command=True)
@number_option("--port", "Port to listen on; default: 27125. 0 picks a free port.", maximum=65535)
@agent_option
@common
def bridge(options: Options, *, port: int | None) -> None:
    """Serve the Obsidian plugin on 127.0.0.1 until stopped.

    Clients must send the token. `vaultsync watch` also serves the plugin, and syncs.
    """
    context = click.get_current_context()
    if context.invoked_subcommand is not None:
        _refuse_options(context)
        return

    with needs_extra("the bridge"):
        from vaultsync.http_bridge.bridge_server import running_bridge

    settings = load_vault_settings(options)
    stopped = WakeEvent()
    with (
        until_signal(stopped.set),
        standalone_bridge(settings) as services,
        running_bridge(services, port=port) as running,
    ):

        def is_alive() -> bool:
            services.announce_after_others(running.port)
            return running.is_alive

        serve_until_stopped(options, running.address, is_alive, stopped)


def _refuse_options(context: click.Context) -> None:
    """Refuse options before the name of a subcommand, which would have no effect on it."""
    for each in context.command.params:
        if context.get_parameter_source(each.name or "") is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{each.opts[-1]} follows the command: pass it after token")


@bridge.command()
@flag("--rotate", "Replace the token; the old one stops working.")
@common
def token(options: Options, *, rotate: bool) -> None:
    """Print the token for the plugin's settings."""
    secret = vault_token(load_vault_settings(options), rotate=rotate)
    if options.printed_as_json({"token": secret}):
        return
    echo(secret)
    options.print_message("Keep it out of the vault: it gives access to every fact.")
