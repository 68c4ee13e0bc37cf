"""Kinds of markdown files that are not notes."""

from __future__ import annotations

from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.paths import VaultPath

TABLE_MARK = "vaultsync: index"
"""The property that marks an index page in a visible folder."""


def is_table(data: bytes) -> bool:
    """Whether a file is a generated index page."""
    return data.startswith(f"---\n{TABLE_MARK}\n---\n".encode())


TABLE_NAME = lazy_pattern(r"(?:vault-index|by-(?:type|priority|entity))(?:-[\w-]+)?\.md")


def is_index_page(index_folder: VaultPath, folder: VaultPath, name: str) -> bool:
    """Whether a file is in the visible copy of `.index/` and named like an index page."""
    return bool(index_folder) and folder == index_folder and TABLE_NAME.fullmatch(name) is not None
