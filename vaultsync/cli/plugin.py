"""`plugin`: the plugin for Obsidian, put into a vault.

The plugin for Obsidian, as JSON or for a person.
"""

from __future__ import annotations

import click

from vaultsync.api.plugging import PluginInstallation
from vaultsync.cli.exit_codes import EXIT_DONE
from vaultsync.cli.options import Options, common
from vaultsync.cli.output import echo, print_json, print_message


def print_installed(options: Options, done: PluginInstallation) -> None:
    """Where it is, and what is left to do."""
    if options.json:
        print_json(done)
        return
    was = "is in" if done.changed else "was already in"
    echo(f"vaultsync {done.version} {was} {done.path}")
    if done.changed:
        print_message(
            options,
            "in Obsidian: Settings, Community plugins, turn on Vaultsync (reload first"
            " when it is not listed); then paste what `vaultsync bridge token` prints",
        )


@click.group()
def plugin() -> None:
    """Put the plugin for Obsidian into the vault."""


@plugin.command()
@common
def install(options: Options) -> int:
    """Copy the plugin into the vault, or bring it up to date.

    Its settings stay. Obsidian has to be told once to turn it on.
    """
    from vaultsync.api.plugging import install_plugin

    print_installed(options, install_plugin(options.vault))
    return EXIT_DONE
