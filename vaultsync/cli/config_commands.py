"""`config`: show and change the settings of a vault."""

from __future__ import annotations

import json

import click

from vaultsync.api.settings_access import SettingValue, change_setting, read_settings
from vaultsync.cli.default_group import DefaultGroup
from vaultsync.cli.options import common, completes, flag
from vaultsync.cli.output import Options, clean_one_line, dim, echo

machine_option = flag("--machine", "Change your own settings for this vault, not the vault's.")


@click.group("config", cls=DefaultGroup, default="get")
def config_group() -> None:
    """Show and change the settings of a vault.

    Harmless settings are stored in the vault, all others in your own file for it.
    Without a command, it shows all settings.
    """


@config_group.command()
@click.argument("name", required=False, metavar="[NAME]", shell_complete=completes("setting"))
@common
def get(options: Options, *, name: str | None) -> None:
    """Show settings, their values and where they are set.

    NAME is a setting or a table; default: all settings.
    """
    listing = read_settings(options.vault, name)
    if options.printed_as_json(listing):
        return
    for each in listing.settings:
        _print_setting(each)


@config_group.command("set")
@click.argument("name", shell_complete=completes("setting"))
@click.argument("value")
@machine_option
@common
def set_(options: Options, *, name: str, value: str, machine: bool) -> None:
    """Set a setting.

    VALUE uses TOML syntax, but strings need no quotes. Running processes use the new value
    after a restart.
    """
    _print_result(options, change_setting(options.vault, name, value, machine=machine))
    if name == "store":
        options.print_message(
            "No fact is copied. To copy them, set the previous store again, then run"
            " `vaultsync migrate --to STORE`, which also switches to that store."
        )


@config_group.command()
@click.argument("name", shell_complete=completes("setting"))
@machine_option
@common
def unset(options: Options, *, name: str, machine: bool) -> None:
    """Remove a setting, so that its default applies."""
    _print_result(options, change_setting(options.vault, name, None, machine=machine))


def _print_result(options: Options, setting: SettingValue) -> None:
    if not options.printed_as_json(setting):
        _print_setting(setting)


def _print_setting(setting: SettingValue) -> None:
    value = json.dumps(setting.value, ensure_ascii=False)
    echo(f"{clean_one_line(setting.name)} = {clean_one_line(value)} {dim(f'({setting.source})')}")
