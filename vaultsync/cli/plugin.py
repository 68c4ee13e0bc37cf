"""`plugin`: the plugin for Obsidian, put into a vault."""

from __future__ import annotations

import click

from vaultsync.cli.exit_codes import DONE
from vaultsync.cli.options import Options, common


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
    from vaultsync.cli import show_plugin

    show_plugin.installed(options, install_plugin(options.vault))
    return DONE
