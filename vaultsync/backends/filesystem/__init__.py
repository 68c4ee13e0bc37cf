"""The vault and memory files on a disk."""

from __future__ import annotations
