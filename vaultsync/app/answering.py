"""Answers from a vault, without the engine that writes: a question loads little."""

from __future__ import annotations

from vaultsync import config
from vaultsync.app.recalling import Recalling


class Answers(Recalling):
    """What can be asked of a vault."""


def ask(
    path: str | None = None, agent: str | None = None, state_dir: str | None = None
) -> Answers:
    """Open the vault at a folder, or the nearest one upwards, to ask.

    Raises:
        NotAVaultError: there is none.
        ConfigError: its settings make no sense.
    """
    root = config.find_root(path)
    return Answers(config.load(root, agent=agent, state_dir=state_dir))
