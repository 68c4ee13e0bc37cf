"""MEMORY.md and similar files, section by section."""

from __future__ import annotations
