"""The plugin for Obsidian, put into a vault when a person asks for it."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from vaultsync.api import configuration as config
from vaultsync.backends.obsidian.settings_folder import PluginFiles, PluginFolder


class PluginInstallation(Struct, frozen=True):
    """The plugin is in the vault."""

    path: str
    """Its folder, vault-relative."""
    version: str
    changed: tuple[str, ...]
    """The files that were not there, or were others."""


def install_plugin(path: str | None, *, built: Path | None = None) -> PluginInstallation:
    """Put the plugin into the vault at a folder, or the nearest one upwards.

    `built` is where its files are; else they are those of this installation.

    Raises:
        NotAVaultError: there is none.
        PluginNotBuiltError: this installation has no plugin.
        ConfigError: the vault was never opened in Obsidian.
    """
    root = config.find_root(path)
    plugin = PluginFiles() if built is None else PluginFiles(built)
    folder = PluginFolder(root)
    changed = folder.write(plugin.read())
    return PluginInstallation(folder.path, plugin.version(), changed)
