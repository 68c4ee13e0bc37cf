"""The vault that a command works on."""

from __future__ import annotations

from vaultsync.api import configuration, opening
from vaultsync.api.memory import Memory
from vaultsync.cli.output import Options
from vaultsync.settings import Settings


def open_memory(options: Options) -> Memory:
    """Open the memory of the vault that the options name, as a context manager."""
    return opening.open(
        options.vault, agent=options.agent, state_dir=options.state_dir, one_shot=True
    )


def load_vault_settings(options: Options) -> Settings:
    """Load the settings of the vault that the options name."""
    root = configuration.find_root(options.vault)
    return configuration.load_settings(root, agent=options.agent, state_dir=options.state_dir)
