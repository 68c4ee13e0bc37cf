"""`plugin`: install the Obsidian plugin into a vault."""

from __future__ import annotations

import click

from vaultsync.api.opening import install_plugin
from vaultsync.cli.options import common
from vaultsync.cli.output import Options, echo


@click.group()
def plugin() -> None:
    """Install the Obsidian plugin into the vault."""


@plugin.command()
@common
def install(options: Options) -> None:
    """Install or update the Obsidian plugin.

    Existing settings are kept. Enable the plugin in Obsidian once.
    """
    installed = install_plugin(options.vault)
    if options.printed_as_json(installed):
        return
    outcome = "installed in" if installed.changed else "was already installed in"
    echo(f"vaultsync {installed.version} {outcome} {installed.path}")
    if installed.changed:
        options.print_message(
            "In Obsidian: Settings, Community plugins, turn on Vaultsync (reload first if"
            " it is not listed); then paste the output of `vaultsync bridge token`"
        )
