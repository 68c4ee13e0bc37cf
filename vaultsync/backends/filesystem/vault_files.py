"""All files of a vault, notes or not: what links can lead to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from vaultsync.errors.notes import UnsafePathError
from vaultsync.model.paths import VaultPath, vault_path


def vault_files(root: Path) -> Iterator[VaultPath]:
    """The paths of all files below the root that Obsidian shows, in no order.

    Hidden files and folders are left out, and so is what no path of a vault can name.
    Folders that cannot be listed are passed over.
    """
    for folder, below, names in os.walk(root):
        below[:] = [name for name in below if not name.startswith(".")]
        prefix = Path(folder).relative_to(root).as_posix()
        for name in names:
            try:
                yield vault_path(name if prefix == "." else f"{prefix}/{name}")
            except UnsafePathError:
                continue
