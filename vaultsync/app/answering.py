"""Answers from a vault, without the engine that writes: a question loads little."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vaultsync import config
from vaultsync.app.recalling import Recalling

if TYPE_CHECKING:  # an answer needs none of what packs it
    from vaultsync.app.packing import Packing


def ask(
    path: str | None = None, agent: str | None = None, state_dir: str | None = None
) -> Recalling:
    """Open the vault at a folder, or the nearest one upwards, to ask for facts.

    Raises:
        NotAVaultError: there is none.
        ConfigError: its settings make no sense.
    """
    root = config.find_root(path)
    return Recalling(config.load(root, agent=agent, state_dir=state_dir))


def ask_for_packs(
    path: str | None = None, agent: str | None = None, state_dir: str | None = None
) -> Packing:
    """The same, to ask for context packs. Raises as `ask()`."""
    from vaultsync.app.packing import Packing

    root = config.find_root(path)
    return Packing(config.load(root, agent=agent, state_dir=state_dir))
