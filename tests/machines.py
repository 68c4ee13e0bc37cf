"""The user's own settings for a vault."""

from __future__ import annotations

import tomllib
from pathlib import Path

from vaultsync.api import configuration as config


def configure_machine(vault: Path, text: str) -> None:
    """Write the user's own settings for the vault in a folder; they replace earlier ones."""
    marker = (vault / ".meta" / "config.toml").read_text(encoding="utf-8")
    file = config.machine_file(tomllib.loads(marker)["vault_id"])
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.touch(mode=0o600)
    file.write_text(text, encoding="utf-8")
