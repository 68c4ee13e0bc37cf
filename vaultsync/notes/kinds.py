"""Kinds of markdown files that are no notes."""

from __future__ import annotations

MARK = "vaultsync: index"
"""The property that tells these files from notes, in a folder where a person sees them."""


def is_table(data: bytes) -> bool:
    """Whether the bytes of a file are of one that is made here."""
    return data.startswith(f"---\n{MARK}\n---\n".encode())
