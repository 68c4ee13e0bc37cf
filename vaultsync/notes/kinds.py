"""Kinds of markdown files that are no notes."""

from __future__ import annotations

import re

from vaultsync.model.paths import VaultPath

TABLE_MARK = "vaultsync: index"
"""The property that tells these files from notes, in a folder where a person sees them."""


def is_table(data: bytes) -> bool:
    """Whether the bytes of a file are of one that is made here."""
    return data.startswith(f"---\n{TABLE_MARK}\n---\n".encode())


TABLE_NAME = re.compile(r"(?:vault-index|by-(?:type|priority|entity))(?:-[\w-]+)?\.md")


def is_index_page(index_folder: VaultPath, folder: VaultPath, name: str) -> bool:
    """Whether a file lies in the visible twin of `.index/` and is named like a page of it."""
    return bool(index_folder) and folder == index_folder and TABLE_NAME.fullmatch(name) is not None
